//go:build linux

package eventloop

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// backlog is the number of connections that may wait to be accepted; the kernel limits it
// to net.core.somaxconn.
const backlog = 1 << 16

// Listener accepts connections for a loop.
type Listener struct {
	loop       *Loop
	descriptor int
	path       string // of a Unix socket; "": TCP
	accept     func(*Conn) Handler
}

// Listen starts to accept connections at an address. The network is "tcp", with an
// address such as "127.0.0.1:8080" (no host names), or "unix", with a path, which is
// removed when the loop is closed. accept returns the handler of a new connection, or
// nil to close it.
func (l *Loop) Listen(network, address string, accept func(*Conn) Handler) (*Listener, error) {
	endpoint, domain, err := resolve(network, address)
	if err != nil {
		return nil, err
	}
	descriptor, err := listen(domain, endpoint)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w: end the program that holds it, or choose another address",
			address, err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	listener := &Listener{loop: l, descriptor: descriptor, accept: accept}
	if network == "unix" {
		listener.path = address
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(descriptor)}
	if err := unix.EpollCtl(l.poller, unix.EPOLL_CTL_ADD, descriptor, &event); err != nil {
		listener.close()
		return nil, fmt.Errorf("watch listener on %s: %w", address, err)
	}
	l.listeners = append(l.listeners, listener)
	return listener, nil
}

// Address returns the address of the listener. If the caller asked for port 0 of TCP, it
// has the port that the kernel chose.
func (s *Listener) Address() (string, error) {
	if s.path != "" {
		return s.path, nil
	}
	name, err := unix.Getsockname(s.descriptor)
	if err != nil {
		return "", fmt.Errorf("read address of listener: %w", err)
	}
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port)).String(), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), uint16(name.Port)).String(), nil
	}
	return "", fmt.Errorf("read address of listener: unexpected kind %T", name)
}

// Dial connects to an address, as for Listen. It waits until the connection is
// established. On the same host it need not wait, unless the listener's backlog is full.
func (l *Loop) Dial(network, address string, handler Handler) (*Conn, error) {
	endpoint, domain, err := resolve(network, address)
	if err != nil {
		return nil, err
	}
	descriptor, err := connect(domain, endpoint)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c, err := l.adopt(descriptor, domain != unix.AF_UNIX)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	c.handler = handler
	return c, nil
}

// acceptAll accepts all waiting connections. The loop fails if there are no descriptors
// left, because epoll would report the same connection forever.
func (s *Listener) acceptAll() {
	for {
		descriptor, errno := accept(s.descriptor)
		switch errno {
		case 0:
		case unix.EAGAIN:
			return
		case unix.ECONNABORTED, unix.EINTR:
			continue
		default:
			s.loop.Fail(fmt.Errorf("accept connection: %w", errno))
			return
		}
		if err := s.admit(descriptor); err != nil {
			s.loop.Fail(fmt.Errorf("accept connection: %w", err))
			return
		}
	}
}

func (s *Listener) admit(descriptor int) error {
	c, err := s.loop.adopt(descriptor, s.path == "")
	if err != nil {
		return err
	}
	if c.handler = s.accept(c); c.handler == nil {
		c.Close()
	}
	return nil
}

func (s *Listener) close() {
	_ = unix.Close(s.descriptor) // an error does not matter: a listener has no data
	if s.path != "" {
		_ = unix.Unlink(s.path) // fails if its directory was removed
	}
}

// adopt makes a connected socket a connection of the loop.
func (l *Loop) adopt(descriptor int, isTCP bool) (*Conn, error) {
	if isTCP {
		// Small messages must not wait until the peer has acknowledged earlier ones.
		if err := unix.SetsockoptInt(descriptor, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
			return nil, errors.Join(fmt.Errorf("set TCP_NODELAY: %w", err), unix.Close(descriptor))
		}
	}
	event := unix.EpollEvent{Events: readEvents, Fd: int32(descriptor)}
	if err := unix.EpollCtl(l.poller, unix.EPOLL_CTL_ADD, descriptor, &event); err != nil {
		return nil, errors.Join(fmt.Errorf("watch connection: %w", err), unix.Close(descriptor))
	}
	for len(l.conns) <= descriptor {
		l.conns = append(l.conns, nil)
	}
	l.conns[descriptor] = &Conn{loop: l, descriptor: descriptor}
	return l.conns[descriptor], nil
}

func resolve(network, address string) (endpoint unix.Sockaddr, domain int, err error) {
	switch network {
	case "unix":
		return &unix.SockaddrUnix{Name: address}, unix.AF_UNIX, nil
	case "tcp":
		parsed, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, 0, fmt.Errorf("address %q: want IP:port: %w", address, err)
		}
		port := int(parsed.Port())
		if ip := parsed.Addr().Unmap(); ip.Is4() {
			return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}, unix.AF_INET, nil
		}
		return &unix.SockaddrInet6{Port: port, Addr: parsed.Addr().As16()}, unix.AF_INET6, nil
	}
	return nil, 0, fmt.Errorf("network %q: want tcp or unix", network)
}

func listen(domain int, endpoint unix.Sockaddr) (int, error) {
	descriptor, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if domain != unix.AF_UNIX {
		// A port may be reused although earlier connections are in TIME_WAIT.
		err = unix.SetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(descriptor, endpoint)
	}
	if err == nil {
		err = unix.Listen(descriptor, backlog)
	}
	if err != nil {
		return 0, errors.Join(err, unix.Close(descriptor))
	}
	return descriptor, nil
}

// connect returns a non-blocking socket whose connection is established. It connects with
// a blocking socket; after a signal, connecting again continues to wait on Linux.
func connect(domain int, endpoint unix.Sockaddr) (int, error) {
	descriptor, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Connect(descriptor, endpoint)
	}
	if err == nil {
		err = unix.SetNonblock(descriptor, true)
	}
	if err != nil {
		return 0, errors.Join(err, unix.Close(descriptor))
	}
	return descriptor, nil
}
