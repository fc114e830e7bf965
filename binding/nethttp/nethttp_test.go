package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/httpjson"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestContract(t *testing.T) { bindingtest.Run(t, binding) }

// TestInteroperatesWithHTTPJSON tests each end with the other end of httpjson.
func TestInteroperatesWithHTTPJSON(t *testing.T) {
	t.Run("client of httpjson", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{NewServer: binding.NewServer, NewClient: lean.NewClient})
	})
	t.Run("server of httpjson", func(t *testing.T) {
		bindingtest.Run(t, bindingtest.Binding{NewServer: lean.NewServer, NewClient: binding.NewClient})
	})
}

const connections = 64

// The bindings of this package and of httpjson.
var (
	binding = bindingtest.Binding{
		NewServer: func(serving rpc.Serving) (bindingtest.Server, error) { return NewServer(serving), nil },
		NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
			return NewClient(address, connections, secured, codec), nil
		}}
	lean = bindingtest.Binding{
		NewServer: func(serving rpc.Serving) (bindingtest.Server, error) { return httpjson.NewServer(serving) },
		NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
			return httpjson.NewClient(address, connections, secured, codec), nil
		}}
)

// TestLimits: a peer that sends no call, too much or too slowly gets an error, or is cut
// off, in the time and with the memory that the limits allow.
func TestLimits(t *testing.T) {
	const halfABody = "POST /t/Read HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"
	for name, c := range map[string]struct {
		sent string
		want string // the beginning of the answer; empty: the connection ends without one
	}{
		"not HTTP":       {"\x16\x03\x01 hello\r\n\r\n", "HTTP/1.1 400 "},
		"another method": {"GET /a.B/C HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 400 "},
		"endless head": {"POST /a.B/C HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 20_000),
			"HTTP/1.1 431 "},
		"a head that stops": {"POST /a.B/C HTTP/1.1\r\nHos", "HTTP/1.1 400 "},
		"nothing at all":    {"", ""},
		"a body that stops": {halfABody, "HTTP/1.1 400 "},
		"a body that is too big": {"POST /t/Read HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n" +
			strings.Repeat("x", bindingtest.MaxBody+1), "HTTP/1.1 400 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := answerTo(t, binding, c.sent); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("answered %q, want %q", got, c.want)
			}
		})
	}
	// httpjson closes the connection of a slow peer without an answer.
	t.Run("a body that stops, to httpjson", func(t *testing.T) {
		t.Parallel()
		if got := answerTo(t, lean, halfABody); got != "" {
			t.Errorf("answered %q", got)
		}
	})
}

// answerTo sends a text to a server and returns all that it answers until the connection ends.
func answerTo(t *testing.T, b bindingtest.Binding, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	register := func(r grpc.ServiceRegistrar) { r.RegisterService(&reader, nil) }
	stop := b.Serve(t, listener, register, rpc.Serving{})
	defer func() {
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	connection, err := net.Dial("tcp", listener.Addr().String())
	testset.Must(t, err)
	defer func() { _ = connection.Close() }() // the server has closed it before
	testset.Must(t, connection.SetDeadline(time.Now().Add(3*time.Minute)))
	_, err = connection.Write([]byte(text))
	testset.Must(t, err)
	answer, err := io.ReadAll(connection)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		t.Fatal("the connection stays open")
	}
	return string(answer)
}

// TestAnAnswerThatIsTooLongIsNamed: both clients report it as an internal problem of the callee, which is not
// retried.
func TestAnAnswerThatIsTooLongIsNamed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := `"` + strings.Repeat("x", rpc.MaxAnswer) + `"`
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(w, text) // the client may have closed the connection
	}))
	defer server.Close()
	address := server.Listener.Addr().String()
	for name, client := range map[string]rpc.Client{"net/http": NewClient(address, 1, nil, nil),
		"httpjson": httpjson.NewClient(address, 1, nil, nil)} {
		var answer string
		var problem *rpc.Problem
		err := client.Invoke(t.Context(), "/t/Read", struct{}{}, &answer)
		if !errors.As(err, &problem) || problem.Kind != rpc.Internal ||
			!strings.Contains(problem.Detail, "4194304") {
			t.Errorf("%s: %v, want a problem of the callee that names the limit", name, err)
		}
		testset.Must(t, client.Close())
	}
}

// TestAWaitWithoutAConnectionIsTraced: the wait of a call that gets no connection is a span of the call.
func TestAWaitWithoutAConnectionIsTraced(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	address := listener.Addr().String()
	testset.Must(t, listener.Close())
	for name, client := range map[string]rpc.Client{"net/http": NewClient(address, 1, nil, nil),
		"httpjson": httpjson.NewClient(address, 1, nil, nil)} {
		traced := spans.NewProvider(1)
		dir := t.TempDir()
		ctx, entry := spans.Enter(t.Context(), traced, "entry")
		if err := client.Invoke(ctx, "/t/Read", struct{}{}, nil); err == nil {
			t.Errorf("%s: a call to nobody succeeds", name)
		}
		entry.End()
		testset.Must(t, errors.Join(client.Close(), traced.Write(dir, "unit")))
		all, err := spans.Read(dir)
		testset.Must(t, err)
		waits := func(s spans.Record) bool {
			return s.Name == "wait for a connection" && s.Kind == lab.SegmentQueueing
		}
		if !slices.ContainsFunc(all, waits) {
			t.Errorf("%s: no span of the wait in %+v", name, all)
		}
	}
}

// TestEveryAnswerHasALength: no answer is sent in chunks, which httpjson does not read.
func TestEveryAnswerHasALength(t *testing.T) {
	for _, length := range []int{0, buffered, buffered + 1, 100_000} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			write(w, http.StatusOK, "application/json", make([]byte, length))
		}))
		response, err := server.Client().Get(server.URL)
		testset.Must(t, err)
		if response.ContentLength != int64(length) {
			t.Errorf("the length of an answer of %d bytes is %d", length, response.ContentLength)
		}
		testset.Must(t, response.Body.Close())
		server.Close()
	}
}

// reader is a service whose method decodes its request, which may be any JSON.
var reader = grpc.ServiceDesc{ServiceName: "t", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
	MethodName: "Read",
	Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var message any
		return message, decode(&message)
	},
}}}

// watched is a connection of a client that reports if the server closes it.
type watched struct {
	net.Conn
	closed chan<- struct{}
}

func (w watched) Read(into []byte) (int, error) {
	n, err := w.Conn.Read(into)
	if err == io.EOF {
		w.closed <- struct{}{}
	}
	return n, err
}

// TestTheClientClosesUnusedConnections, before the server does, which might be while a call is sent. A second
// call connects while the first one lasts, and then takes the connection of the first, which is free earlier.
func TestTheClientClosesUnusedConnections(t *testing.T) {
	testset.Need(t, "it waits until the server would close a connection")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		_, _ = io.WriteString(w, "{}")
	}))
	server.Config.ReadHeaderTimeout = NewServer(rpc.Serving{}).http.ReadHeaderTimeout
	server.Start()
	defer server.Close()
	client := NewClient(server.Listener.Addr().String(), connections, nil, nil)
	closed := make(chan struct{}, connections)
	dials := make(chan time.Duration, 2)
	dials <- 0
	dials <- 450 * time.Millisecond
	client.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		time.Sleep(<-dials)
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return watched{connection, closed}, err
	}
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			var answer struct{}
			if err := client.Invoke(t.Context(), "/t/Read", struct{}{}, &answer); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	select {
	case <-closed:
		t.Error("the server has closed a connection that the client kept")
	case <-time.After(headTimeout + time.Second):
	}
	testset.Must(t, client.Close())
}
