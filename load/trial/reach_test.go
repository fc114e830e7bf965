package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/scenario"
)

// loopback4 and loopback6 are the addresses of a name.
var (
	loopback4 = netip.MustParseAddr("127.0.0.1")
	loopback6 = netip.IPv6Loopback()
)

// serveOn serves at a free port of an address. It skips the test if the host has no such address.
func serveOn(t *testing.T, address netip.Addr) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		t.Skipf("this host has no %v: %v", address, err)
	}
	serveAt(t, listener, fine)
	return netip.MustParseAddrPort(listener.Addr().String())
}

// bind returns a socket that takes an address until the test ends, so that nobody listens there.
func bind(t *testing.T, at netip.AddrPort) (fd int, err error) {
	t.Helper()
	family := unix.AF_INET
	var address unix.Sockaddr
	if at.Addr().Is4() {
		address = &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
	} else {
		family = unix.AF_INET6
		address = &unix.SockaddrInet6{Addr: at.Addr().As16(), Port: int(at.Port())}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testset.Must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd, unix.Bind(fd, address)
}

// serveOneOf serves at the first of two addresses, and takes the same port of the second, at which another
// test may listen otherwise.
func serveOneOf(t *testing.T, serves, refuses netip.Addr) netip.AddrPort {
	t.Helper()
	for {
		at := serveOn(t, serves)
		_, err := bind(t, netip.AddrPortFrom(refuses, at.Port()))
		if !errors.Is(err, unix.EADDRINUSE) {
			testset.Must(t, err)
			return at
		}
	}
}

// TestEveryAddressOfANameIsTried: the server listens at one of two addresses of the name. Both engines find
// it, and so does Await. The load ends with its last flow; only a host that stops for a minute cuts it.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	both := []netip.Addr{loopback4, loopback6}
	for i := range both {
		at := serveOneOf(t, both[1-i], both[i])
		for _, protocol := range []string{"", HTTP2} {
			s := specFor(t, fmt.Sprintf("http://dual.test:%d", at.Port()))
			s.Load = scenario.Load{Spike: &scenario.Spike{Base: "0", Peak: "100", For: 400 * ms},
				Duration: 60_000 * ms}
			s.Protocol = protocol
			s.Guard.Lookup = func(context.Context, string) ([]netip.Addr, error) { return both, nil }
			if err := prepare(t, s).Await(t.Context(), "/", time.Minute); err != nil {
				t.Errorf("%v: await: %v", at, err)
			}
			o, err := prepare(t, s).Play(t.Context(), Hooks{})
			if err != nil || o.Summary.OK != 40 {
				t.Errorf("%v, protocol %q: %d of 40 right, %v", at, protocol, o.Summary.OK, err)
			}
		}
	}
}

// TestAnAddressThatIsSilentIsNotWaitedFor: the next address is tried after attemptDelay. Who waits for the
// silent one finds none before the search ends.
func TestAnAddressThatIsSilentIsNotWaitedFor(t *testing.T) {
	fd, err := bind(t, netip.AddrPortFrom(loopback4, 0))
	testset.Must(t, err)
	testset.Must(t, unix.Listen(fd, 0))
	name, err := unix.Getsockname(fd)
	testset.Must(t, err)
	silent := netip.AddrPortFrom(loopback4, uint16(name.(*unix.SockaddrInet4).Port))
	for range 4 { // until the queue is full
		connection, err := net.DialTimeout("tcp", silent.String(), 100*time.Millisecond)
		if err == nil {
			defer func() { _ = connection.Close() }()
		}
	}
	at := serveOn(t, loopback4)
	begun := time.Now()
	found, err := reachable(t.Context(), []netip.AddrPort{silent, at})
	if took := time.Since(begun); err != nil || found != at || took < attemptDelay {
		t.Errorf("%v after %v, %v: want %v", found, took, err, at)
	}
}

// TestTheProofComesFromAnAddressThatAnswers: the same address gets the load.
func TestTheProofComesFromAnAddressThatAnswers(t *testing.T) {
	s := specFor(t, "http://shop.test/")
	first := netip.MustParseAddr("192.0.2.1")
	second := netip.MustParseAddr("192.0.2.2")
	var asked netip.AddrPort
	s.Guard = consent.Guard{
		Lookup: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{first, second}, nil },
		Reach: func(_ context.Context, all []netip.AddrPort) (netip.AddrPort, error) {
			return all[len(all)-1], nil
		},
		Fetch: func(_ context.Context, p consent.Proof) ([]byte, error) {
			asked = p.Address
			return []byte(token), nil
		},
		Allowed: allowed(t, 200),
	}
	prepared := prepare(t, s)
	if to, err := prepared.address(t.Context()); err != nil || to != asked || to.Addr() != second {
		t.Errorf("the load goes to %v and the proof came from %v, %v: want %v", to, asked, err, second)
	}
}
