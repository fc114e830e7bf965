package grpcunary

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

// echoDesc describes a service whose one method returns its request. The texts "hang",
// "long" and "fail..." make it wait for the end of the context, answer with too long a message, or fail.
var echoDesc = grpc.ServiceDesc{ServiceName: "cleave.test.Echo", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Say",
		Handler: func(_ any, ctx context.Context, decode func(any) error,
			interceptor grpc.UnaryServerInterceptor) (any, error) {
			in := &wrapperspb.StringValue{}
			if err := decode(in); err != nil {
				return nil, err
			}
			return say(ctx, in)
		},
	}}}

const echoMethod = "/cleave.test.Echo/Say"

func say(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
	switch {
	case in.Value == "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case in.Value == "long":
		return wrapperspb.String(strings.Repeat("x", ourStreamWindow)), nil
	case strings.HasPrefix(in.Value, "fail"):
		return nil, status.Error(codes.FailedPrecondition, in.Value)
	}
	return in, nil
}

// echoServing returns the settings of a server of the echo service.
func echoServing(maxBody int) rpc.Serving {
	return rpc.Serving{MaxBody: maxBody, ProblemOf: func(err error) *rpc.Problem {
		if errors.Is(err, context.DeadlineExceeded) {
			return rpc.Problemf(rpc.DeadlineExceeded, "")
		}
		return rpc.Problemf("conflict", "%s", status.Convert(err).Message())
	}}
}

// asStatus is a client whose errors are gRPC statuses.
type asStatus struct{ *Client }

func (a asStatus) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	err := a.Client.Invoke(ctx, method, in, out, options...)
	if problem, is := errors.AsType[*rpc.Problem](err); is {
		return problem.Status().Err()
	}
	return err
}

// implementation starts servers and clients of this package or of grpc-go.
type implementation struct {
	serve func(t *testing.T, listener net.Listener)
	dial  func(t *testing.T, address string) grpc.ClientConnInterface
}

// ours returns the implementation of this package.
func ours() implementation {
	return implementation{
		func(t *testing.T, listener net.Listener) {
			server := NewServer(echoServing(4 << 20))
			server.RegisterService(&echoDesc, nil)
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
		},
		func(t *testing.T, address string) grpc.ClientConnInterface {
			client, err := NewClient(address, nil, nil)
			testset.Must(t, err)
			t.Cleanup(func() { _ = client.Close() })
			return asStatus{client}
		},
	}
}

// theirs returns the implementation of grpc-go.
func theirs() implementation {
	return implementation{
		func(t *testing.T, listener net.Listener) {
			server := grpc.NewServer()
			server.RegisterService(&echoDesc, struct{}{})
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
		},
		func(t *testing.T, address string) grpc.ClientConnInterface {
			client, err := grpc.NewClient("passthrough:///"+address,
				grpc.WithTransportCredentials(insecure.NewCredentials()))
			testset.Must(t, err)
			t.Cleanup(func() { _ = client.Close() })
			return client
		},
	}
}

// TestInteroperatesWithGRPCGo runs our server with the client of grpc-go and the other way
// round: many calls at once with short and long messages (which need flow control and
// several frames), problems and deadlines.
func TestInteroperatesWithGRPCGo(t *testing.T) {
	for name, pair := range map[string]struct{ server, client implementation }{
		"our server, their client": {ours(), theirs()}, "their server, our client": {theirs(), ours()},
		"both ours": {ours(), ours()},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			testset.Must(t, err)
			pair.server.serve(t, listener)
			client := pair.client.dial(t, listener.Addr().String())
			checkCalls(t, client)
		})
	}
}

// checkCalls makes concurrent calls, and calls that fail.
func checkCalls(t *testing.T, client grpc.ClientConnInterface) {
	ask := func(ctx context.Context, text string) (string, error) {
		out := &wrapperspb.StringValue{}
		err := client.Invoke(ctx, echoMethod, wrapperspb.String(text), out)
		return out.Value, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for n := range 10 {
				text := strings.Repeat("text ", (i+n)*(i+n)*20)
				if got, err := ask(ctx, text); err != nil || got != text {
					t.Errorf("a text of %d bytes: %d bytes, error %v", len(text), len(got), err)
				}
			}
		})
	}
	all.Wait()
	failure := "fail: 100 % ü \n" + strings.Repeat("x", 1000)
	if _, err := ask(ctx, failure); status.Convert(err).Message() != failure {
		t.Errorf("a problem: %v", err)
	}
	short, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if _, err := ask(short, "hang"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call without answer: %v", err)
	}
	if err := client.Invoke(ctx, "/cleave.test.Echo/Sing", wrapperspb.String(""),
		&wrapperspb.StringValue{}); err == nil {
		t.Error("an unknown method was carried out")
	}
}

// TestDataBehindTheEndOfARequestIsAStreamError: the server resets the stream and cancels its call, does not
// carry it out a second time, and serves further calls of the connection (RFC 9113 section 5.1, half-closed).
func TestDataBehindTheEndOfARequestIsAStreamError(t *testing.T) {
	server := NewServer(echoServing(1 << 10))
	var calls atomic.Int32
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "cleave.test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: func(_ any, ctx context.Context,
			decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			if calls.Add(1) == 1 {
				<-ctx.Done()
			}
			in := &wrapperspb.StringValue{}
			return in, decode(in)
		}}}}, nil)
	t.Cleanup(server.Stop)
	near, far := net.Pipe()
	server.enter(far)
	_ = near.SetDeadline(time.Now().Add(5 * time.Second))
	more := framed(frameData, flagEndStream, 1, []byte("more"))
	go func() { _, _ = near.Write(slices.Concat([]byte(preface), request(1), more)) }()
	var reset, answered bool
	for in := make([]byte, 0, 4<<10); !answered; {
		f, taken, err := parseFrame(in)
		testset.Must(t, err)
		if taken == 0 {
			n, err := near.Read(in[len(in):cap(in)])
			if err != nil {
				t.Fatalf("stream 1 reset: %t, and then: %v", reset, err)
			}
			in = in[:len(in)+n]
			continue
		}
		if f.kind == frameReset && f.stream == 1 && binary.BigEndian.Uint32(f.payload) == codeStreamClosed {
			reset = true
			for calls.Load() == 0 { // the handler blocks its first call: that must be stream 1
				time.Sleep(time.Millisecond)
			}
			go func() { _, _ = near.Write(request(3)) }()
		}
		answered = f.kind == frameHeaders && f.stream == 3 && f.has(flagEndStream)
		in = in[:copy(in, in[taken:])]
	}
	if n := calls.Load(); !reset || n != 2 {
		t.Errorf("stream 1 reset: %t, %d calls, want both carried out once", reset, n)
	}
}
