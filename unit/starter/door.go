package starter

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// askPatience is how long a caller may take to say what it wants.
	askPatience = 10 * time.Second
	// dialPatience is how long a unit may take to accept.
	dialPatience = 5 * time.Second
	// longestLine is that of what a caller says before it is connected.
	longestLine = 512
)

// Door lets callers that have the key in a file in to a network, 198.18.0.0/22, until it cannot listen any
// more.
func Door(address, network, keyFile string) error {
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	secured, err := lab.ProxyTLS(key)
	if err != nil {
		return err
	}
	inside, err := netip.ParsePrefix(network)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return answer(tls.NewListener(listener, secured),
		func(caller net.Conn) error { return admit(caller, inside) })
}

// answer has callers served, and tells them what went wrong, until the listener is closed.
func answer(listener net.Listener, serve func(net.Conn) error) error {
	return accept.Each(listener, func(caller net.Conn) {
		go func() {
			defer func() { _ = caller.Close() }() // all has been said
			if err := serve(caller); err != nil {
				_, _ = fmt.Fprintln(caller, err) // it may be gone
			}
		}()
	})
}

// admit does what one caller wants.
func admit(caller net.Conn, inside netip.Prefix) error {
	if err := caller.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	wanted, err := line(from)
	if err != nil {
		return err
	}
	if name, is := strings.CutPrefix(wanted, lab.ProxyCount); is {
		ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, name)
		if err != nil {
			return err
		}
		_, err = io.WriteString(caller, strconv.Itoa(len(found))+"\n")
		return err
	}
	address, is := strings.CutPrefix(wanted, lab.ProxyDial)
	if !is {
		return fmt.Errorf("%.20q is nothing that a door does", wanted)
	}
	unit, err := dial(address, inside)
	if err != nil {
		return err
	}
	defer func() { _ = unit.Close() }() // all has been said
	if _, err := io.WriteString(caller, lab.ProxyOpen+"\n"); err != nil {
		return err
	}
	if err := caller.SetDeadline(time.Time{}); err != nil {
		return err
	}
	connect(caller, from, unit)
	return nil
}

// dial connects to an address, where that is inside.
func dial(address string, inside netip.Prefix) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", host)
	if err != nil {
		return nil, err
	}
	last := fmt.Errorf("%s is not in the network %v of the units", host, inside)
	for _, one := range found {
		if !inside.Contains(one.Unmap()) {
			continue
		}
		var unit net.Conn
		if unit, last = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(one.String(), port)); last == nil {
			return unit, nil
		}
	}
	return nil, last
}

// line reads one without its end.
func line(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return string(text[:len(text)-1]), nil
}

// connect passes on what both sides say until both have ended.
func connect(caller net.Conn, from io.Reader, unit net.Conn) {
	back := make(chan struct{})
	go func() {
		_, _ = io.Copy(caller, unit) // either side may break
		closeWrite(caller)
		close(back)
	}()
	_, _ = io.Copy(unit, from)
	closeWrite(unit)
	<-back
}

// closeWrite tells the other side that nothing more comes.
func closeWrite(c net.Conn) {
	if half, can := c.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite() // it may be gone
	}
}
