package bigtest

import (
	"fmt"
	"math/rand/v2"
	"net"

	"github.com/cleave-lab/cleave/lab"
)

// Ports are below the range from which Linux takes those of outgoing
// connections, and all have five digits, so that they sort like numbers.
const lowestPort, highestPort = 10000, 32767

// assignAddresses gives every unit that listens a free loopback port; ports rise
// in the order of the layout.
func assignAddresses(layout lab.Layout) (map[string]string, error) {
	addresses := map[string]string{}
	port := lowestPort + rand.IntN((highestPort-lowestPort)/2)
	for _, spec := range layout.Units {
		if !spec.Listens {
			continue
		}
		for port++; !isFree(port); port++ {
			if port == highestPort {
				return nil, fmt.Errorf("no free port up to %d", highestPort)
			}
		}
		addresses[spec.Name] = address(port)
	}
	return addresses, nil
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp4", address(port))
	return err == nil && listener.Close() == nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
