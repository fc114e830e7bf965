package engine

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
)

// serveRaw answers every request of every connection by a function, which may use the connection freely.
// After an error it closes the connection.
func serveRaw(t *testing.T, answer func(net.Conn) error) string {
	t.Helper()
	listener := listen(t)
	go acceptRaw(listener, answer)
	return listener.Addr().String()
}

// listen listens until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func acceptRaw(listener net.Listener, answer func(net.Conn) error) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			in := bufio.NewReader(conn)
			for {
				request, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, request.Body); err != nil {
					return
				}
				if answer(conn) != nil {
					return
				}
			}
		}()
	}
}

// sends answers with a text.
func sends(text string) func(net.Conn) error {
	return func(conn net.Conn) error {
		_, err := conn.Write([]byte(text))
		return err
	}
}

// sendsAndCloses closes the connection after a text.
func sendsAndCloses(text string) func(net.Conn) error {
	return func(conn net.Conn) error { return errors.Join(sends(text)(conn), io.EOF) }
}

// resets closes the connection so that the client gets a reset.
func resets(conn net.Conn) error {
	return errors.Join(conn.(*net.TCPConn).SetLinger(0), io.EOF)
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestEveryBehaviourHasItsOutcome(t *testing.T) {
	cases := []struct {
		name   string
		answer func(net.Conn) error
		want   record.Outcome
	}{
		{"answers", sends(fine), record.OK},
		{"says close", sendsAndCloses("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
			record.OK},
		{"says close but stays", sends("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"),
			record.OK},
		{"answers until the end", sendsAndCloses("HTTP/1.1 200 OK\r\n\r\nwhole"), record.OK},
		{"answers twice", sends(fine + fine), record.OK},
		{"closes", sendsAndCloses(""), record.Closed},
		{"sends half a head", sendsAndCloses("HTTP/1.1 200 OK\r\nContent-Le"), record.Closed},
		{"sends half a body", sendsAndCloses("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), record.Closed},
		{"sends half the chunks",
			sendsAndCloses("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
			record.Closed},
		{"resets", resets, record.Reset},
		{"answers garbage", sends("\x16\x03\x01\x02\x00\x01\x00\x01\n"), record.Malformed},
		{"answers endless headers", endlessly("HTTP/1.1 200 OK\r\n", "X-Endless: header\r\n"), record.TooLarge},
		{"answers an endless line", endlessly("HTTP/1.1 200 OK\r\nX: ", "xxxxxxxxxxxxxxxx"), record.TooLarge},
		{"fails", sends("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"), record.BadStatus},
		{"is busy", sends("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), record.Rejected},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			results, report := newRig(t, serveRaw(t, c.answer)).run()
			want(t, results, map[record.Outcome]int64{c.want: 20})
			keeps := slices.Contains([]string{"answers", "fails", "is busy"}, c.name)
			if report.Unsent != 0 || keeps != (report.Connects == 4) || !keeps && report.Connects < 20 {
				t.Errorf("%d operations were not sent, want all; %d connections, want 4: %t, else one for each",
					report.Unsent, report.Connects, keeps)
			}
		})
	}
}

// endlessly repeats a text until the client hangs up.
func endlessly(begin, again string) func(net.Conn) error {
	return func(conn net.Conn) error {
		err := sends(begin)(conn)
		for err == nil {
			err = sends(strings.Repeat(again, 100))(conn)
		}
		return err
	}
}

func TestAFailureBehindStatus200IsSeenByAnOracle(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ok":false,"error":"out of stock"}`))
	}
	r := newRig(t, serve(t, handler))
	r.step().Expect.JSON = map[string]string{"ok": "true"}
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.Failed: 20})
	if !strings.Contains(report.Example, "out of stock") {
		t.Errorf("the example is %q, want the answer in it", report.Example)
	}
}

// TestServersThatStallTimeOut: one server sends nothing, the other sends half a body.
func TestServersThatStallTimeOut(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"} {
		r := newRig(t, serveRaw(t, sends(text)))
		r.config.Timeout = 100 * time.Millisecond
		r.config.Connections = 20
		r.config.Grace = time.Minute
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.Timeout: 20})
	}
}

func TestWhatIsInFlightAtTheEndIsCounted(t *testing.T) {
	r := newRig(t, serveRaw(t, func(net.Conn) error { return nil }))
	r.config.Duration = time.Second
	r.config.Grace = time.Millisecond
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.Unfinished: 4}) // one per connection
	if report.Unsent != 16 {
		t.Errorf("%d operations are unsent, want the 16 that found no connection", report.Unsent)
	}
	if got := results.Counts(record.All).Unsent; got != 16 {
		t.Errorf("%d operations are recorded as unsent, want 16", got)
	}
}

func TestNobodyListens(t *testing.T) {
	listener := listen(t)
	address := listener.Addr().String()
	testset.Must(t, listener.Close())
	r := newRig(t, address)
	r.open(20)
	r.prepare()
	_, err := Run(t.Context(), r.config)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, unix.ECONNREFUSED) ||
		!strings.Contains(err.Error(), address) {
		t.Errorf("error %v, want that nobody listens at %s", err, address)
	}
}

// TestATargetThatClosedAllConnectionsBeforeTheLoad: no attempt to connect has failed.
func TestATargetThatClosedAllConnectionsBeforeTheLoad(t *testing.T) {
	r := newRig(t, "127.0.0.1:1")
	r.prepare()
	l, err := newLoop(r.config)
	testset.Must(t, err)
	defer func() { _ = l.close() }()
	var unreachable *UnreachableError
	if err := l.opened(); !errors.As(err, &unreachable) || unreachable.Own() ||
		!strings.Contains(err.Error(), "127.0.0.1:1: it accepts connections and closes them at once: ") {
		t.Errorf("error %v", err)
	}
}

func TestAServerThatEndsDuringALoad(t *testing.T) {
	listener := listen(t)
	var answered atomic.Int64
	go acceptRaw(listener, func(conn net.Conn) error {
		if answered.Add(1) == 5 {
			_ = listener.Close()
		}
		if answered.Load() >= 5 {
			return resets(conn)
		}
		return sends(fine)(conn)
	})
	results, report := newRig(t, listener.Addr().String()).run()
	ok := results.Count(record.All, record.OK)
	failed := results.Count(record.All, record.Refused) + results.Count(record.All, record.Reset)
	if failed == 0 || ok+failed != 20 || report.Unsent != 0 {
		t.Errorf("%d ok, %d refused or reset, %d unsent, want 20 in all and some refused", ok, failed,
			report.Unsent)
	}
}

func TestALargeBodyTakesNoMemory(t *testing.T) {
	const size = 1 << 30
	piece := make([]byte, 1<<20)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		for range size / len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	r := newRig(t, serve(t, handler))
	r.config.Connections = 1
	r.config.Timeout = time.Minute
	r.open(1)
	r.step().Expect.Body = []string{"\x00"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	results, report := r.run()
	runtime.ReadMemStats(&after)
	want(t, results, map[record.Outcome]int64{record.OK: 1})
	if report.Received < size {
		t.Errorf("%d bytes were received, want at least %d", report.Received, size)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > size/16 {
		t.Errorf("%d bytes were allocated for a body of %d", grown, size)
	}
}

// newUnixRig aims a load at a server behind a Unix socket.
func newUnixRig(t *testing.T, answer func(net.Conn) error) (r *rig, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go acceptRaw(listener, answer)
	r = newRig(t, "127.0.0.1:1")
	r.config.Target = NewUnixTarget(path)
	return r, path
}

// TestConnectingToASocketIsTimed: only the first of the connections was open before the load.
func TestConnectingToASocketIsTimed(t *testing.T) {
	r, _ := newUnixRig(t, sends(fine))
	r.config.KeepAlive = false
	timed := 0
	r.playTapped(func(s *record.Sample) {
		if s.Connected > 0 {
			timed++
		}
	})
	if timed != 19 {
		t.Errorf("the time of connecting is known of %d operations, want 19 of 20", timed)
	}
}

// TestARequestThatDoesNotFitTheSocketIsSentInPieces: a Unix socket takes some
// 200 kB at a time, TCP on loopback all of it.
func TestARequestThatDoesNotFitTheSocketIsSentInPieces(t *testing.T) {
	r, path := newUnixRig(t, sends(fine))
	r.step().Request = "POST /"
	r.step().Body = strings.Repeat("x", 1<<20)
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 20})
	if _, err := os.Stat(path); err != nil || report.Connects != 4 {
		t.Errorf("%d connections, want 4; the socket: %v", report.Connects, err)
	}
}

// TestLimitsOfThisHostAreNotTheTargets: a lack of our own files, ports or memory says nothing about the
// target.
func TestLimitsOfThisHostAreNotTheTargets(t *testing.T) {
	for _, c := range []struct {
		errno unix.Errno
		own   bool
		want  string
	}{
		{unix.EMFILE, true, "too many open files: that is a limit of this process or host, not of the target"},
		{unix.ENFILE, true, "ulimit -n"},
		{unix.EADDRNOTAVAIL, true, "ip_local_port_range"},
		{unix.ENOBUFS, true, "not of the target"},
		{unix.ECONNREFUSED, false, "is the server running"},
	} {
		err := &UnreachableError{Target: "127.0.0.1:80", Cause: os.NewSyscallError("connect", c.errno)}
		if err.Own() != c.own || !strings.Contains(err.Error(), c.want) ||
			c.own == strings.Contains(err.Error(), "is the server running") {
			t.Errorf("%v is reported as %q (own: %v), want %q", c.errno, err, err.Own(), c.want)
		}
	}
}
