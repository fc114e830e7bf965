package resilient_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/nethttp"
	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/rpc"
)

// callee counts its calls. It is unavailable while down is set, and otherwise answers once held is closed.
type callee struct {
	grpc_health_v1.UnimplementedHealthServer
	asked atomic.Int64
	down  atomic.Bool
	held  chan struct{}
}

func (c *callee) Check(
	ctx context.Context, _ *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	c.asked.Add(1)
	if c.down.Load() {
		return nil, rpc.Problemf(rpc.Unavailable, "down")
	}
	select {
	case <-c.held:
		return &grpc_health_v1.HealthCheckResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func problemOf(err error) *rpc.Problem { return rpc.ProblemOf(err, "down", "broken") }

// start serves a callee and returns it, its guards, and a function that makes a guarded call.
func start(t *testing.T, settings resilient.Settings) (*callee, *resilient.Guards, func() error) {
	t.Helper()
	c := &callee{held: make(chan struct{})}
	server := nethttp.NewServer(rpc.Serving{MaxBody: 1 << 10, ProblemOf: problemOf})
	grpc_health_v1.RegisterHealthServer(server, c)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	guards := resilient.New(settings)
	client := guards.Guard(nethttp.NewClient(listener.Addr().String(), 256, nil, nil))
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Shutdown(context.Background())
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	health := grpc_health_v1.NewHealthClient(client)
	return c, guards, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err
	}
}

// amplification returns the number of attempts per call of 50 concurrent callers whose callee is down.
func amplification(t *testing.T, settings resilient.Settings) float64 {
	c, guards, call := start(t, settings)
	c.down.Store(true)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			for range 4 {
				if err := call(); err == nil {
					t.Error("a callee that is down answers")
				}
			}
		})
	}
	callers.Wait()
	calls, attempts := guards.Counts()
	if c.asked.Load() != attempts || calls != 200 {
		t.Errorf("%d calls, %d attempts, the callee was asked %d times", calls, attempts, c.asked.Load())
	}
	return float64(attempts) / float64(calls)
}

// TestARetryStormIsStopped: callers that retry at once quadruple the load of a callee that is down; a budget
// or a breaker prevents most of it.
func TestARetryStormIsStopped(t *testing.T) {
	if storm := amplification(t, resilient.Settings{Retries: 3}); storm != 4 {
		t.Errorf("retries at once send %.2f attempts for each call, want all 4", storm)
	}
	// A budget begins with the retries of 50 calls (budgetCalls): 10 more retries for the 200 calls here.
	budgeted := amplification(t, resilient.Settings{Retries: 3, Budget: 0.2})
	if budgeted <= 1 || budgeted > 1.3 {
		t.Errorf("retries with a budget send %.2f attempts for each call, want 1.2 and what was saved", budgeted)
	}
	if broken := amplification(t, resilient.Settings{Breaker: true}); broken > 0.8 {
		t.Errorf("a breaker lets %.2f attempts through for each call", broken)
	}
}

// TestRetriesBringAnAnswer: a retry reaches a callee that has come back.
func TestRetriesBringAnAnswer(t *testing.T) {
	c, _, call := start(t, resilient.Settings{Retries: 3, Budget: 0.2})
	close(c.held)
	c.down.Store(true)
	time.AfterFunc(10*time.Millisecond, func() { c.down.Store(false) })
	if err := call(); err != nil || c.asked.Load() < 2 {
		t.Errorf("asked %d times: %v", c.asked.Load(), err)
	}
}

// TestOnlyWhatMayBeRepeatedIsRetried: calls of other methods are sent once; the other guards apply to them
// too.
func TestOnlyWhatMayBeRepeatedIsRetried(t *testing.T) {
	for repeatable, want := range map[bool]float64{true: 4, false: 1} {
		settings := resilient.Settings{Retries: 3, Repeatable: func(method string) bool {
			return repeatable && method == grpc_health_v1.Health_Check_FullMethodName
		}}
		if got := amplification(t, settings); got != want {
			t.Errorf("repeatable %t: %.2f attempts for each call, want %g", repeatable, got, want)
		}
	}
	settings := resilient.Settings{Retries: 3, Breaker: true, Repeatable: func(string) bool { return false }}
	if got := amplification(t, settings); got > 0.8 {
		t.Errorf("a breaker lets %.2f attempts through for each call that may not be repeated", got)
	}
}

// TestWithoutAGuardACallIsOneAttempt: nil Guards send a call once.
func TestWithoutAGuardACallIsOneAttempt(t *testing.T) {
	var none *resilient.Guards
	sent := 0
	err := none.ForUnit().Do(t.Context(), "", func(context.Context) error { sent++; return nil })
	if sent != 1 || err != nil {
		t.Errorf("sent %d times, %v", sent, err)
	}
}

// TestSlowCalleesAreGivenUp: a timeout ends a slow call, and a bulkhead refuses a second call meanwhile.
func TestSlowCalleesAreGivenUp(t *testing.T) {
	c, _, call := start(t, resilient.Settings{Timeout: 50 * time.Millisecond})
	if begun, err := time.Now(), call(); err == nil || time.Since(begun) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	close(c.held)
	if err := call(); err != nil {
		t.Errorf("when it is quick again: %v", err)
	}
	slow, guards, ask := start(t, resilient.Settings{Bulkhead: 1})
	first := make(chan error, 1)
	go func() { first <- ask() }()
	for slow.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := ask(); err == nil {
		t.Error("the bulkhead let two calls through at once")
	}
	close(slow.held)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if calls, attempts := guards.Counts(); calls != 2 || attempts != 1 {
		t.Errorf("%d calls, %d attempts", calls, attempts)
	}
}

// TestRefusalsOfABulkheadAreNoSuccesses: a bulkhead's refusals do not keep the breaker closed while the
// callee is down.
func TestRefusalsOfABulkheadAreNoSuccesses(t *testing.T) {
	c, _, call := start(t, resilient.Settings{Breaker: true, Bulkhead: 1})
	first := make(chan error, 1)
	go func() { first <- call() }()
	for c.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 200 {
		if err := call(); err == nil {
			t.Fatal("the bulkhead let two calls through at once")
		}
	}
	close(c.held)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	c.down.Store(true)
	for range 100 {
		_ = call()
	}
	if asked := c.asked.Load(); asked > 50 {
		t.Errorf("a callee that is down is asked %d times, want the breaker to open after 20", asked)
	}
}
