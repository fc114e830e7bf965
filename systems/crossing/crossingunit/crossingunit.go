// Package crossingunit is what the units of crossing do: one calls, the other answers with what it
// was sent. It measures nothing but the time from the start signal to the last answer.
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

// textBytes is how long the text is that goes there and back.
const textBytes = 100

// Run plays a unit's part.
func Run(channel *unit.Channel, argument string) error {
	var job crossing.Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	if job.Role == crossing.RoleCallee {
		return answer(channel, job)
	}
	return call(channel, job)
}

// client makes calls; any number of goroutines may at once.
type client interface {
	call(ctx context.Context, text string) (string, error)
	close() error
}

// server answers calls on the listener until close.
type server interface {
	serve(listener net.Listener) error
	close()
}

// call is the caller's part: it leads the trial.
func call(channel *unit.Channel, job crossing.Job) error {
	network, address, err := way(job, func() (string, error) { return unit.PeerAddress(job.To) })
	if err != nil {
		return err
	}
	var c client
	if job.GRPC {
		c, err = dialGRPC(network, address)
	} else {
		c = dialHTTP(network, address, job.Callers)
	}
	if err != nil {
		return err
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
	begin := time.Now()
	right, wrong, err := makeCalls(c, job.Callers, job.Calls)
	if err != nil {
		return err
	}
	if err := channel.Finished(time.Since(begin)); err != nil {
		return err
	}
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	return errors.Join(c.close(), channel.Report(crossing.Account{Right: right, Wrong: wrong, Before: 1 + warm}))
}

// way returns the network and the address at which the callee is called, or listens; tcp returns the address
// over TCP.
func way(job crossing.Job, tcp func() (string, error)) (network, address string, err error) {
	if job.Unix == "" {
		address, err = tcp()
		return "tcp", address, err
	}
	dir, err := unit.Dir()
	return "unix", filepath.Join(dir, job.Unix), err
}

// firstPatience is how long the callee may take to be there, and how long each call over HTTP.
const firstPatience = time.Minute

// warmUp is the number of calls that each caller makes before it is ready: by then the connections are open,
// and both programs have run the code that is measured.
const warmUp = 50

// await makes the first call, as soon as somebody answers.
func await(c client) error {
	ctx, cancel := context.WithTimeout(context.Background(), firstPatience)
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

// makeCalls has several goroutines, the callers, make as many calls each, one after another. It counts the
// calls that gave the text back and those that gave another.
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

// answer is the callee's part.
func answer(channel *unit.Channel, job crossing.Job) error {
	network, address, err := way(job, unit.Address)
	if err != nil {
		return err
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	var served atomic.Int64
	var s server = newHTTP(&served)
	if job.GRPC {
		s = newGRPC(&served)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.serve(listener) }()
	if err := channel.Await(lab.CommandStop); err != nil {
		return err
	}
	s.close()
	if err := <-ended; err != nil {
		return fmt.Errorf("serve on %s: %w", address, err)
	}
	return channel.Report(crossing.Account{Served: served.Load()})
}
