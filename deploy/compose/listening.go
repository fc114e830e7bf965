package compose

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/process"
)

// nameServer is the prefix of addresses of Docker's own name server, 127.0.0.11, which listens in the
// network of each container, at another port in each of its lives.
const nameServer = "0B00007F:"

// listening returns the TCP ports that accept connections in the network of a process, in hexadecimal as the
// kernel writes them; none if this host has no such process.
func listening(pid int) map[string]bool {
	ports := map[string]bool{}
	for _, columns := range append(process.Listeners(pid, "tcp"), process.Listeners(pid, "tcp6")...) {
		if address := columns[1]; !strings.HasPrefix(address, nameServer) { // the local one; see proc_net(5)
			_, port, _ := strings.Cut(address, ":")
			ports[port] = true
		}
	}
	return ports
}

// withoutOthers removes the ports of other programs from those that were open in the container's network
// before its end. Only the network of this host has other programs: their ports are still open.
func (c *container) withoutOthers(ports map[string]bool) map[string]bool {
	if c.network == "host" {
		for port := range listening(os.Getpid()) {
			delete(ports, port)
		}
	}
	return ports
}

const (
	// listenPatience bounds how long a container takes until it listens again.
	listenPatience = 60 * time.Second
	// lookAgain is the pause between two looks at its ports.
	lookAgain = 5 * time.Millisecond
)

// awaitListening waits until the container listens at all ports at which its former life did. It asks the
// kernel instead of connecting, since the service would have to serve a connection.
func (c *container) awaitListening(ctx context.Context) error {
	return c.PollListening(ctx, listenPatience, lookAgain, func(context.Context) bool {
		now := listening(c.HostPID())
		for port := range c.listened {
			if !now[port] {
				return false
			}
		}
		return true
	})
}
