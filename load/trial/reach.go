package trial

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/cleave-lab/cleave/load/engine"
)

const (
	// attemptDelay is the time that a connection may take before the next address is tried at the same time
	// (RFC 8305 section 5).
	attemptDelay = 250 * time.Millisecond
	// reachWithin bounds the search for an address that answers.
	reachWithin = 5 * time.Second
)

// reach connects to one of several addresses and returns the first connection that succeeds (RFC 8305,
// Happy Eyeballs). It tries the addresses in order, the next one when the last one has failed or takes
// long.
func reach(ctx context.Context, addresses []netip.AddrPort) (connection net.Conn, err error) {
	type attempt struct {
		net.Conn
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	made := make(chan attempt, len(addresses))
	begun, ended := 0, 0
	defer func() {
		cancel()
		for ; ended < begun; ended++ {
			if late := <-made; late.err == nil {
				_ = late.Close() // another connection was first
			}
		}
	}()
	for ended < len(addresses) {
		var delay <-chan time.Time
		if begun < len(addresses) {
			address := addresses[begun].String()
			begun++
			go func() {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
				made <- attempt{conn, err}
			}()
			delay = time.After(attemptDelay)
		}
		select {
		case a := <-made:
			ended++
			switch {
			case a.err == nil:
				return a.Conn, nil
			case err == nil:
				err = a.err
			default:
				err = fmt.Errorf("%w; %w", err, a.err)
			}
		case <-delay:
		}
	}
	return nil, err
}

// reachable returns the first of several addresses that answers.
func reachable(ctx context.Context, addresses []netip.AddrPort) (netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	connection, err := reach(ctx, addresses)
	if err != nil {
		return netip.AddrPort{}, err
	}
	answers := addressOf(connection)
	return answers, connection.Close()
}

// addressOf returns the address of the other side of a TCP connection.
func addressOf(connection net.Conn) netip.AddrPort {
	peer := connection.RemoteAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
}

// dial connects to the target: first to the first of its addresses that answers, and then always to that
// one.
func (t *Trial) dial(ctx context.Context) (net.Conn, error) {
	if t.spec.Unix != "" {
		return (&net.Dialer{}).DialContext(ctx, "unix", t.spec.Unix)
	}
	addresses := t.ticket.Addresses
	if answers := t.reached.Load(); answers != nil {
		addresses = []netip.AddrPort{*answers}
	}
	connection, err := reach(ctx, addresses)
	if err == nil {
		t.reached.CompareAndSwap(nil, new(addressOf(connection)))
	}
	return connection, err
}

// address returns the address for the whole load: the first one that answers, if the target has several.
func (t *Trial) address(ctx context.Context) (netip.AddrPort, error) {
	addresses := t.ticket.Addresses
	if answers := t.reached.Load(); answers != nil {
		return *answers, nil
	}
	switch len(addresses) {
	case 0: // the target is a Unix socket
		return netip.AddrPort{}, nil
	case 1:
		return addresses[0], nil
	}
	answers, err := reachable(ctx, addresses)
	if err != nil {
		return answers, &engine.UnreachableError{Target: t.at.host, Cause: err}
	}
	t.reached.CompareAndSwap(nil, &answers)
	return *t.reached.Load(), nil
}
