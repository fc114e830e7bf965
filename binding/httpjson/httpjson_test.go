package httpjson

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

func TestContract(t *testing.T) { bindingtest.Run(t, binding) }

var binding = bindingtest.Binding{
	NewServer: func(serving rpc.Serving) (bindingtest.Server, error) { return NewServer(serving) },
	NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
		return NewClient(address, 64, secured, codec), nil
	}}

// TestWhatIsNotACallIsRefused: the server answers with an HTTP error to requests that are invalid, too large,
// or name no method.
func TestWhatIsNotACallIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	stop := binding.Serve(t, listener, func(grpc.ServiceRegistrar) {}, rpc.Serving{})
	defer func() {
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct{ sent, want string }{
		"not HTTP":       {"\x16\x03\x01 hello", "HTTP/1.1 400 "},
		"another method": {"GET /a.B/C HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 400 "},
		"too long":       {"POST /a.B/C HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n", "HTTP/1.1 413 "},
		"endless head":   {"POST /a.B/C HTTP/1.1\r\nHost: " + strings.Repeat("x", 9000), "HTTP/1.1 431 "},
	} {
		connection, err := net.Dial("tcp", listener.Addr().String())
		testset.Must(t, err)
		answer := make([]byte, len(c.want))
		if _, err := connection.Write([]byte(c.sent)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(connection, answer); err != nil || string(answer) != c.want {
			t.Errorf("%s: answered %q, error %v, want %q", name, answer, err, c.want)
		}
		if err := connection.Close(); err != nil {
			t.Error(err)
		}
	}
}

// countingListener counts the connections that it accepts.
type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return connection, err
}

// TestLargeAnswersKeepTheConnection: answers that are larger than the buffers that are kept do not make the
// client dial again.
func TestLargeAnswersKeepTheConnection(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	listener := &countingListener{Listener: tcp}
	large := strings.Repeat("x", 2*keptBytes)
	stop := binding.Serve(t, listener, func(r grpc.ServiceRegistrar) {
		r.RegisterService(&grpc.ServiceDesc{ServiceName: "t", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: "Large",
			Handler: func(_ any, _ context.Context, _ func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return large, nil
			},
		}}}, nil)
	}, rpc.Serving{})
	client := NewClient(tcp.Addr().String(), 1, nil, nil)
	for range 3 {
		var answer string
		if err := client.Invoke(t.Context(), "/t/Large", struct{}{}, &answer); err != nil || answer != large {
			t.Errorf("%d bytes came, want %d, error %v", len(answer), len(large), err)
		}
	}
	if n := listener.accepted.Load(); n != 1 {
		t.Errorf("three calls in turn took %d connections, want 1", n)
	}
	testset.Must(t, errors.Join(client.Close(), stop(t.Context())))
}

// TestACallerThatReadsNothingLosesItsConnection: when unread answers fill the sockets, the server closes the
// connection, so that no handler waits forever.
func TestACallerThatReadsNothingLosesItsConnection(t *testing.T) {
	testset.Need(t, "it takes some 20 s")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	stop := binding.Serve(t, listener, func(grpc.ServiceRegistrar) {}, rpc.Serving{})
	defer func() { _ = stop(t.Context()) }() // not what is tested
	caller, err := net.Dial("tcp", listener.Addr().String())
	testset.Must(t, err)
	defer func() { _ = caller.Close() }()
	// Requests without end, until a write fails: by the server's close, or else at the deadline.
	calls := bytes.Repeat([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 1000)
	_ = caller.SetWriteDeadline(time.Now().Add(3 * accept.AnswerTimeout))
	for err == nil {
		_, err = caller.Write(calls)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server keeps the connection of a caller that reads no answer")
	}
}
