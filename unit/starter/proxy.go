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
	// requestTimeout is the time for a caller to send its request and to get the answer. Connections that are
	// then forwarded have no limit.
	requestTimeout = 10 * time.Second
	// dialTimeout is the time to resolve a name or to connect to a unit.
	dialTimeout = 5 * time.Second
	// longestLine is the longest line of a request, in bytes.
	longestLine = 512
)

// ServeProxy serves a TCP proxy into a network of units, such as 198.18.0.0/22. Callers must prove with TLS
// that they have the key in a file. It returns an error when it cannot use the key or the network, or cannot
// listen.
func ServeProxy(address, network, keyFile string) error {
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
		func(caller net.Conn) error { return serveCaller(caller, inside) })
}

// serveEach calls serve for every connection, in a goroutine, and sends its error to the caller. It returns
// when the listener is closed.
func serveEach(listener net.Listener, serve func(net.Conn) error) error {
	return accept.Each(listener, func(caller net.Conn) {
		go func() {
			defer func() { _ = caller.Close() }()
			if err := serve(caller); err != nil {
				_, _ = fmt.Fprintln(caller, err) // the caller may be gone
			}
		}()
	})
}

// serveCaller carries out the request of one caller: it connects the caller to an address, or sends the
// number of addresses of a name, with which the deployer checks that this node resolves it. serveEach sends
// the error.
func serveCaller(caller net.Conn, inside netip.Prefix) error {
	if err := caller.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	request, err := readLine(from)
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(request, lab.ProxyCount); ok {
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, name)
		if err != nil {
			return err
		}
		_, err = io.WriteString(caller, strconv.Itoa(len(found))+"\n")
		return err
	}
	address, ok := strings.CutPrefix(request, lab.ProxyDial)
	if !ok {
		return fmt.Errorf("%.20q is no request that the proxy knows", request)
	}
	unit, err := dial(address, inside)
	if err != nil {
		return err
	}
	defer func() { _ = unit.Close() }()
	if _, err := io.WriteString(caller, lab.ProxyOpen+"\n"); err != nil {
		return err
	}
	if err := caller.SetDeadline(time.Time{}); err != nil {
		return err
	}
	forward(caller, from, unit)
	return nil
}

// dial connects to a host:port whose IP address must be inside the network.
func dial(address string, inside netip.Prefix) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
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
		var dialer net.Dialer
		unit, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), port))
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

// forward copies in both directions between a caller and a unit until both have closed. from is the caller's
// buffered reader, which may hold data already. In a tunnel a unit is the caller, and the conductor takes the
// place of the unit.
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
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // it may be gone
	}
}
