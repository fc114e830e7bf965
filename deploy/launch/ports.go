package launch

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// lowestPort and highestPort bound the ports that we reserve. They are below the range from which
// Linux takes the ports of outgoing connections, one of which could otherwise occupy a server's port.
const lowestPort, highestPort = 10000, 32767

// Ports holds reserved loopback ports, in rising order, on which no program listens.
// No other conductor may choose a port before the unit listens there, so each
// reservation is a UDP socket of the same number: whoever binds that socket owns the
// TCP port. The kernel frees it when its owner ends, however that happens.
type Ports struct {
	Numbers []int
	held    []net.PacketConn
}

// ReservePorts reserves n ports until Close.
func ReservePorts(n int) (*Ports, error) {
	const all = highestPort - lowestPort + 1
	port := lowestPort + rand.IntN(all)
	found := &Ports{}
	for tried := 0; len(found.Numbers) < n; tried++ {
		if tried >= 2*all {
			found.Close()
			return nil, fmt.Errorf("of %d ports that are needed %d are free between %d and %d: end other programs "+
				"that listen there", n, len(found.Numbers), lowestPort, highestPort)
		}
		if port++; port > highestPort { // begin again, so that they rise
			found.Close()
			port = lowestPort
			found = &Ports{}
		}
		found.take(port)
	}
	return found, nil
}

// take adds a port, unless it is in use or reserved.
func (p *Ports) take(port int) {
	hold, err := net.ListenPacket("udp4", Loopback(port))
	if err != nil {
		return
	}
	if !isFree(port) {
		_ = hold.Close() // nothing was sent
		return
	}
	p.Numbers = append(p.Numbers, port)
	p.held = append(p.held, hold)
}

// Release closes the UDP socket of the n-th port, for a process that needs it itself.
func (p *Ports) Release(n int) {
	_ = p.held[n].Close() // nothing was sent
}

// Close ends all reservations. p may be nil.
func (p *Ports) Close() {
	if p == nil {
		return
	}
	for _, hold := range p.held {
		_ = hold.Close() // nothing was sent
	}
	p.held = nil
}

// isFree reports whether no program listens on a TCP port.
func isFree(port int) bool {
	listener, err := net.Listen("tcp4", Loopback(port))
	return err == nil && listener.Close() == nil
}

// LoopbackHost is the address at which this host reaches itself.
const LoopbackHost = "127.0.0.1"

// Loopback returns the loopback address of a port, such as "127.0.0.1:10000".
func Loopback(port int) string { return net.JoinHostPort(LoopbackHost, strconv.Itoa(port)) }
