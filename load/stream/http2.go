package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

const (
	// maxHead and maxInspected bound an answer as package http1 does, in bytes.
	maxHead      = 64 << 10
	maxInspected = 1 << 20
	// maxRetained is the most memory for a body that waits for the next answer.
	maxRetained = 64 << 10
)

// http2Maker makes the connections of all links.
type http2Maker struct {
	dialer    *dialer
	scheme    string
	transport *http.Transport
	timeout   time.Duration
}

// newHTTP2Maker configures net/http to do nothing of its own accord: no proxy, no
// compression, no pool. A connection on which nothing comes for a whole time limit
// is asked for a sign of life and given up without one.
func newHTTP2Maker(d *dialer, timeout time.Duration) *http2Maker {
	m := &http2Maker{dialer: d, scheme: "https", timeout: timeout, transport: &http.Transport{
		DisableCompression: true, MaxResponseHeaderBytes: maxHead, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{SendPingTimeout: timeout, PingTimeout: timeout},
	}}
	if d.tls == nil {
		m.scheme = "http"
		m.transport.Protocols.SetUnencryptedHTTP2(true)
		m.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx) }
		return m
	}
	m.transport.Protocols.SetHTTP2(true)
	m.transport.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		w, err := m.dial(ctx)
		if err != nil {
			return nil, err
		}
		return d.secure(ctx, w, "h2")
	}
	return m
}

// wireKey finds the place in a context where dial leaves the connection.
type wireKey struct{}

// dial connects and tells the link that asked.
func (m *http2Maker) dial(ctx context.Context) (*wire, error) {
	w, err := m.dialer.dial(ctx)
	if err != nil {
		return nil, err
	}
	if tell, ok := ctx.Value(wireKey{}).(**wire); ok {
		*tell = w
	}
	return w, nil
}

// http2Conn is a connection with what lies below it.
type http2Conn struct {
	*http.ClientConn
	wire *wire
}

// http2Link is a connection that several flows share.
type http2Link struct {
	maker   *http2Maker
	base    context.Context // ends with the load
	meeting meeting

	mu      sync.Mutex
	conn    *http2Conn   // nil: room for one
	retired []*http2Conn // take no new requests, and may still answer old ones
}

// stands reports whether the connection takes requests.
func (l *http2Link) stands() bool { return l.current() != nil }

// connect makes the connection, together with others who need it.
func (l *http2Link) connect(ctx context.Context) error { return l.meeting.join(ctx, l.dial) }

// current is the connection for a new request, or nil.
func (l *http2Link) current() *http2Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.conn; c != nil && (c.Err() != nil || c.Available() == 0 && c.InFlight() == 0) {
		l.retire()
	}
	return l.conn
}

// retire takes the connection out of use, and forgets old ones that have ended.
func (l *http2Link) retire() {
	kept := l.retired[:0]
	for _, c := range append(l.retired, l.conn) {
		if c.Err() == nil {
			kept = append(kept, c)
		}
	}
	l.retired, l.conn = kept, nil
}

// dial makes the connection, unless somebody just did.
func (l *http2Link) dial() error {
	if l.current() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.base, l.maker.timeout)
	defer cancel()
	var w *wire
	conn, err := l.maker.transport.NewClientConn(context.WithValue(ctx, wireKey{}, &w), l.maker.scheme, hostPort(l.maker.dialer.authority, l.maker.scheme))
	if err != nil {
		return err
	}
	if err := settled(ctx, conn, w); err != nil {
		return errors.Join(err, conn.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.base.Err(); err != nil { // all is over, and nobody would close it
		return errors.Join(err, conn.Close())
	}
	l.conn = &http2Conn{conn, w}
	return nil
}

// settled waits until the server has said how many streams it permits: more than
// those, sent before, it would refuse.
func settled(ctx context.Context, conn *http.ClientConn, w *wire) error {
	select {
	case <-w.begun:
	case <-ctx.Done():
		return fmt.Errorf("wait for the settings of HTTP/2: %w", ctx.Err())
	}
	if conn.Err() == nil && conn.Available() > 0 {
		return nil
	}
	return w.noHTTP2()
}

// hostPort is an authority with its port: the library asks for one.
func hostPort(authority, scheme string) string {
	if _, _, err := net.SplitHostPort(authority); err == nil {
		return authority
	}
	return net.JoinHostPort(strings.Trim(authority, "[]"), map[string]string{"http": "80", "https": "443"}[scheme])
}

// exchange sends a request and reads its answer. One that the server cannot have
// seen, because it or the connection said so, is sent again on a new connection,
// once.
func (l *http2Link) exchange(ctx context.Context, x *exchange) {
	call := x.session.Call()
	body := bytes.Clone(call.Body) // a writer may hold it longer than the session does
	for again := true; ; again = false {
		conn := l.current()
		if conn == nil {
			if err := l.connect(ctx); err != nil {
				x.fail(outcomeOfConnect(err), err.Error())
				return
			}
			if conn = l.current(); conn == nil {
				x.fail(record.Closed, "the connection ended as soon as it was made")
				return
			}
		}
		err := l.send(ctx, x, conn, newRequest(l.maker, &call, body))
		if err == nil {
			return
		}
		if unseen(err) {
			l.replace(conn)
			if again {
				continue
			}
		}
		x.fail(outcomeOfHTTP2(err, conn.wire), err.Error())
		return
	}
}

// replace takes a connection out of use, if nobody has yet.
func (l *http2Link) replace(conn *http2Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == conn {
		l.retire()
	}
}

// newRequest spells a call out for the library.
func newRequest(m *http2Maker, call *scenario.Call, body []byte) *http.Request {
	request := &http.Request{
		Method: call.Method, Proto: "HTTP/2.0", ProtoMajor: 2,
		URL:    &url.URL{Scheme: m.scheme, Host: m.dialer.authority, Opaque: call.Path},
		Header: make(http.Header, len(call.Header)+1), Host: call.Host,
	}
	request.Header["User-Agent"] = nil // none but the scenario's own
	for _, field := range call.Header {
		name := http.CanonicalHeaderKey(field.Name)
		request.Header[name] = append(request.Header[name], field.Value)
	}
	if len(body) > 0 {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return request
}

// send makes the exchange on a connection.
func (l *http2Link) send(ctx context.Context, x *exchange, conn *http2Conn, request *http.Request) (err error) {
	var wrote atomic.Int64
	x.waited = conn.Available() == 0
	if x.waited {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(int64(x.clock())) }})
	}
	x.sent = x.clock()
	response, err := conn.RoundTrip(request.WithContext(ctx))
	if at := wrote.Load(); at > 0 {
		x.sent = time.Duration(at)
	}
	if err != nil {
		return err
	}
	x.first = x.clock()
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	return x.read(response)
}

// read keeps of the answer what somebody needs, and reads it to its end.
func (x *exchange) read(response *http.Response) error {
	header, body := x.session.Needs()
	x.answer.Status = response.StatusCode
	if header {
		x.answer.Header = lines(response.Header)
	}
	if body {
		kept := bytes.NewBuffer(x.body[:0])
		n, err := kept.ReadFrom(io.LimitReader(response.Body, maxInspected))
		x.body, x.answer.Body, x.received = kept.Bytes(), kept.Bytes(), n
		if err != nil {
			return err
		}
	}
	n, err := io.Copy(io.Discard, response.Body)
	x.received += n
	x.answer.Truncated = body && n > 0
	return err
}

// lines writes headers as package oracle reads them.
func lines(header map[string][]string) []byte {
	var out []byte
	for name, values := range header {
		for _, value := range values {
			out = append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
		}
	}
	return out
}

// hangUp ends the connection.
func (l *http2Link) hangUp() { l.abort() }

// abort ends all connections with what is in flight.
func (l *http2Link) abort() {
	l.mu.Lock()
	if l.conn != nil {
		l.retire()
	}
	all := l.retired
	l.retired = nil
	l.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // nothing of interest is on its way
	}
}
