package engine

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// maxUnixPath is the longest path of a socket, without the ending zero.
const maxUnixPath = 107

// Target is the destination of operations. Its address is fixed: no name is resolved during a load, so
// the load reaches only what was permitted.
type Target struct {
	address netip.AddrPort
	more    []netip.AddrPort // further addresses of the same server
	path    string           // of a Unix socket; then address is not used
	host    string           // header Host
}

// NewTarget returns the server at an address. The host is sent in the header Host.
func NewTarget(host string, address netip.AddrPort) Target {
	return Target{address: address, host: host}
}

// Spread returns the target with further addresses, those of other replicas of the server. Connections
// use all of them in turn.
func (t Target) Spread(more ...netip.AddrPort) Target {
	t.more = more
	return t
}

// NewUnixTarget returns the server behind a Unix socket. The host is sent only in the header Host.
func NewUnixTarget(host, path string) (Target, error) {
	if path == "" || len(path) > maxUnixPath {
		return Target{}, fmt.Errorf("unix socket path %q has %d bytes: use 1 to %d", path, len(path), maxUnixPath)
	}
	return Target{path: path, host: host}, nil
}

// String returns the address to connect to.
func (t Target) String() string {
	if t.path != "" {
		return t.path
	}
	return t.address.String()
}

// sockaddr returns the address for the nth connect(2), with its address family.
func (t Target) sockaddr(nth int64) (int, unix.Sockaddr) {
	if t.path != "" {
		return unix.AF_UNIX, &unix.SockaddrUnix{Name: t.path}
	}
	chosen := t.address
	if i := nth % int64(1+len(t.more)); i > 0 {
		chosen = t.more[i-1]
	}
	a := chosen.Addr().Unmap()
	if a.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(chosen.Port()), Addr: a.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(chosen.Port()), Addr: a.As16()}
}
