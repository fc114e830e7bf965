package engine

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// MaxUnixPath is the longest path of a socket, without the ending zero.
const MaxUnixPath = 107

// Target is the destination of operations. Its addresses are fixed: no name is resolved during a load, so
// the load reaches only what was permitted.
type Target struct {
	addresses []netip.AddrPort // of all replicas of the server
	path      string           // of a Unix socket; then addresses are not used
}

// NewTarget returns the server at an address. more are the addresses of its other replicas: connections use
// all of them in turn.
func NewTarget(address netip.AddrPort, more ...netip.AddrPort) Target {
	return Target{addresses: append([]netip.AddrPort{address}, more...)}
}

// NewUnixTarget returns the server behind a Unix socket, whose path has at most MaxUnixPath bytes.
func NewUnixTarget(path string) Target { return Target{path: path} }

// String returns the address to connect to: that of the first replica if there are several.
func (t Target) String() string {
	if t.path != "" {
		return t.path
	}
	return t.addresses[0].String()
}

// sockaddr returns the address for the nth connect(2), with its address family.
func (t Target) sockaddr(nth int64) (int, unix.Sockaddr) {
	if t.path != "" {
		return unix.AF_UNIX, &unix.SockaddrUnix{Name: t.path}
	}
	chosen := t.addresses[nth%int64(len(t.addresses))]
	a := chosen.Addr().Unmap()
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(chosen.Port()), Addr: a.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(chosen.Port()), Addr: a.As16()}
}
