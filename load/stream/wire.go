package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// dialer connects to the one address that was permitted.
type dialer struct {
	network, address string
	tls              *tls.Config // nil: clear text
	scheme           string
	authority        string // host and port, as requests name them
	timeout          time.Duration
	connects         atomic.Int64
	received         atomic.Int64 // bytes as they came, encrypted ones with TLS
}

// newDialer reads where to connect from a checked configuration.
func newDialer(c *Config) *dialer {
	u, _ := url.Parse(c.URL) // check has read it
	d := &dialer{network: "tcp", address: c.Address.String(), scheme: u.Scheme, authority: u.Host,
		timeout: c.Timeout}
	if u.Scheme == "https" {
		d.tls = c.TLS
	}
	if c.Unix != "" {
		d.network, d.address = "unix", c.Unix
	}
	return d
}

// dial connects, without TLS.
func (d *dialer) dial(ctx context.Context) (*wire, error) {
	d.connects.Add(1)
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, dialer: d}, nil
}

// secure makes a connection speak TLS and one of the protocols; it closes the
// connection when that fails.
func (d *dialer) secure(ctx context.Context, w *wire, protocols ...string) (*tls.Conn, error) {
	config := d.tls.Clone()
	config.NextProtos = protocols
	conn := tls.Client(w, config)
	err := conn.HandshakeContext(ctx)
	if picked := conn.ConnectionState().NegotiatedProtocol; err == nil && protocols[0] == "h2" &&
		!slices.Contains(protocols, picked) {
		err = errNoHTTP2
	}
	if err != nil {
		return nil, errors.Join(&handshakeError{err, w.outcome()}, w.Close())
	}
	return conn, nil
}

// What can be wrong with a server that was reached.
var (
	errNoHTTP2  = errors.New("the server does not offer HTTP/2 (ALPN h2)")
	errNotHTTP2 = errors.New("what the server says is not HTTP/2")
)

// handshakeError is a failed handshake, and how the connection below it ended.
type handshakeError struct {
	error
	below record.Outcome // OK where it did not end
}

// Error says that the connection stood.
func (h *handshakeError) Error() string { return "TLS handshake: " + h.error.Error() }

// Unwrap is the handshake's own error.
func (h *handshakeError) Unwrap() error { return h.error }

// wire is a connection that counts bytes and remembers how it ended: the libraries above it give that as text
// only.
type wire struct {
	net.Conn
	dialer   *dialer
	received atomic.Int64
	written  atomic.Int64
	end      atomic.Uint32 // a record.Outcome; OK while it goes on
}

// Read reads, counts and remembers.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.received.Add(int64(n))
	w.dialer.received.Add(int64(n))
	w.remember(err)
	return n, err
}

// Write writes, counts and remembers.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.written.Add(int64(n))
	w.remember(err)
	return n, err
}

// remember keeps how the connection ended first. A time limit that passed is no end, nor is that this side
// closed it.
func (w *wire) remember(err error) {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return
	}
	outcome := record.Closed
	if !errors.Is(err, io.EOF) {
		outcome = outcomeOf(err)
	}
	w.end.CompareAndSwap(uint32(record.OK), uint32(outcome))
}

// noHTTP2 is why a connection that stood did not begin HTTP/2.
func (w *wire) noHTTP2() error {
	if w.outcome() == record.Reset {
		return fmt.Errorf("the connection was reset before HTTP/2 began: %w", syscall.ECONNRESET)
	}
	return errNotHTTP2
}

// outcome returns how the connection ended, OK while it goes on.
func (w *wire) outcome() record.Outcome { return record.Outcome(w.end.Load()) }
