package bindingtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

func answers(t *testing.T, x *bench) {
	for _, text := range []string{"", "a", `quoted "text" <&> ` + "\u2028 \x00 \n ü", "b"} {
		x.answers(t, text)
	}
}

// answers calls the service with a text and reports whether the answer is right.
func (x *bench) answers(t *testing.T, text string) bool {
	t.Helper()
	n, err := x.check(within(t), text)
	if err != nil || n != len(text) {
		t.Errorf("%.200q: answer %d, error %v, want %d", text, n, err, len(text))
		return false
	}
	return true
}

func faultsKeepTheirKind(t *testing.T, x *bench) {
	for _, want := range []string{"out-of-stock", "declined", "conflict", rpc.Unavailable, rpc.DeadlineExceeded,
		rpc.Internal, rpc.InvalidArgument, rpc.Cancelled} {
		_, err := x.check(within(t), "fail "+want)
		var fault *kindError
		if !errors.As(err, &fault) || fault.Kind != want || fault.Detail != "as asked" || fault.cause != nil {
			t.Errorf("%s came back as %v", want, err)
		}
	}
	x.answers(t, "after")
}

// withoutDescriptors: a server that lacks a descriptor for one connection accepts the next.
func withoutDescriptors(t *testing.T, x *bench) {
	if x.network == "tcp" {
		testset.CallWithoutDescriptors(t, x.address)
	}
	x.answers(t, "after")
}

func unknownErrors(t *testing.T, x *bench) {
	_, err := x.check(within(t), "secret")
	if kind(err) != rpc.Internal || strings.Contains(err.Error(), "1234") {
		t.Errorf("the caller learns: %v", err)
	}
}

func deadlines(t *testing.T, x *bench) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := x.check(ctx, "deadline"); err != nil {
		t.Fatal(err)
	}
	if left := x.service.left; left > time.Hour || left < time.Hour-patience {
		t.Errorf("the callee has %v left, want about an hour", left)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second) // long enough for the call to reach the callee
	defer cancel()
	if _, err := x.check(ctx, "hang"); kind(err) != rpc.DeadlineExceeded {
		t.Errorf("a call without answer: %v, want %s", err, rpc.DeadlineExceeded)
	}
	await(t, x.service.cancelled, "the callee goes on after its deadline")
}

func cancellation(t *testing.T, x *bench) {
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-x.service.begun
		cancel()
	}()
	if _, err := x.check(ctx, "hang"); kind(err) != rpc.Cancelled {
		t.Errorf("a call that was given up: %v, want %s", err, rpc.Cancelled)
	}
	await(t, x.service.cancelled, "the callee goes on after its caller gave up")
	if _, err := x.check(ctx, "late"); kind(err) != rpc.Cancelled {
		t.Errorf("a call with an ended context: %v, want %s", err, rpc.Cancelled)
	}
	x.answers(t, "next")
}

func manyAtOnce(t *testing.T, x *bench) {
	const callers, calls = 50, 40
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for call := range calls {
				if !x.answers(t, strings.Repeat("x", caller*calls+call)) {
					return
				}
			}
		})
	}
	all.Wait()
}

func largeMessages(t *testing.T, x *bench) {
	x.answers(t, strings.Repeat("long ", MaxBody/5-100))
}

func tooLarge(t *testing.T, x *bench) {
	if _, err := x.check(within(t), strings.Repeat("x", MaxBody+1000)); kind(err) != rpc.InvalidArgument {
		t.Errorf("%.200v, want %s", err, rpc.InvalidArgument)
	}
	x.answers(t, "small")
}

func unknownMethod(t *testing.T, x *bench) {
	err := x.calls.Invoke(within(t), "/no.Service/Method", &grpc_health_v1.HealthCheckRequest{},
		&grpc_health_v1.HealthCheckResponse{})
	if kind(err) != rpc.InvalidArgument {
		t.Errorf("%v, want %s", err, rpc.InvalidArgument)
	}
}

func nobodyListens(t *testing.T, x *bench) {
	address := x.address + "1" // a file that does not exist
	if x.network == "tcp" {
		listener := x.listen(t, "127.0.0.1:0")
		address = listener.Addr().String()
		Must(t, listener.Close())
	}
	x.client = grpc_health_v1.NewHealthClient(x.Client(t, address, faults{}, x.secured))
	if _, err := x.check(within(t), "hello"); kind(err) != rpc.Unavailable {
		t.Errorf("%v, want %s", err, rpc.Unavailable)
	}
}

// dyingCallee stops the callee during a call.
func dyingCallee(t *testing.T, x *bench) {
	go func() {
		<-x.service.begun
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = x.stop(ctx) // it fails because a call still runs, as intended
	}()
	_, err := x.check(within(t), "hang")
	if k := kind(err); k != rpc.Unavailable {
		t.Errorf("%v, want %s", err, rpc.Unavailable)
	}
}

func stopping(t *testing.T, x *bench) {
	result := make(chan error, 1)
	go func() {
		_, err := x.check(within(t), "wait")
		result <- err
	}()
	await(t, x.service.begun, "the call does not begin")
	stopped := make(chan error, 1)
	go func() { stopped <- x.stop(within(t)) }()
	time.AfterFunc(50*time.Millisecond, func() { close(x.service.release) })
	if err := <-result; err != nil {
		t.Errorf("the call that was being answered: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := x.check(within(t), "late"); kind(err) != rpc.Unavailable {
		t.Errorf("a call after the end: %v, want %s", err, rpc.Unavailable)
	}
}

func comesBack(t *testing.T, x *bench) {
	x.answers(t, "first")
	x.end(t)
	x.begin(t)
}

// end shuts the callee down after its calls are answered.
func (x *bench) end(t *testing.T) {
	t.Helper()
	Must(t, x.stop(within(t)))
}

// begin restarts the callee at the same address and calls it until it answers.
func (x *bench) begin(t *testing.T) {
	t.Helper()
	x.serve(t, x.listen(t, strings.TrimPrefix(x.address, "unix:")))
	ctx := within(t)
	for {
		_, err := x.check(ctx, "again")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the callee is back and is not called: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func await(t *testing.T, event <-chan struct{}, complaint string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(patience):
		t.Error(complaint)
	}
}
