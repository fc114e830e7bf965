// Package hostingtest provides what units need in tests and benchmarks instead of a deployer, and checks
// their traces and calls.
package hostingtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/binding/resilient"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// Serve opens units in this process and serves each at a port of its own. open gets the addresses of all
// units, by name. stop ends all units and returns the first error of serving or closing one.
func Serve(
	units []string,
	open func(ctx context.Context, unit string, addresses map[string]string) (hosting.Served, error),
) (addresses map[string]string, stop func() error, err error) {
	listeners := map[string]net.Listener{}
	addresses = map[string]string{}
	closeAll := func(units []string) (err error) {
		for _, name := range units {
			err = errors.Join(err, listeners[name].Close())
		}
		return err
	}
	for i, name := range units {
		if listeners[name], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, nil, errors.Join(err, closeAll(units[:i]))
		}
		addresses[name] = listeners[name].Addr().String()
	}
	ctx, end := context.WithCancel(context.Background())
	var serving errgroup.Group
	stop = func() error {
		end()
		return serving.Wait()
	}
	for i, name := range units {
		u, err := open(ctx, name, addresses)
		if err != nil {
			return nil, nil, errors.Join(err, stop(), closeAll(units[i:]))
		}
		serving.Go(func() error {
			if err := errors.Join(u.Serve(ctx, listeners[name]), u.Close()); err != nil {
				return fmt.Errorf("unit %s: %w", name, err)
			}
			return nil
		})
	}
	return addresses, stop, nil
}

// Identities returns a folder with the identities of units for a value of kit.KnobSecurity.
func Identities(t *testing.T, security string, names ...string) (dir string) {
	t.Helper()
	var units []lab.UnitSpec
	for _, name := range names {
		units = append(units, lab.UnitSpec{Name: name, Role: name})
	}
	dir = t.TempDir()
	err := hosting.Protect(units, security)
	for _, u := range units {
		for name, text := range u.Files {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
	}
	testset.Must(t, err)
	return dir
}

// Output is an io.Writer that collects the output of several units.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// String returns everything that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// OneTrace fails the test unless the ended spans of all units are one complete trace with spans of each unit.
// It returns the name of the span without a parent and, sorted, the calls of components, such as "orders
// Orders/CreateOrder".
func OneTrace(t *testing.T, tracers map[string]*spans.Provider) (first string, calls []string) {
	t.Helper()
	dir := t.TempDir()
	for unit, tracer := range tracers {
		testset.Must(t, tracer.Write(dir, unit))
	}
	all, err := spans.Read(dir)
	testset.Must(t, err)
	units := map[string]bool{}
	ids := map[string]bool{}
	for _, r := range all {
		units[r.Unit] = true
		ids[r.ID.String()] = true
	}
	roots := 0
	for _, r := range all {
		if component := r.Note(lab.ComponentAttribute); component != "" {
			calls = append(calls, component+" "+r.Name)
		}
		switch {
		case r.Trace != all[0].Trace:
			t.Errorf("span %s of %s is in another trace", r.Name, r.Unit)
		case !r.Parent.IsValid():
			first = r.Name
			roots++
		case !ids[r.Parent.String()]:
			t.Errorf("span %s of %s has a parent that is missing", r.Name, r.Unit)
		}
	}
	if roots != 1 || len(units) != len(tracers) {
		t.Errorf("%d of %d spans have no parent; units %v of %d have spans", roots, len(all), units, len(tracers))
	}
	slices.Sort(calls)
	return first, calls
}

// Nobody returns an address at which nobody listens.
func Nobody(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	testset.Must(t, listener.Close())
	return listener.Addr().String()
}

// WantAttempts fails the test unless call, which calls a unit that does not answer, fails after this number
// of attempts. what names the call in the message.
func WantAttempts(t *testing.T, guards *resilient.Guards, what string, attempts int64, call func() error) {
	t.Helper()
	_, before := guards.Counts()
	err := call()
	if _, sent := guards.Counts(); err == nil || sent-before != attempts {
		t.Errorf("%s: %v after %d attempts, want %d", what, err, sent-before, attempts)
	}
}
