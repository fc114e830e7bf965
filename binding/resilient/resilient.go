// Package resilient guards calls against callees that are slow or unavailable: with a timeout, retries, a
// circuit breaker and a bulkhead. The last three are those of failsafe-go; the retry budget is our own. It
// counts the calls of callers and the attempts that are sent for them.
//
// Entry points: New; Guard for a client of a binding, ForUnit for others.
package resilient

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// Settings choose the guards of calls. The zero value chooses none.
type Settings struct {
	Timeout time.Duration // of one attempt
	Retries int           // attempts after the first one
	// Budget is the number of retries per call on average, such as 0.2. Retries then wait with a random,
	// exponential backoff. 0: retries follow at once, without a budget.
	Budget   float64
	Breaker  bool // opens for a second when half of the calls of the last seconds have failed
	Bulkhead uint // concurrent calls to one unit; more are refused; 0: no limit
	// Repeatable reports whether a call of a method may be carried out twice; only such calls are retried. nil:
	// all calls are retried.
	Repeatable func(method string) bool
}

const (
	// Pauses before retries with a budget.
	firstPause, longestPause = 20 * time.Millisecond, 500 * time.Millisecond
	jitter                   = 0.5
	// A breaker opens when this share of at least tripsAfter calls within tripsWithin has failed.
	tripsAt, tripsAfter = 0.5, 20
	tripsWithin         = 5 * time.Second
	staysOpen           = time.Second
	probes              = 5 // calls that must succeed before it closes
)

// Guards creates a guard for each unit that is called, and counts the calls of all. A nil Guards guards
// nothing.
type Guards struct {
	settings        Settings
	calls, attempts atomic.Int64
}

// New returns guards with these settings.
func New(settings Settings) *Guards { return &Guards{settings: settings} }

// Counts returns the number of calls so far, and of the attempts that were sent for them.
func (g *Guards) Counts() (calls, attempts int64) {
	if g == nil {
		return 0, 0
	}
	return g.calls.Load(), g.attempts.Load()
}

// Guard returns a guarded client of a unit; nil Guards return the client itself.
func (g *Guards) Guard(client rpc.Client) rpc.Client {
	if g == nil {
		return client
	}
	return guarded{client, g.ForUnit()}
}

// Guard guards the calls to one unit. A nil Guard guards none.
type Guard struct {
	guards *Guards
	// once applies all policies except retries, and retrying applies retries too. nil: no policies.
	once, retrying failsafe.Executor[any]
	budget         *budget // nil: retries without a budget
}

// ForUnit returns a new guard of the calls to one unit; nil Guards return nil.
func (g *Guards) ForUnit() *Guard {
	if g == nil {
		return nil
	}
	guard := &Guard{guards: g}
	var policies []failsafe.Policy[any]
	failed := func(_ any, err error) bool { return hasFailed(err) }
	// The bulkhead is outside of the breaker, which would count the bulkhead's refusals as successes.
	if g.settings.Bulkhead > 0 {
		policies = append(policies, bulkhead.New[any](g.settings.Bulkhead))
	}
	if g.settings.Breaker {
		policies = append(policies, circuitbreaker.NewBuilder[any]().HandleIf(failed).
			WithFailureRateThreshold(tripsAt, tripsAfter, tripsWithin).WithDelay(staysOpen).
			WithSuccessThreshold(probes).Build())
	}
	if len(policies) > 0 {
		guard.once = failsafe.With(policies...)
	}
	guard.retrying = guard.once
	if s := g.settings; s.Retries > 0 {
		retries := retrypolicy.NewBuilder[any]().HandleIf(failed).WithMaxRetries(s.Retries).ReturnLastFailure()
		if s.Budget > 0 {
			guard.budget = newBudget(s.Budget)
			// AbortIf is also asked after the last attempt. Then no retry follows: it is refunded.
			retries = retries.WithBackoff(firstPause, longestPause).WithJitterFactor(jitter).
				AbortIf(func(any, error) bool { return !guard.budget.take() }).
				OnRetriesExceeded(func(failsafe.ExecutionEvent[any]) { guard.budget.add(1) })
		}
		guard.retrying = failsafe.With(append([]failsafe.Policy[any]{retries.Build()}, policies...)...)
	}
	return guard
}

// Do makes a guarded call of a method. attempt sends it once; Do may call it several times.
func (g *Guard) Do(ctx context.Context, method string, attempt func(context.Context) error) error {
	if g == nil {
		return attempt(ctx)
	}
	g.guards.calls.Add(1)
	executor := g.retrying
	if repeatable := g.guards.settings.Repeatable; repeatable != nil && !repeatable(method) {
		executor = g.once
	}
	if executor == nil {
		return g.attempt(ctx, attempt)
	}
	g.budget.add(g.guards.settings.Budget)
	var failed error // of the last attempt that was sent
	sent := false    // there was an attempt
	late := false    // the context ended during the last one
	err := executor.WithContext(ctx).Run(func() error {
		sent = true
		failed = g.attempt(ctx, attempt)
		late = ctx.Err() != nil
		return failed
	})
	switch refused := errors.Is(err, circuitbreaker.ErrOpen) || errors.Is(err, bulkhead.ErrFull); {
	// Run returns the context's error if it ends during the attempt or right after it, even after a success.
	case late, sent && failed == nil:
		return failed
	case refused && failed != nil: // only a retry was not sent: the call may have been carried out
		g.budget.add(1)
		return failed
	case failed != nil && !errors.Is(err, failed): // the context ended in the pause before a retry
		g.budget.add(1)
	case refused:
		return &rpc.Problem{Kind: rpc.Unavailable,
			Detail: "not sent: too many calls have failed or are in progress", Cause: err}
	}
	return err
}

// attempt sends a call once.
func (g *Guard) attempt(ctx context.Context, send func(context.Context) error) error {
	g.guards.attempts.Add(1)
	if timeout := g.guards.settings.Timeout; timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	return send(ctx)
}

// hasFailed reports whether an error means that the callee is slow or unavailable. Other errors are answers.
func hasFailed(err error) bool {
	problem, is := errors.AsType[*rpc.Problem](err)
	if !is {
		return false
	}
	return problem.Kind == rpc.Unavailable || problem.Kind == rpc.DeadlineExceeded
}

// guarded is a client with a guard.
type guarded struct {
	rpc.Client
	guard *Guard
}

// Invoke implements grpc.ClientConnInterface.
func (c guarded) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	return c.guard.Do(ctx, method, func(ctx context.Context) error {
		return c.Client.Invoke(ctx, method, in, out, options...)
	})
}
