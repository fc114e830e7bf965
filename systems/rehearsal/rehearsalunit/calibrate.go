package rehearsalunit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// probes of each kind are sent, with the pauses of the load between them up to longestPause, after some that
	// warm up: a program that falls idle takes more CPU time for the same work.
	probes, warmProbes = 100, 20
	longestPause       = 10 * time.Millisecond
	// Requests of the first probedOperations are measured; those of other operations are taken for their mean.
	probedOperations = 20
)

// calibrate measures the CPU time that this program itself takes for the request of a client, for a call of a
// store that is a unit, and for a commit. The model has all of them in the CPU time of calls.
func (u *Unit) calibrate(ctx context.Context) error {
	if err := u.probeCommits(ctx); err != nil {
		return err
	}
	if u.index == u.design.Front() {
		if err := u.probed(ctx, u.serveNothing, u.probeFront); err != nil {
			return err
		}
	}
	stores := func(c *rehearsal.Call) bool {
		return c.OfStore && (c.Unit == u.index || c.Caller.Unit == u.index)
	}
	if !slices.ContainsFunc(u.design.Calls, stores) {
		return nil
	}
	return u.probed(ctx, func(ctx context.Context, listener net.Listener) error {
		return u.Unit.Serve(ctx, listener)
	}, u.probeStore)
}

// probed serves at an address of loopback while probe runs.
func (u *Unit) probed(ctx context.Context, serve func(context.Context, net.Listener) error,
	probe func(ctx context.Context, address string) error,
) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener) }()
	err = probe(ctx, listener.Addr().String())
	end()
	return errors.Join(err, <-served)
}

// serveNothing serves the interface for clients and plays nothing.
func (u *Unit) serveNothing(ctx context.Context, listener net.Listener) error {
	nothing := func(context.Context, *score) error { return nil }
	return unit.ServeFront(ctx, listener, u.front(nothing), requestTimeout)
}

// probeFront measures the CPU time of a request of each operation: that of the process, without that of the
// thread which sends it.
func (u *Unit) probeFront(_ context.Context, address string) error {
	sum := time.Duration(0)
	for i := range u.frontCPU {
		if i >= probedOperations {
			u.frontCPU[i] = sum / probedOperations
			continue
		}
		var err error
		var whole time.Duration
		sent := onThread(func() { whole, err = u.exchange(address, u.request(i)) })
		if err != nil {
			return err
		}
		u.frontCPU[i] = max(0, whole-sent) / (probes + warmProbes)
		sum += u.frontCPU[i]
	}
	return nil
}

// request returns the request of an operation as bytes.
func (u *Unit) request(operation int) []byte {
	body := rehearsal.Body(u.design.Roots[operation].In)
	return fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", rehearsal.Path(operation), len(body), body)
}

// exchange sends a request again and again on the calling thread alone, and returns the CPU time that the
// process took meanwhile.
func (u *Unit) exchange(address string, request []byte) (time.Duration, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, err
	}
	descriptor, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(descriptor) }() // nothing is on its way
	server := &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	if err := unix.Connect(descriptor, server); err != nil {
		return 0, err
	}
	answer := make([]byte, maxMessage)
	before := clock(unix.CLOCK_PROCESS_CPUTIME_ID)
	for range probes + warmProbes {
		u.rest()
		if _, err := unix.Write(descriptor, request); err != nil {
			return 0, err
		}
		if err := readAnswer(descriptor, answer); err != nil {
			return 0, err
		}
	}
	return clock(unix.CLOCK_PROCESS_CPUTIME_ID) - before, nil
}

// rest makes the pause between two probes. It keeps its thread: a timer of the runtime would take CPU time.
func (u *Unit) rest() {
	if u.pause > 0 {
		pause := unix.NsecToTimespec(int64(u.pause))
		_ = unix.Nanosleep(&pause, nil) // an interrupted pause is as good
	}
}

// probeCommits measures commits to embedded stores, by the number of statements in them: the CPU time of the
// process, without that of the pauses. Drivers work on threads of their own, too.
func (u *Unit) probeCommits(ctx context.Context) error {
	known := map[int]time.Duration{} // by the number of statements; 0: of the pause alone
	for _, s := range u.scores {
		for i := range s.visits {
			v := &s.visits[i]
			if s.Unit != u.index || v.store == nil || v.store.db == nil || v.Commits == 0 {
				continue
			}
			for _, statements := range []int{0, v.perCommit()} {
				if _, probed := known[statements]; probed {
					continue
				}
				took, err := u.metered(func() error { return v.store.commit(ctx, statements) })
				if err != nil {
					return err
				}
				known[statements] = took
			}
			v.commitCPU = max(0, known[v.perCommit()]-known[0])
		}
	}
	return nil
}

// metered returns the CPU time of the process for some work and a pause, in the mean over probes.
func (u *Unit) metered(work func() error) (time.Duration, error) {
	begun := time.Duration(0)
	for i := range probes + warmProbes {
		if i == warmProbes {
			begun = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
		}
		u.rest()
		if err := work(); err != nil {
			return 0, err
		}
	}
	return (clock(unix.CLOCK_PROCESS_CPUTIME_ID) - begun) / probes, nil
}

// readAnswer reads an answer to the end of its JSON object.
func readAnswer(descriptor int, into []byte) error {
	for n := 0; ; {
		more, err := unix.Read(descriptor, into[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || more == 0 {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		if n += more; bytes.HasSuffix(into[:n], []byte("}")) {
			return nil
		}
	}
}

// probeStore measures a call that does nothing. Both sides are in this process: each takes half of the CPU
// time.
func (u *Unit) probeStore(ctx context.Context, address string) (err error) {
	client, err := u.Calls.NewClient(u.Name, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	part, waited, begun := rehearsalpb.CallPart(client), time.Duration(0), time.Duration(0)
	for i := range probes + warmProbes {
		if i == warmProbes {
			begun = clock(unix.CLOCK_PROCESS_CPUTIME_ID)
		}
		u.rest()
		sent := time.Now()
		if _, err := part.Settle(ctx, &rehearsalpb.SettleRequest{}); err != nil {
			return err
		}
		if i >= warmProbes {
			waited += time.Since(sent)
		}
	}
	u.storeCPU = (clock(unix.CLOCK_PROCESS_CPUTIME_ID) - begun) / (2 * probes)
	u.storeWait = waited / probes
	return nil
}
