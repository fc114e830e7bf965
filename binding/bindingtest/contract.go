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

// answersCome: answers belong to their requests, whose texts may have any characters.
func answersCome(t *testing.T, x *fixture) {
	for _, text := range []string{"", "a", `quoted "text" <&> ` + "\u2028 \x00 \n ü", "b"} {
		x.answers(t, text)
	}
}

// answers calls the service with a text and reports whether the answer is right.
func (x *fixture) answers(t *testing.T, text string) bool {
	t.Helper()
	n, err := x.check(within(t), text)
	if err != nil || n != len(text) {
		t.Errorf("%.200q: answer %d, error %v, want %d", text, n, err, len(text))
		return false
	}
	return true
}

// problemsKeepTheirKind: the caller gets the kind and the detail of the callee's problem.
func problemsKeepTheirKind(t *testing.T, x *fixture) {
	for _, want := range []string{"out-of-stock", "declined", "conflict", rpc.Unavailable, rpc.DeadlineExceeded,
		rpc.Internal, rpc.InvalidArgument, rpc.Cancelled} {
		_, err := x.check(within(t), "fail "+want)
		problem, is := errors.AsType[*rpc.Problem](err)
		if !is || string(problem.Kind) != want || problem.Detail != "as asked" || problem.Cause != nil {
			t.Errorf("%s came back as %v", want, err)
		}
	}
	x.answers(t, "after")
}

// withoutDescriptors: a server that lacks a descriptor for one connection accepts the next.
func withoutDescriptors(t *testing.T, x *fixture) {
	if x.network == "tcp" {
		testset.CallWithoutDescriptors(t, x.address)
	}
	x.answers(t, "after")
}

// unknownErrors: the caller gets no text of an error of the callee that is no problem: it may hold secrets.
func unknownErrors(t *testing.T, x *fixture) {
	_, err := x.check(within(t), "secret")
	if kind(err) != rpc.Internal || strings.Contains(err.Error(), "1234") {
		t.Errorf("%v, want %s without the password", err, rpc.Internal)
	}
}

// deadlines: the callee's context has the caller's deadline, at least up to rpc.MaxTimeout, and ends at it.
func deadlines(t *testing.T, x *fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := x.check(ctx, "deadline"); err != nil {
		t.Fatal(err)
	}
	if left := x.service.left; left > time.Hour || left < time.Hour-stepTimeout {
		t.Errorf("the callee has %v left, want about an hour", left)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().AddDate(1000, 0, 0))
	defer cancel()
	if _, err := x.check(ctx, "deadline"); err != nil || x.service.left < rpc.MaxTimeout-stepTimeout {
		t.Errorf("with a thousand years: %v, and the callee has %v left", err, x.service.left)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second) // long enough for the call to reach the callee
	defer cancel()
	if _, err := x.check(ctx, "hang"); kind(err) != rpc.DeadlineExceeded {
		t.Errorf("a call without answer: %v, want %s", err, rpc.DeadlineExceeded)
	}
	await(t, x.service.cancelled, "the callee goes on after its deadline")
}

// cancellation: when the caller gives up, the callee's context ends. A call with an ended context fails, and
// the callee does not get it.
func cancellation(t *testing.T, x *fixture) {
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-x.service.begun
		cancel()
	}()
	if _, err := x.check(ctx, "hang"); kind(err) != rpc.Cancelled {
		t.Errorf("a call that was given up: %v, want %s", err, rpc.Cancelled)
	}
	await(t, x.service.cancelled, "the callee goes on after its caller gave up")
	x.answers(t, "next") // leaves an idle connection
	for range 10 {
		asked := x.service.asked.Load()
		if _, err := x.check(ctx, "late"); kind(err) != rpc.Cancelled {
			t.Errorf("a call with an ended context: %v, want %s", err, rpc.Cancelled)
		}
		x.answers(t, "after")
		if got := x.service.asked.Load() - asked; got != 1 {
			t.Errorf("the callee got %d calls, want only the one after the call with an ended context", got)
		}
	}
}

// manyAtOnce: concurrent calls of many callers get their own answers.
func manyAtOnce(t *testing.T, x *fixture) {
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

// largeMessages: a message just below the limit is carried, and an answer as large.
func largeMessages(t *testing.T, x *fixture) {
	text := strings.Repeat("long ", MaxBody/5-100)
	x.answers(t, text)
	x.service.listed = text
	answer, err := x.client.List(within(t), &grpc_health_v1.HealthListRequest{})
	if err != nil || answer.GetStatuses()[text] == nil {
		t.Errorf("an answer of %d bytes: %.200v", len(text), err)
	}
}

// tooLarge: a message above the limit is refused, and the client can still make calls.
func tooLarge(t *testing.T, x *fixture) {
	if _, err := x.check(within(t), strings.Repeat("x", MaxBody+1000)); kind(err) != rpc.InvalidArgument {
		t.Errorf("%.200v, want %s", err, rpc.InvalidArgument)
	}
	x.answers(t, "small")
}

// answerTooLarge: an answer above the limits of all clients is an internal problem of the callee. The client
// can still make calls.
func answerTooLarge(t *testing.T, x *fixture) {
	x.service.listed = strings.Repeat("x", 17<<20)
	_, err := x.client.List(within(t), &grpc_health_v1.HealthListRequest{})
	if kind(err) != rpc.Internal || !strings.Contains(err.Error(), "sent an answer of more than ") {
		t.Errorf("%.200v, want %s and the limit", err, rpc.Internal)
	}
	x.answers(t, "small")
}

// unknownMethod: a call of a method that the server does not have is refused.
func unknownMethod(t *testing.T, x *fixture) {
	err := x.calls.Invoke(within(t), "/no.Service/Method", &grpc_health_v1.HealthCheckRequest{},
		&grpc_health_v1.HealthCheckResponse{})
	if kind(err) != rpc.InvalidArgument {
		t.Errorf("%v, want %s", err, rpc.InvalidArgument)
	}
}

// nobodyListens: a callee that accepts no connections is unavailable.
func nobodyListens(t *testing.T, x *fixture) {
	address := x.address + "1" // a file that does not exist
	if x.network == "tcp" {
		listener := x.listen(t, "127.0.0.1:0")
		address = listener.Addr().String()
		testset.Must(t, listener.Close())
	}
	x.client = grpc_health_v1.NewHealthClient(x.Client(t, address, x.secured))
	if _, err := x.check(within(t), "hello"); kind(err) != rpc.Unavailable {
		t.Errorf("%v, want %s", err, rpc.Unavailable)
	}
}

// dyingCallee: a callee that is cut off during a call is unavailable.
func dyingCallee(t *testing.T, x *fixture) {
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

// stopping: a server that shuts down finishes the calls that it has begun, and accepts no others.
func stopping(t *testing.T, x *fixture) {
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

// comesBack: a client calls a server again that was restarted at the same address.
func comesBack(t *testing.T, x *fixture) {
	x.answers(t, "first")
	x.shutDown(t)
	x.restart(t)
}

// shutDown shuts the callee down after its calls are answered.
func (x *fixture) shutDown(t *testing.T) {
	t.Helper()
	testset.Must(t, x.stop(within(t)))
}

// restart starts the callee again at the same address and calls it until it answers.
func (x *fixture) restart(t *testing.T) {
	t.Helper()
	x.serve(t, x.listen(t, strings.TrimPrefix(x.address, "unix:")))
	ctx := within(t)
	for {
		_, err := x.check(ctx, "again")
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("the callee was restarted and does not answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// await fails the test with the complaint if the event does not come within stepTimeout.
func await(t *testing.T, event <-chan struct{}, complaint string) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(stepTimeout):
		t.Error(complaint)
	}
}
