// Package crossingunit runs the units of crossing: the caller, and the callee, which answers with the text
// that it gets. It measures only the time from the start signal to the last answer.
//
// Entry point: Run.
package crossingunit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/crossing"
	"github.com/cleave-lab/cleave/unit"
)

// textBytes is the length of the text of a call.
const textBytes = 100

// Run runs the unit of a job, given as JSON.
func Run(channel *unit.Channel, argument string) error {
	var job crossing.Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	if job.Role == crossing.RoleCallee {
		return runCallee(channel, job)
	}
	return runCaller(channel, job)
}

// client makes calls. Its functions are safe for concurrent use.
type client struct {
	// call sends a text and returns the text of the answer.
	call  func(ctx context.Context, text string) (string, error)
	close func() error
}

// runCaller runs the caller. It is the lead unit of the trial.
func runCaller(channel *unit.Channel, job crossing.Job) error {
	address, err := addressOf(job, func() (string, error) { return unit.PeerAddress(job.To) })
	if err != nil {
		return err
	}
	c := dialHTTP(address, job.Callers)
	if job.GRPC {
		if c, err = dialGRPC(address); err != nil {
			return err
		}
	}
	if err := await(c); err != nil {
		return fmt.Errorf("call %s: %w", address, err)
	}
	warm, wrong, err := makeCalls(c, job.Callers, warmUp)
	if err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if wrong > 0 {
		return fmt.Errorf("warm up: %d of %d calls brought another text back", wrong, warm+wrong)
	}
	if err := channel.Ready(); err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStart); err != nil {
		return err
	}
	account := crossing.Account{Before: 1 + warm}
	profile, err := unit.Profiled(func() (err error) {
		begin := time.Now()
		if account.Right, account.Wrong, err = makeCalls(c, job.Callers, job.Calls); err != nil {
			return err
		}
		return channel.Finished(time.Since(begin))
	})
	if err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	return errors.Join(c.close(), channel.ReportWithProfile(profile, account))
}

// addressOf returns the address at which the callee listens or is called: host:port, which tcp returns, or
// unix:PATH.
func addressOf(job crossing.Job, tcp func() (string, error)) (string, error) {
	if job.Unix == "" {
		return tcp()
	}
	dir, err := unit.Dir()
	return "unix:" + filepath.Join(dir, job.Unix), err
}

// callTimeout limits the wait for the callee to start, and each call.
const callTimeout = time.Minute

// warmUp is the number of calls that each caller makes before the start signal, so that connections are open
// and both programs have run the measured code.
const warmUp = 50

// await makes one call, which it repeats until the callee answers.
func await(c client) error {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	for {
		_, err := c.call(ctx, "first")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// makeCalls makes calls from concurrent callers, each of which makes a number of calls in turn. right is the
// number of calls that returned the text they had sent, wrong the number of those that returned another text.
func makeCalls(c client, callers, each int) (right, wrong int64, err error) {
	var rights, wrongs atomic.Int64
	failed := make([]error, callers)
	var all sync.WaitGroup
	for n := range callers {
		text := strings.Repeat(string(rune('a'+n%26)), textBytes)
		all.Go(func() {
			for range each {
				got, err := c.call(context.Background(), text)
				if err != nil {
					failed[n] = err
					return
				}
				if got == text {
					rights.Add(1)
				} else {
					wrongs.Add(1)
				}
			}
		})
	}
	all.Wait()
	return rights.Load(), wrongs.Load(), errors.Join(failed...)
}

// runCallee runs the callee, until the conductor stops it.
func runCallee(channel *unit.Channel, job crossing.Job) error {
	address, err := addressOf(job, unit.Address)
	if err != nil {
		return err
	}
	var served atomic.Int64
	serve := serveHTTP
	if job.GRPC {
		serve = serveGRPC
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	return channel.Serve(ctx, stop, address, func(ctx context.Context, listener net.Listener) error {
		return serve(ctx, listener, &served)
	}, func(channel *unit.Channel) error { return channel.Report(crossing.Account{Served: served.Load()}) })
}
