package trial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/consent"
)

// serveOn serves at an address. It skips the test if the host has no such address.
func serveOn(t *testing.T, address string) netip.AddrPort {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this host has no %s: %v", address, err)
	}
	serveAt(t, listener, fine)
	return netip.MustParseAddrPort(listener.Addr().String())
}

// TestEveryAddressOfANameIsTried: the server listens at one of two addresses of the name. Both engines find
// it, and so does Await.
func TestEveryAddressOfANameIsTried(t *testing.T) {
	for _, listens := range []string{"[::1]:0", "127.0.0.1:0"} {
		at := serveOn(t, listens)
		for _, protocol := range []string{"", HTTP2} {
			s := specFor(t, fmt.Sprintf("http://dual.test:%d", at.Port()))
			s.Protocol = protocol
			s.Guard.Lookup = func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}, nil
			}
			if err := prepare(t, s).Await(t.Context(), "/", 5*time.Second); err != nil {
				t.Errorf("%v: await: %v", at, err)
			}
			o, err := prepare(t, s).Play(t.Context(), Hooks{})
			if err != nil || o.Summary.OK != 40 {
				t.Errorf("%v, protocol %q: %d of 40 right, %v", at, protocol, o.Summary.OK, err)
			}
		}
	}
}

// TestAnAddressThatIsSilentIsNotWaitedFor: the next address is tried after attemptDelay.
func TestAnAddressThatIsSilentIsNotWaitedFor(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	testset.Must(t, err)
	defer func() { _ = unix.Close(fd) }()
	testset.Must(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	testset.Must(t, unix.Listen(fd, 0))
	name, err := unix.Getsockname(fd)
	testset.Must(t, err)
	silent := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(name.(*unix.SockaddrInet4).Port))
	for range 4 { // until the queue is full
		connection, err := net.DialTimeout("tcp", silent.String(), 100*time.Millisecond)
		if err == nil {
			defer func() { _ = connection.Close() }()
		}
	}
	at := serveOn(t, "127.0.0.1:0")
	begun := time.Now()
	found, err := reachable(t.Context(), []netip.AddrPort{silent, at})
	if took := time.Since(begun); err != nil || found != at || took < attemptDelay || took > reachWithin/2 {
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
