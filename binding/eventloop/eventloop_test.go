//go:build linux

package eventloop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// recorder is a Handler that records its calls and stops the loop when the connection
// is lost.
type recorder struct {
	loop     *Loop
	take     func(c *Conn, data []byte) (int, error) // nil consumes everything
	received []byte
	calls    int
	closed   int
	err      error
}

func (r *recorder) Data(c *Conn, data []byte) (int, error) {
	r.calls++
	if r.take != nil {
		return r.take(c, data)
	}
	r.received = append(r.received, data...)
	return len(data), nil
}

func (r *recorder) Closed(_ *Conn, err error) {
	r.closed++
	r.err = err
	r.loop.Stop()
}

func newLoop(t testing.TB, config Config) *Loop {
	t.Helper()
	loop, err := New(config)
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := loop.Close(); err != nil {
			t.Error(err)
		}
	})
	return loop
}

// serve listens on a free address of the network and returns it.
func serve(t testing.TB, loop *Loop, network string, handler Handler) string {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	listener, err := loop.Listen(network, address, func(*Conn) Handler { return handler })
	testset.Must(t, err)
	if address, err = listener.Address(); err != nil {
		t.Fatal(err)
	}
	return address
}

func dial(t testing.TB, network, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, address)
	testset.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // most tests have closed it
	return conn
}

// echo answers with what it gets.
func echo(c *Conn, data []byte) (int, error) { return len(data), c.Write(data) }

func TestEchoOfMuchData(t *testing.T) {
	for _, test := range []struct {
		network string
		yield   bool
	}{{"tcp", false}, {"unix", false}, {"unix", true}} {
		t.Run(fmt.Sprintf("%s, yield %t", test.network, test.yield), func(t *testing.T) {
			network := test.network
			loop := newLoop(t, Config{Yield: test.yield})
			server := &recorder{loop: loop, take: echo}
			conn := dial(t, network, serve(t, loop, network, server))
			// More than the read buffer and the buffers of a Unix socket hold.
			sent := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
			got := make(chan []byte)
			go func() {
				go func() { _, _ = conn.Write(sent) }() // an error shows in the comparison
				received := make([]byte, len(sent))
				_, _ = io.ReadFull(conn, received)
				_ = conn.Close()
				got <- received
			}()
			testset.Must(t, loop.Run())
			if !bytes.Equal(<-got, sent) {
				t.Error("the echo differs from what was sent")
			}
			if server.closed != 1 || server.err != nil {
				t.Errorf("closed %d times, error %v; want once without", server.closed, server.err)
			}
		})
	}
}

func TestUnconsumedBytesComeAgain(t *testing.T) {
	loop := newLoop(t, Config{})
	var messages []string
	server := &recorder{loop: loop}
	server.take = func(_ *Conn, data []byte) (consumed int, err error) {
		for {
			line, _, complete := bytes.Cut(data[consumed:], []byte{'\n'})
			if !complete {
				return consumed, nil
			}
			messages = append(messages, string(line))
			consumed += len(line) + 1
		}
	}
	conn := dial(t, "unix", serve(t, loop, "unix", server))
	go func() {
		for _, b := range []byte("one\ntwo\nthree\nfour\n") {
			_, _ = conn.Write([]byte{b}) // an error shows in the comparison
		}
		_ = conn.Close()
	}()
	testset.Must(t, loop.Run())
	if got := strings.Join(messages, " "); got != "one two three four" || server.err != nil {
		t.Errorf("messages %q, error %v", got, server.err)
	}
}

func TestLostConnections(t *testing.T) {
	boom := errors.New("boom")
	for _, test := range []struct {
		name string
		take func(*Conn, []byte) (int, error)
		want error
	}{
		{"in between messages", nil, nil},
		{"in the middle of a message", func(*Conn, []byte) (int, error) { return 3, nil }, io.ErrUnexpectedEOF},
		{"by the handler's error", func(*Conn, []byte) (int, error) { return 0, boom }, boom},
		{"by a peer that does not read", func(c *Conn, data []byte) (int, error) {
			for {
				if err := c.Write(make([]byte, 1<<16)); err != nil {
					c.loop.Stop()
					return 0, err
				}
			}
		}, ErrPeerTooSlow},
	} {
		t.Run(test.name, func(t *testing.T) {
			loop := newLoop(t, Config{})
			var handled error
			server := &recorder{loop: loop}
			if test.take != nil {
				server.take = func(c *Conn, data []byte) (n int, err error) {
					n, handled = test.take(c, data)
					return n, handled
				}
			}
			conn := dial(t, "unix", serve(t, loop, "unix", server))
			go func() {
				_, _ = conn.Write(make([]byte, 10)) // an error shows in the loop
				if !errors.Is(test.want, ErrPeerTooSlow) {
					_ = conn.Close()
				}
			}()
			testset.Must(t, loop.Run())
			if err := errors.Join(server.err, handled); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
			if server.closed > 1 {
				t.Errorf("closed %d times", server.closed)
			}
		})
	}
}

func TestFinishDeliversWhatWasWritten(t *testing.T) {
	loop := newLoop(t, Config{})
	answer := bytes.Repeat([]byte("x"), 2<<20) // more than the socket takes at once
	server := &recorder{loop: loop}
	server.take = func(c *Conn, data []byte) (int, error) {
		err := c.Write(answer)
		c.Finish()
		return 0, err // the unread rest of the input must not cut the answer off
	}
	accepted := 0
	address := filepath.Join(t.TempDir(), "s")
	_, err := loop.Listen("unix", address, func(*Conn) Handler {
		if accepted++; accepted == 2 {
			loop.Stop()
		}
		return server
	})
	testset.Must(t, err)
	conn := dial(t, "unix", address)
	got := make(chan int)
	go func() {
		_, _ = io.WriteString(conn, "question and more") // an error shows in the count
		data, _ := io.ReadAll(conn)
		second, err := net.Dial("unix", address) // ends the loop
		if err == nil {
			_ = second.Close()
		}
		got <- len(data)
	}()
	testset.Must(t, loop.Run())
	if n := <-got; n != len(answer) || server.closed != 0 || server.calls != 1 {
		t.Errorf("peer got %d bytes of %d; %d calls of Data and %d of Closed, want 1 and 0", n, len(answer),
			server.calls, server.closed)
	}
}

func TestWriteAfterClose(t *testing.T) {
	loop := newLoop(t, Config{})
	server := &recorder{loop: loop}
	server.take = func(c *Conn, data []byte) (int, error) {
		c.Close()
		if err := c.Write(data); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("write after close: error %v", err)
		}
		loop.Stop()
		return len(data), nil
	}
	conn := dial(t, "tcp", serve(t, loop, "tcp", server))
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	testset.Must(t, loop.Run())
	if server.closed != 0 {
		t.Error("Closed was called after the handler's own Close")
	}
}

func TestFailEndsEveryRun(t *testing.T) {
	loop := newLoop(t, Config{})
	boom := errors.New("boom")
	server := &recorder{loop: loop, take: func(c *Conn, data []byte) (int, error) {
		loop.Fail(boom)
		loop.Fail(errors.New("second"))
		return len(data), nil
	}}
	conn := dial(t, "tcp", serve(t, loop, "tcp", server))
	if _, err := io.WriteString(conn, "x"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := loop.Run(); !errors.Is(err, boom) {
			t.Errorf("error %v, want %v", err, boom)
		}
	}
}

func TestAddresses(t *testing.T) {
	loop := newLoop(t, Config{})
	taken := serve(t, loop, "tcp", &recorder{loop: loop})
	for _, test := range []struct{ network, address, want string }{
		{"tcp", taken, "another address"},
		{"tcp", "localhost:80", "want IP:port"},
		{"tcp", "127.0.0.1", "want IP:port"},
		{"udp", "127.0.0.1:80", "want tcp or unix"},
		{"unix", filepath.Join(t.TempDir(), "missing", "s"), "no such file"},
	} {
		_, err := loop.Listen(test.network, test.address, func(*Conn) Handler { return nil })
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), test.address) && test.network != "udp" {
			t.Errorf("listen on %s %s: error %v, want one with %q", test.network, test.address, err, test.want)
		}
	}
	if _, err := loop.Dial("tcp", "127.0.0.1:1", nil); err == nil ||
		!strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("dial a port without listener: error %v", err)
	}
}

func TestNothingIsAllocatedPerMessage(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		loop := newLoop(t, Config{Dedicated: true})
		address := serve(t, loop, network, &recorder{loop: loop, take: echo})
		client := &recorder{loop: loop, take: func(_ *Conn, data []byte) (int, error) {
			loop.Stop()
			return len(data), nil
		}}
		conn, err := loop.Dial(network, address, client)
		testset.Must(t, err)
		message := []byte("ping")
		roundTrip := func() {
			testset.Must(t, errors.Join(conn.Write(message), loop.Run()))
		}
		roundTrip() // accepts the connection
		if allocations := testing.AllocsPerRun(200, roundTrip); allocations != 0 {
			t.Errorf("%s: %v allocations per round trip", network, allocations)
		}
	}
}

// BenchmarkRoundTrip measures a message and its echo within one loop: the cost of the
// loop and of the kernel, without a process switch.
func BenchmarkRoundTrip(b *testing.B) {
	for _, network := range []string{"tcp", "unix"} {
		b.Run(network, func(b *testing.B) {
			loop := newLoop(b, Config{Dedicated: true})
			address := serve(b, loop, network, &recorder{loop: loop, take: echo})
			left := b.N
			message := []byte("ping")
			client := &recorder{loop: loop, take: func(c *Conn, data []byte) (int, error) {
				if left--; left == 0 {
					loop.Stop()
					return len(data), nil
				}
				return len(data), c.Write(message)
			}}
			conn, err := loop.Dial(network, address, client)
			testset.Must(b, err)
			b.ReportAllocs()
			b.ResetTimer()
			testset.Must(b, errors.Join(conn.Write(message), loop.Run()))
		})
	}
}
