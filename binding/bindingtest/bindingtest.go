// Package bindingtest tests the contract of all bindings: a call has the same effect
// with each of them. It uses gRPC's health service, whose request has a text and whose
// answer has a number.
package bindingtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Binding is a binding under test.
type Binding struct {
	NewServer func(rpc.Serving) (Server, error)
	// NewClient returns a client of the server at host:port or unix:PATH, over TLS if secured is not nil.
	NewClient func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error)
}

// Server is the interface of the servers of all bindings.
type Server interface {
	grpc.ServiceRegistrar
	Serve(listener net.Listener) error
	Shutdown(ctx context.Context) error
}

// MaxBody is the size limit of messages, in bytes, that servers of Serve have.
const MaxBody = 64 << 10

// Serve serves on the listener in a goroutine. stop shuts the server down and returns the error of Shutdown.
func (b Binding) Serve(
	t *testing.T, listener net.Listener, register func(grpc.ServiceRegistrar), serving rpc.Serving,
) (stop func(context.Context) error) {
	t.Helper()
	serving.MaxBody = MaxBody
	serving.ProblemOf = ProblemOf
	server, err := b.NewServer(serving)
	testset.Must(t, err)
	register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		return err
	}
}

// Client returns a client, which is closed when the test ends.
func (b Binding) Client(t *testing.T, address string, secured *tls.Config) grpc.ClientConnInterface {
	t.Helper()
	client, err := b.NewClient(address, secured, nil)
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// Run tests a binding against the contract, over TCP, over a Unix socket and with mutual TLS.
func Run(t *testing.T, b Binding) {
	t.Run("strangers are refused", func(t *testing.T) { refusesStrangers(t, b) })
	t.Run("every encoding", func(t *testing.T) { encodings(t, b) })
	t.Run("one of three replicas is slow", func(t *testing.T) { balances(t, b) })
	for _, network := range []string{"tcp", "unix", "mtls"} {
		t.Run(network, func(t *testing.T) {
			network := network
			var ofCaller *secure.Transport
			var ofCallee *secure.Transport
			if network == "mtls" {
				network = "tcp"
				ofCaller, ofCallee = identities(t)
			}
			for name, test := range map[string]func(*testing.T, *fixture){
				"an answer comes back":               answersCome,
				"a problem keeps its kind":           problemsKeepTheirKind,
				"unknown errors tell nothing":        unknownErrors,
				"a deadline reaches the callee":      deadlines,
				"giving up cancels the callee":       cancellation,
				"many calls at once":                 manyAtOnce,
				"a large message":                    largeMessages,
				"a message that is too large":        tooLarge,
				"an answer that is too large":        answerTooLarge,
				"an unknown method":                  unknownMethod,
				"nobody listens":                     nobodyListens,
				"a callee that dies":                 dyingCallee,
				"stopping lets calls end":            stopping,
				"a callee that comes back is called": comesBack,
				"a trace goes on in the callee":      tracing,
				"untraced calls carry nothing":       untraced,
				"every call has its line in a log":   logging,
				"a method that panics":               panics,
				"no descriptor is left for a caller": withoutDescriptors,
			} {
				t.Run(name, func(t *testing.T) { test(t, newFixture(t, b, network, ofCaller, ofCallee)) })
			}
		})
	}
}

// fixture is a server and a client of the binding under test.
type fixture struct {
	Binding
	service *service
	address string
	network string
	secured *tls.Config       // of callers
	own     *secure.Transport // of the callee
	stop    func(context.Context) error
	calls   grpc.ClientConnInterface
	client  grpc_health_v1.HealthClient
	traced  *spans.Provider // the server's spans
	log     *requestlog.Log // the server's request log; nil: none
	// logError receives the errors of the server; may be nil.
	logError func(error)
}

// newFixture starts a server and a client. The transports hold the TLS identities of both; nil: no TLS.
func newFixture(t *testing.T, b Binding, network string, ofCaller, ofCallee *secure.Transport) *fixture {
	t.Helper()
	x := &fixture{Binding: b, network: network, secured: ofCaller.Client(callee), own: ofCallee,
		traced:  spans.NewProvider(0),
		service: &service{begun: make(chan struct{}), cancelled: make(chan struct{}), release: make(chan struct{})}}
	listenAt := "127.0.0.1:0"
	if network == "unix" {
		listenAt = t.TempDir() + "/s"
	}
	listener := x.listen(t, listenAt)
	x.address = listener.Addr().String()
	if network == "unix" {
		x.address = "unix:" + listenAt
	}
	x.serve(t, listener)
	x.calls = b.Client(t, x.address, x.secured)
	x.client = grpc_health_v1.NewHealthClient(x.calls)
	return x
}

func (x *fixture) listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen(x.network, address)
	testset.Must(t, err)
	return listener
}

// serve starts the server on a listener; x.stop shuts it down, and so does the end of the test.
func (x *fixture) serve(t *testing.T, listener net.Listener) {
	t.Helper()
	serving := rpc.Serving{Tracer: x.traced, LogError: x.logError}
	if x.log != nil {
		serving.LogCall = x.log.Call
	}
	stop := x.Serve(t, x.own.Listener(listener), func(r grpc.ServiceRegistrar) {
		grpc_health_v1.RegisterHealthServer(r, x.service)
	}, serving)
	var once sync.Once
	x.stop = func(ctx context.Context) (err error) {
		once.Do(func() { err = stop(ctx) })
		return err
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = x.stop(ctx) // the tests of stopping check the error themselves
	})
}

// check calls the service with a text.
func (x *fixture) check(ctx context.Context, text string) (int, error) {
	answer, err := x.client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: text})
	return int(answer.GetStatus()), err
}

// service does what the text of a request asks for (see Check), and answers with its length.
type service struct {
	grpc_health_v1.UnimplementedHealthServer
	begun     chan struct{} // closed by a call "hang" or "wait"
	cancelled chan struct{} // closed when "hang" is cancelled
	release   chan struct{} // "wait" waits until it is closed
	left      time.Duration // the time until the deadline of "deadline"
	listed    string        // the only name in the answer of List
	asked     atomic.Int64  // the number of calls
}

// Check implements grpc_health_v1.HealthServer. Most texts only have a length; "fail KIND" fails with that
// kind, "secret" with an error that holds a password, "panic" with a panic that does; "deadline" records the
// deadline, "work" a span; "hang" waits until the call is cancelled, "wait" until the test releases it.
func (s *service) Check(
	ctx context.Context, request *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	s.asked.Add(1)
	text := request.GetService()
	kind, fails := strings.CutPrefix(text, "fail ")
	switch {
	case fails:
		return nil, rpc.Problemf(rpc.Kind(kind), "as asked")
	case text == "secret":
		return nil, errors.New("password 1234 is wrong")
	case text == "panic":
		panic("password 1234 is wrong")
	case text == "deadline":
		deadline, _ := ctx.Deadline()
		s.left = time.Until(deadline)
	case text == "work":
		spans.RecordUntilNow(ctx, "work", lab.SegmentDatabase, time.Now())
	case text == "hang":
		close(s.begun)
		<-ctx.Done()
		close(s.cancelled)
		return nil, ctx.Err()
	case text == "wait":
		close(s.begun)
		<-s.release
	}
	status := grpc_health_v1.HealthCheckResponse_ServingStatus(len(text))
	return &grpc_health_v1.HealthCheckResponse{Status: status}, nil
}

// List answers with listed.
func (s *service) List(
	context.Context, *grpc_health_v1.HealthListRequest,
) (*grpc_health_v1.HealthListResponse, error) {
	return &grpc_health_v1.HealthListResponse{
		Statuses: map[string]*grpc_health_v1.HealthCheckResponse{s.listed: {}}}, nil
}

// ProblemOf converts the errors of methods to problems.
func ProblemOf(err error) *rpc.Problem {
	return rpc.ProblemOf(err, "something does not answer", "something failed")
}

// kind returns the kind of a problem, or the text of any other error.
func kind(err error) string {
	if problem, is := errors.AsType[*rpc.Problem](err); is {
		return string(problem.Kind)
	}
	return fmt.Sprint(err)
}

// stepTimeout is the longest time that any step of these tests may take.
const stepTimeout = 3 * time.Minute

// within returns a context that ends after stepTimeout, or with the test.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	t.Cleanup(cancel)
	return ctx
}
