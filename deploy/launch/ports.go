package launch

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are below the range from which Linux takes the ports of outgoing
// connections, or a peer's connection could sit on a server's port.
const lowestPort, highestPort = 10000, 32767

// Ports are loopback ports, in rising order, that nobody listens on and nobody else
// has reserved. Between the choice of a port and the moment when its process
// listens there nobody else must choose it: who has a number's UDP socket has its
// TCP port. The kernel gives it back when its owner ends, however that is.
type Ports struct {
	Numbers []int
	held    []net.PacketConn
}

// ReservePorts finds n ports. They are reserved until Close.
func ReservePorts(n int) (*Ports, error) {
	const all = highestPort - lowestPort + 1
	port := lowestPort + rand.IntN(all)
	found := &Ports{}
	for tried := 0; len(found.Numbers) < n; tried++ {
		if tried >= 2*all {
			found.Close()
			return nil, fmt.Errorf("of %d ports that are needed %d are free between %d and %d: end other programs "+
				"that listen there",
				n, len(found.Numbers), lowestPort, highestPort)
		}
		if port++; port > highestPort { // begin again, so that they rise
			found.Close()
			port, found = lowestPort, &Ports{}
		}
		found.take(port)
	}
	return found, nil
}

// take adds a port, if it can be had.
func (p *Ports) take(port int) {
	hold, err := net.ListenPacket("udp4", Loopback(port))
	if err != nil {
		return
	}
	if !isFree(port) {
		_ = hold.Close() // it held nothing
		return
	}
	p.Numbers, p.held = append(p.Numbers, port), append(p.held, hold)
}

// Release gives up the n-th UDP socket, for a process that wants it itself.
func (p *Ports) Release(n int) {
	_ = p.held[n].Close() // nothing was sent
}

// Close lets others have the ports. There may be none.
func (p *Ports) Close() {
	if p == nil {
		return
	}
	for _, hold := range p.held {
		_ = hold.Close() // nothing was sent
	}
	p.held = nil
}

// isFree reports whether nobody listens on a port.
func isFree(port int) bool {
	listener, err := net.Listen("tcp4", Loopback(port))
	return err == nil && listener.Close() == nil
}

// LoopbackHost is the address at which this host reaches itself.
const LoopbackHost = "127.0.0.1"

// Loopback returns the address of a port.
func Loopback(port int) string { return net.JoinHostPort(LoopbackHost, strconv.Itoa(port)) }
