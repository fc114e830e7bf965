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

// dialer connects to the permitted address.
type dialer struct {
	network, address string
	tls              *tls.Config // nil: clear text
	scheme           string
	authority        string // host and port for requests
	timeout          time.Duration
	connects         atomic.Int64
	received         atomic.Int64 // bytes on the wire, encrypted if there is TLS
}

// newDialer returns the dialer of a checked configuration.
func newDialer(c *Config) *dialer {
	u, _ := url.Parse(c.URL) // package trial has made it
	d := &dialer{network: "tcp", address: c.Address.String(), scheme: u.Scheme, authority: u.Host,
		timeout: c.Timeout}
	if u.Scheme == "https" {
		d.tls = c.TLS
	}
	if c.Unix != "" {
		d.network = "unix"
		d.address = c.Unix
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

// secure does the TLS handshake on a connection, for one of the protocols. If it fails, it closes the
// connection.
func (d *dialer) secure(ctx context.Context, w *wire, protocols ...string) (*tls.Conn, error) {
	config := d.tls.Clone()
	config.NextProtos = protocols
	conn := tls.Client(w, config)
	err := conn.HandshakeContext(ctx)
	if err == nil && protocols[0] == "h2" {
		picked := conn.ConnectionState().NegotiatedProtocol
		if !slices.Contains(protocols, picked) {
			err = errNoHTTP2
		}
	}
	if err != nil {
		return nil, errors.Join(&handshakeError{err, w.outcome()}, w.Close())
	}
	return conn, nil
}

// Errors of a server that was reached.
var (
	errNoHTTP2  = errors.New("the server does not offer HTTP/2 (ALPN h2)")
	errNotHTTP2 = errors.New("what the server says is not HTTP/2")
)

// handshakeError is a failed handshake, with the end of the connection below it.
type handshakeError struct {
	error
	below record.Outcome // OK if it has not ended
}

// Error implements error. It says that the handshake failed, not the attempt to connect.
func (h *handshakeError) Error() string { return "TLS handshake: " + h.error.Error() }

// Unwrap returns the handshake's own error.
func (h *handshakeError) Unwrap() error { return h.error }

// wire is a connection that counts bytes and records how it ended, because TLS reports that
// as text only.
type wire struct {
	net.Conn
	dialer   *dialer
	received atomic.Int64
	written  atomic.Int64
	end      atomic.Uint32 // a record.Outcome; OK while it goes on
}

// Read implements net.Conn. It counts the bytes and records an end.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.received.Add(int64(n))
	w.dialer.received.Add(int64(n))
	w.remember(err)
	return n, err
}

// Write implements net.Conn. It counts the bytes and records an end.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.written.Add(int64(n))
	w.remember(err)
	return n, err
}

// remember records the first end of the connection. A time limit is not an end, nor is closing on this
// side.
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

// noHTTP2 returns the reason why an open connection did not start HTTP/2.
func (w *wire) noHTTP2() error {
	if w.outcome() == record.Reset {
		return fmt.Errorf("the connection was reset before HTTP/2 began: %w", syscall.ECONNRESET)
	}
	return errNotHTTP2
}

// outcome returns how the connection ended, or OK if it has not.
func (w *wire) outcome() record.Outcome { return record.Outcome(w.end.Load()) }
