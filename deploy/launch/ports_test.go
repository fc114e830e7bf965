package launch

import (
	"net"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestPortsAreFreeAndBelowTheEphemeralRange(t *testing.T) {
	found, err := ReservePorts(50)
	testset.Must(t, err)
	defer found.Close()
	ports := found.Numbers
	if len(ports) != 50 || !slices.IsSorted(ports) || ports[0] < lowestPort || ports[49] > highestPort {
		t.Errorf("ports %v, want 50 rising from %d to %d", ports, lowestPort, highestPort)
	}
	listener, err := net.Listen("tcp4", Loopback(ports[0]))
	testset.Must(t, err)
	defer func() { _ = listener.Close() }()
	if isFree(ports[0]) || !isFree(ports[1]) {
		t.Errorf("port %d, which is taken, is free: %t; the next: %t", ports[0], isFree(ports[0]),
			isFree(ports[1]))
	}
}

// TestAPortIsReservedOnce checks that a port cannot be reserved while it is reserved or a program
// listens on it, and can be afterwards.
func TestAPortIsReservedOnce(t *testing.T) {
	first, err := ReservePorts(1)
	testset.Must(t, err)
	port := first.Numbers[0]
	other := &Ports{}
	defer other.Close()
	if other.take(port); len(other.Numbers) != 0 {
		t.Errorf("port %d is reserved twice", port)
	}
	first.Close()
	listener, err := net.Listen("tcp4", Loopback(port))
	testset.Must(t, err)
	if other.take(port); len(other.Numbers) != 0 {
		t.Errorf("port %d is reserved while a program listens there", port)
	}
	testset.Must(t, listener.Close())
	if other.take(port); len(other.Numbers) != 1 {
		t.Errorf("port %d is free and cannot be reserved", port)
	}
}

func TestAReleasedPortIsFreeForItsProcess(t *testing.T) {
	ports, err := ReservePorts(2)
	testset.Must(t, err)
	defer ports.Close()
	ports.Release(1)
	for n, want := range []bool{false, true} {
		hold, err := net.ListenPacket("udp4", Loopback(ports.Numbers[n]))
		if (err == nil) != want {
			t.Errorf("the UDP socket of port %d: %v, want it to be free: %t", ports.Numbers[n], err, want)
		}
		if err == nil {
			_ = hold.Close()
		}
	}
}
