package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxUnixPath is the longest path of a socket, without the ending zero.
const maxUnixPath = 107

// Target is the destination of operations. The address is fixed: no name is looked up
// while load runs, so that what was permitted is what is loaded.
type Target struct {
	address netip.AddrPort
	more    []netip.AddrPort // further addresses of the same server
	path    string           // of a Unix socket; then address is not used
	host    string           // header Host
}

// NewTarget returns the URL's server at an address.
func NewTarget(text string, address netip.AddrPort) (Target, error) {
	u, err := parseURL(text)
	if err != nil {
		return Target{}, err
	}
	return Target{address: address, host: u.Host}, nil
}

// Spread returns the target at further addresses too, as a server has that runs several
// times: connections go to all in turn.
func (t Target) Spread(more ...netip.AddrPort) Target {
	t.more = more
	return t
}

// NewUnixTarget returns the server behind a Unix socket. The URL's host is only sent
// in the header Host.
func NewUnixTarget(text, path string) (Target, error) {
	u, err := parseURL(text)
	if err != nil {
		return Target{}, err
	}
	if path == "" || len(path) > maxUnixPath {
		return Target{}, fmt.Errorf("unix socket path %q has %d bytes: use 1 to %d", path, len(path), maxUnixPath)
	}
	return Target{path: path, host: u.Host}, nil
}

// parseURL accepts what plain HTTP/1.1 can reach.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	var parsing *url.Error
	if errors.As(err, &parsing) {
		err = parsing.Err // the text is in our own message
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("URL %q: %w: write for example http://127.0.0.1:8080/", text, err)
	case u.Scheme != "http":
		return nil, fmt.Errorf("URL %q: scheme %q is not supported: use http://", text, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("URL %q names no host: write for example http://127.0.0.1:8080/", text)
	case u.User != nil:
		return nil, fmt.Errorf("URL %q holds a password: send it as a header: -H 'Authorization: ...'",
			u.Redacted())
	}
	return u, nil
}

// String returns the address that is connected to.
func (t Target) String() string {
	if t.path != "" {
		return t.path
	}
	return net.JoinHostPort(t.address.Addr().String(), strconv.Itoa(int(t.address.Port())))
}

// sockaddr returns the address for the nth connect(2), with its domain.
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
