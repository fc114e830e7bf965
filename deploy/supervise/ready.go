package supervise

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// readyPatience bounds the start of a server. RabbitMQ, ready in four seconds on a
	// quiet machine, took over two minutes on one that had ten times its processors' work.
	readyPatience = 5 * time.Minute
	// lookAgain is how often a server that starts is looked at.
	lookAgain = 10 * time.Millisecond
	// lookPatience bounds one look.
	lookPatience = 5 * time.Second
)

// Stages are the units but servers in the order of their start: each stage waits until the
// one before has started, and what says so is ready. First come those that say when they are
// ready, and those whose address for their peers may be known only when they run; last foreign
// ones that call others: such programs look names up once, when they start, and end where one
// is not known yet.
func Stages(units []lab.UnitSpec) [][]lab.UnitSpec {
	stages := make([][]lab.UnitSpec, 3)
	for _, spec := range units {
		stage := 1
		switch {
		case spec.Server != nil:
			continue
		case spec.Ready != nil || spec.Reached != lab.ReachUsual:
			stage = 0
		case spec.Foreign && len(spec.Peers) > 0:
			stage = 2
		}
		stages[stage] = append(stages[stage], spec)
	}
	return slices.DeleteFunc(stages, func(stage []lab.UnitSpec) bool { return len(stage) == 0 })
}

// AwaitVisit repeats a client's visit of a server at an address until it succeeds, the
// server has ended or it has had its time.
func AwaitVisit(ctx context.Context, u *Unit, address string, visit func(ctx context.Context, address string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyPatience, fmt.Errorf("not ready after %v", readyPatience))
	defer cancel()
	var last error
	for {
		err := tryOnce(ctx, address, visit)
		if err == nil {
			u.canBeUsed()
			return nil
		}
		var late net.Error
		if last == nil || !errors.As(err, &late) || !late.Timeout() {
			last = err // not one that only says that the time is over
		}
		select {
		case <-u.Ended:
			how := u.failure
			if how == "" {
				how = "ended at once"
			}
			return fmt.Errorf("%v %s%s", u, how, u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("%v cannot be used at %s: %w (last answer: %w)%s", u, address, context.Cause(ctx), last, u.Log.LastWords())
		case <-time.After(lookAgain):
		}
	}
}

// tryOnce first looks whether the server takes connections at all: some clients wait
// long after they were refused.
func tryOnce(ctx context.Context, address string, visit func(ctx context.Context, address string) error) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return errors.Join(connection.Close(), visit(ctx, address))
}
