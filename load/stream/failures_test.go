package stream

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
)

// abort ends an answer in the middle: HTTP/1.1 servers close the connection,
// HTTP/2 servers reset the stream.
func abort(w http.ResponseWriter, r *http.Request) {
	hello(w, r)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// silent ends the connection or the stream without an answer.
func silent(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// stall answers when the client has given up.
func stall(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestFailuresHaveNames(t *testing.T) {
	ca := newAuthority(t)
	for _, c := range []struct {
		name         string
		handler      http.HandlerFunc
		http1, http2 record.Outcome
	}{
		{"ends in the middle", abort, record.Closed, record.Reset},
		{"ends without a word", silent, record.Closed, record.Reset},
		{"stalls", stall, record.Timeout, record.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := serve(t, ca.server("shop.test", soon()), c.handler)
			for protocol, outcome := range map[Protocol]record.Outcome{HTTP1: c.http1, HTTP2: c.http2} {
				r := ca.rig(t, protocol, address)
				n := 20
				if outcome == record.Timeout { // connections are made in this time, too
					r.config.Timeout = 3 * time.Second
					n = r.config.Connections
				}
				r.open(n)
				results, report := r.run()
				want(t, results, map[record.Outcome]int64{outcome: int64(n)})
				if report.Example == "" && !t.Failed() {
					t.Errorf("%s: no example of the failure", protocol)
				}
			}
		})
	}
}

// serveRaw answers every request on a connection by a function, which may use the connection and the one
// below it freely. After an error it closes the connection.
func serveRaw(t *testing.T, secure *tls.Config, answer func(conn, below net.Conn) error) net.Addr {
	t.Helper()
	return accept(listen(t), func(below net.Conn) {
		defer func() { _ = below.Close() }()
		conn := below
		if secure != nil {
			conn = tls.Server(below, secure)
		}
		in := bufio.NewReader(conn)
		for {
			if _, err := http.ReadRequest(in); err != nil || answer(conn, below) != nil {
				return
			}
		}
	})
}

var errDone = errors.New("done")

func TestConnectionsBreakUnderTLS(t *testing.T) {
	ca := newAuthority(t)
	for _, c := range []struct {
		name   string
		answer func(conn, below net.Conn) error
		want   record.Outcome
	}{
		{"no HTTP", func(conn, _ net.Conn) error {
			_, err := io.WriteString(conn, "SSH-2.0 hello\r\n")
			return err
		}, record.Malformed},
		{"garbage below TLS", func(_, below net.Conn) error {
			_, err := io.WriteString(below, "HTTP/1.1 200 OK\r\n\r\n")
			return err
		}, record.BadTLS},
		{"a record that does not decrypt", func(_, below net.Conn) error {
			_, err := below.Write(append([]byte{23, 3, 3, 0, 32}, make([]byte, 32)...))
			return err
		}, record.BadTLS},
		{"closes", func(conn, _ net.Conn) error { return errors.Join(errDone, conn.Close()) }, record.Closed},
		{"ends without close_notify of TLS", func(_, below net.Conn) error { return errDone }, record.Closed},
		{"ends with the connection", func(conn, _ net.Conn) error {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nbody")
			return errors.Join(errDone, err, conn.Close())
		}, record.OK},
		{"more bytes than one answer", func(conn, _ net.Conn) error {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore")
			return err
		}, record.OK},
		{"announces an end that does not come", func(conn, _ net.Conn) error {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
			return err
		}, record.OK},
		{"resets", func(_, below net.Conn) error {
			return errors.Join(errDone, below.(*net.TCPConn).SetLinger(0))
		}, record.Reset},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := serveRaw(t, ca.server("shop.test", soon()), c.answer)
			r := ca.rig(t, HTTP1, address)
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{c.want: 20})
			if report.Connects < 20 {
				t.Errorf("%d connections for 20 operations, each of which ends one", report.Connects)
			}
			if t.Failed() {
				t.Log(report.Example)
			}
		})
	}
}

// frame returns a frame of HTTP/2 (RFC 9113, 4.1).
func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// Kinds of frames.
const (
	dataFrame, headersFrame, resetFrame, settingsFrame, goAwayFrame = 0, 1, 3, 4, 7
)

// serveFrames returns a server of HTTP/2 in clear text that answers every request by a function. After an
// error it closes the connection. It sends its settings late, and refuses requests that come before the
// client has acknowledged them.
func serveFrames(t *testing.T, answer func(conn net.Conn, stream uint32) error) net.Addr {
	t.Helper()
	return accept(listen(t), func(conn net.Conn) {
		time.Sleep(20 * time.Millisecond)
		speakFrames(conn, answer)
	})
}

// speakFrames sends settings, answers the requests of a connection and closes it.
func speakFrames(conn net.Conn, answer func(conn net.Conn, stream uint32) error) {
	defer func() { _ = conn.Close() }()
	_, _ = conn.Write(frame(settingsFrame, 0, 0))
	_ = readFrames(conn, answer)
	// What is still on its way must not turn the end into a reset.
	if conn.(interface{ CloseWrite() error }).CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}

// readFrames reads the client's frames, answers its requests, and refuses those before the acknowledgement of
// the settings.
func readFrames(conn net.Conn, answer func(conn net.Conn, stream uint32) error) error {
	in := bufio.NewReader(conn)
	if _, err := in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")); err != nil {
		return err
	}
	for acknowledged := false; ; {
		var head [9]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		if _, err := in.Discard(int(head[0])<<16 | int(head[1])<<8 | int(head[2])); err != nil {
			return err
		}
		kind := head[3]
		flags := head[4]
		stream := binary.BigEndian.Uint32(head[5:])
		acknowledged = acknowledged || kind == settingsFrame && flags == 1
		if kind != headersFrame {
			continue
		}
		if !acknowledged {
			_, err := conn.Write(frame(resetFrame, 0, stream, code(7)...))
			return errors.Join(errDone, err)
		}
		if err := answer(conn, stream); err != nil {
			return err
		}
	}
}

// Flags of frames with headers, and the header block of "status 200".
const endStream, endHeaders, status200 = 1, 4, 0x88

// code returns the payload of a frame that holds an error code.
func code(n byte) []byte { return []byte{0, 0, 0, n} }

func TestStreamsBreak(t *testing.T) {
	send := func(frames ...[]byte) func(net.Conn, uint32) error {
		return func(conn net.Conn, stream uint32) error {
			for _, f := range frames {
				f = append([]byte(nil), f...)
				if f[3] != goAwayFrame {
					binary.BigEndian.PutUint32(f[5:], stream)
				}
				if _, err := conn.Write(f); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name   string
		answer func(net.Conn, uint32) error
		want   record.Outcome
	}{
		{"refused stream", send(frame(resetFrame, 0, 1, code(7)...)), record.Rejected},
		{"enhance your calm", send(frame(resetFrame, 0, 1, code(11)...)), record.Rejected},
		{"internal error", send(frame(resetFrame, 0, 1, code(2)...)), record.Reset},
		{"reset in the body", send(frame(headersFrame, endHeaders, 1, status200), frame(dataFrame, 0, 1, 'x'),
			frame(resetFrame, 0, 1, code(8)...)), record.Reset},
		{"data before headers", send(frame(dataFrame, 0, 1, 'x')), record.Malformed},
		{"no frame", func(conn net.Conn, _ uint32) error {
			_, err := io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			return errors.Join(err, errDone)
		}, record.Malformed},
		{"the connection ends", func(net.Conn, uint32) error { return errDone }, record.Closed},
		{"the connection is reset", func(conn net.Conn, _ uint32) error {
			return errors.Join(errDone, conn.(*net.TCPConn).SetLinger(0), conn.Close())
		}, record.Reset},
		{"goes away, enhance your calm", send(frame(goAwayFrame, 0, 0, append([]byte{0, 0, 0, 0}, code(11)...)...)),
			record.Rejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, HTTP2, "http://shop.test", serveFrames(t, c.answer))
			r.config.Streams = 1
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{c.want: 20})
			if t.Failed() {
				t.Log(report.Example)
			}
		})
	}
}

// TestGoAwayIsNoFailure: a server that ends a connection in good order serves the next request on the
// next one. Each connection has one stream: with several, some requests would meet the ends of two
// connections and be lost.
func TestGoAwayIsNoFailure(t *testing.T) {
	var served atomic.Int64
	address := serve(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if served.Add(1)%3 == 0 {
			w.Header().Set("Connection", "close")
		}
		hello(w, r)
	})
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		r := newRig(t, protocol, "http://shop.test", address)
		r.config.Connections = 1
		r.config.Streams = 1
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 20})
		if report.Connects < 4 {
			t.Errorf("%s: %d connections for 20 operations, every third of which ends one", protocol, report.Connects)
		}
	}
}

// TestWhatAServerHasNotSeenIsSentAgain: once, on a new connection.
func TestWhatAServerHasNotSeenIsSentAgain(t *testing.T) {
	for _, c := range []struct {
		refused int64 // requests that the server has not seen when it ends the connection
		want    map[record.Outcome]int64
	}{
		{1, map[record.Outcome]int64{record.OK: 20}},
		{2, map[record.Outcome]int64{record.OK: 19, record.Closed: 1}},
	} {
		var requests atomic.Int64
		r := newRig(t, HTTP2, "http://shop.test", serveFrames(t, func(conn net.Conn, stream uint32) error {
			if requests.Add(1) <= c.refused {
				_, err := conn.Write(frame(goAwayFrame, 0, 0, make([]byte, 8)...))
				return errors.Join(errDone, err)
			}
			_, err := conn.Write(frame(headersFrame, endHeaders|endStream, stream, status200))
			return err
		}))
		r.config.Connections = 1
		r.config.Streams = 1
		results, _ := r.run()
		want(t, results, c.want)
		if n := requests.Load(); n != 20+min(c.refused, 1) {
			t.Errorf("%d requests for 20 operations of which %d were not seen", n, c.refused)
		}
	}
}

// TestWhatIsSentAgainCountsForTheHighestRate: of one flow a second the first leaves no room for another
// request.
func TestWhatIsSentAgainCountsForTheHighestRate(t *testing.T) {
	var requests atomic.Int64
	r := newRig(t, HTTP2, "http://shop.test", serveFrames(t, func(conn net.Conn, _ uint32) error {
		requests.Add(1)
		_, err := conn.Write(frame(goAwayFrame, 0, 0, make([]byte, 8)...))
		return errors.Join(errDone, err)
	}))
	r.open(1)
	r.config.Connections = 1
	r.config.MaxRate = 1
	results, _ := r.run()
	want(t, results, map[record.Outcome]int64{record.Closed: 1})
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests within a second, want 1", n)
	}
}

// TestIdleConnectionsMayEnd: a server that closes the connection of a flow that thinks costs a
// connection, not an operation.
func TestIdleConnectionsMayEnd(t *testing.T) {
	ca := newAuthority(t)
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		listener := tls.NewListener(listen(t), ca.server("shop.test", soon(), "h2", "http/1.1"))
		server := &http.Server{Handler: http.HandlerFunc(hello), IdleTimeout: 200 * time.Millisecond,
			ErrorLog: quiet()}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		r := ca.rig(t, protocol, listener.Addr())
		// Long after its idle connection has ended a user sends again.
		r.config.Users = &engine.Users{Number: 2, Think: time.Second}
		r.config.Duration = 2500 * time.Millisecond
		results, report := r.run()
		if ok := results.Count(record.All, record.OK); ok != results.Sent(record.All) || ok < 4 ||
			report.Connects < 3 {
			t.Errorf("%s: %d of %d ok on %d connections: %s", protocol, ok, results.Sent(record.All), report.Connects,
				report.Example)
		}
	}
}

func TestNobodyListens(t *testing.T) {
	for _, protocol := range []Protocol{Auto, HTTP1, HTTP2, GRPC} {
		listener := listen(t)
		r := newRig(t, protocol, "https://shop.test", listener.Addr())
		testset.Must(t, listener.Close())
		var unreachable *engine.UnreachableError
		if _, _, err := r.try(); !errors.As(err, &unreachable) {
			t.Errorf("%q: error %v, want that nobody is reached", protocol, err)
		}
	}
}

// TestTheServerGoesAway: it stops listening after the first connection.
func TestTheServerGoesAway(t *testing.T) {
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		listener := listen(t)
		server := serveAt(t, listener, hello)
		r := newRig(t, protocol, "http://shop.test", listener.Addr())
		r.config.Connected = server.Close
		r.config.KeepAlive = false
		results, report := r.run()
		expectGone(t, results, report.Example)
	}
}

// expectGone checks 20 operations on a server that is gone. Operations on a connection from before that
// see its end; all others cannot connect.
func expectGone(t *testing.T, results *record.Results, example string) {
	t.Helper()
	refused := results.Count(record.All, record.Refused)
	cut := results.Count(record.All, record.Closed) + results.Count(record.All, record.Reset)
	if refused+cut != 20 || refused == 0 {
		t.Errorf("%d operations refused and %d cut off, want 20 of which most are refused: %s", refused, cut,
			example)
	}
}

// TestARequestOnAConnectionThatHadEndedIsSentAgain: the server answers the first request of a connection and
// hangs up on the second, so that only requests that may be repeated are answered, each once.
func TestARequestOnAConnectionThatHadEndedIsSentAgain(t *testing.T) {
	for method, again := range map[string]bool{"GET": true, "POST": false} {
		var second atomic.Int64
		var served sync.Map
		address := serveRaw(t, nil, func(conn, _ net.Conn) error {
			if _, before := served.LoadOrStore(conn, true); before {
				second.Add(1)
				return io.EOF
			}
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			return err
		})
		r := newRig(t, HTTP1, "http://shop.test", address)
		r.step().Request = method + " /"
		r.config.Connections = 1
		results, _ := r.run()
		ok := results.Count(record.All, record.OK)
		resent := results.Counts(record.All).Resent
		lost := second.Load()
		if want := map[bool]int64{true: 20, false: 20 - lost}[again]; ok != want || lost == 0 ||
			again != (resent == lost) || !again && resent > 0 {
			t.Errorf("%s: %d of 20 right, %d sent again after %d losses", method, ok, resent, lost)
		}
	}
}
