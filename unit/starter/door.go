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
	// askPatience is how long a caller may take to send its request.
	askPatience = 10 * time.Second
	// dialPatience is how long a unit may take to accept.
	dialPatience = 5 * time.Second
	// longestLine is the longest line of a request, in bytes.
	longestLine = 512
)

// Door connects callers that prove with TLS that they have the key in a file to addresses in a network, such
// as 198.18.0.0/22. It returns when it can listen no longer.
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
	return serveEach(tls.NewListener(listener, secured),
		func(caller net.Conn) error { return admit(caller, inside) })
}

// serveEach serves every caller and sends it the error, if there is one, until the listener is closed.
func serveEach(listener net.Listener, serve func(net.Conn) error) error {
	return accept.Each(listener, func(caller net.Conn) {
		go func() {
			defer func() { _ = caller.Close() }() // everything was sent
			if err := serve(caller); err != nil {
				_, _ = fmt.Fprintln(caller, err) // it may be gone
			}
		}()
	})
}

// admit carries out the request of one caller: it counts the addresses of a name, or connects the caller to
// one.
func admit(caller net.Conn, inside netip.Prefix) error {
	if err := caller.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	wanted, err := readLine(from)
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
	defer func() { _ = unit.Close() }() // everything was sent
	if _, err := io.WriteString(caller, lab.ProxyOpen+"\n"); err != nil {
		return err
	}
	if err := caller.SetDeadline(time.Time{}); err != nil {
		return err
	}
	forward(caller, from, unit)
	return nil
}

// dial connects to an address, which must be inside.
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
	failure := fmt.Errorf("%s is not in the network %v of the units", host, inside)
	for _, ip := range found {
		if !inside.Contains(ip.Unmap()) {
			continue
		}
		unit, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port))
		if err == nil {
			return unit, nil
		}
		failure = err
	}
	return nil, failure
}

// readLine reads a line and returns it without its end.
func readLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return string(text[:len(text)-1]), nil
}

// forward copies in both directions between a caller, which is read through from, and a unit, until both have
// ended.
func forward(caller net.Conn, from io.Reader, unit net.Conn) {
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

// closeWrite closes one direction of a connection: the other side reads its end.
func closeWrite(c net.Conn) {
	if half, can := c.(interface{ CloseWrite() error }); can {
		_ = half.CloseWrite() // it may be gone
	}
}
