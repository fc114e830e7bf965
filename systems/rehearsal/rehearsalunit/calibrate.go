package rehearsalunit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/systems/rehearsal"
	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// probes are sent to all entries of a unit together, but at least fewProbes to each, with the pauses of the
	// load between them, up to longestPause: a program that falls idle takes more CPU time for the same work.
	// Each entry gets warmProbes more first, which are not measured.
	probes, fewProbes, warmProbes = 100, 20, 5
	longestPause                  = 10 * time.Millisecond
	// The first probedEntries of each kind, operations and calls of other units, are measured. The others count
	// as their mean: a unit has to begin in seconds.
	probedEntries = 20
	// probeWait bounds waits while probes are sent.
	probeWait = time.Millisecond
)

// calibrate measures the CPU time that this program itself takes when a client or another unit calls it,
// without burning and the transport between units, and for a call of a store that is a unit. The model has
// all of it in the CPU time of calls.
func (u *Unit) calibrate(ctx context.Context) error {
	var entries []*preparedCall
	for _, p := range u.calls {
		if p.Unit == u.index && p.Caller != nil && p.Caller.Unit != u.index && !p.OfStore {
			entries = append(entries, p)
		}
	}
	few := min(probedEntries, len(entries))
	u.each = max(fewProbes, probes/max(1, few))
	u.probing = true
	defer func() {
		u.finish()
		u.probing = false
	}()
	if u.index == u.design.Front() {
		u.each = max(fewProbes, probes/(min(probedEntries, len(u.design.Roots))+few))
		if err := u.probed(ctx, u.serveProbes, u.probeFront); err != nil {
			return err
		}
	}
	if err := u.probeEntries(ctx, entries); err != nil {
		return err
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

// probeEntries measures the CPU time of calls by other units.
func (u *Unit) probeEntries(ctx context.Context, entries []*preparedCall) error {
	if len(entries) == 0 {
		return nil
	}
	idle, _, err := u.metered(func() error { return nil })
	if err != nil {
		return err
	}
	sum := time.Duration(0)
	for i, p := range entries {
		own := sum / probedEntries
		if i < probedEntries {
			took, _, err := u.metered(func() error { return u.play(ctx, p) })
			if err != nil {
				return err
			}
			own = max(0, took-idle)
			sum += own
		}
		u.leaveOut(p, own)
	}
	return nil
}

// leaveOut takes CPU time off the calls of an entry in this unit, in proportion to their own.
func (u *Unit) leaveOut(entry *preparedCall, own time.Duration) {
	var sum func(c *rehearsal.Call) float64
	sum = func(c *rehearsal.Call) float64 {
		all := c.CPU.Seconds() + c.Background.Seconds()
		for _, called := range c.Calls {
			if called.Unit == u.index && !called.OfStore {
				all += called.Count * sum(called)
			}
		}
		return all
	}
	whole := sum(entry.Call)
	if whole == 0 {
		return
	}
	var scale func(c *rehearsal.Call)
	scale = func(c *rehearsal.Call) {
		u.calls[c.Number].share = max(0, 1-own.Seconds()/whole)
		for _, called := range c.Calls {
			if called.Unit == u.index && !called.OfStore {
				scale(called)
			}
		}
	}
	scale(entry.Call)
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

// serveProbes serves the interface for clients, without a limit of workers.
func (u *Unit) serveProbes(ctx context.Context, listener net.Listener) error {
	return unit.ServeFront(ctx, listener, u.front(u.play), requestTimeout)
}

// probeFront measures the CPU time of a request of each operation: that of the process, without that of the
// thread which sends it.
func (u *Unit) probeFront(_ context.Context, address string) error {
	sum := time.Duration(0)
	for i, root := range u.design.Roots {
		u.frontCPU[i] = sum / probedEntries
		if i < probedEntries {
			var err error
			if u.frontCPU[i], err = u.exchange(address, u.request(i)); err != nil {
				return err
			}
			sum += u.frontCPU[i]
		}
		u.leaveOut(u.calls[root.Number], u.frontCPU[i])
	}
	return nil
}

// request returns the request of an operation as bytes.
func (u *Unit) request(operation int) []byte {
	body := rehearsal.Body(u.design.Roots[operation].In)
	return fmt.Appendf(nil, "PUT %s HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", rehearsal.Path(operation), len(body), body)
}

// exchange sends a request again and again on one thread, and returns the CPU time that the rest of the
// process took for one.
func (u *Unit) exchange(address string, request []byte) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, err
	}
	descriptor, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(descriptor) }() // nothing is on its way
	patience := unix.NsecToTimeval(requestTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(descriptor, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		return 0, err
	}
	server := &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	if err := unix.Connect(descriptor, server); err != nil {
		return 0, err
	}
	answer := make([]byte, maxMessage)
	process, sender, err := u.metered(func() error {
		if _, err := unix.Write(descriptor, request); err != nil {
			return err
		}
		return readAnswer(descriptor, answer)
	})
	return max(0, process-sender), err
}

// rest pauses between two probes. It keeps its thread: a timer of the runtime would take CPU time.
func (u *Unit) rest() {
	if u.pause > 0 {
		pause := unix.NsecToTimespec(int64(u.pause))
		_ = unix.Nanosleep(&pause, nil) // an interrupted pause is as good
	}
}

// metered returns the CPU time of the process for some work and a pause, in the mean over probes, and that of
// the calling thread alone, if the caller keeps it.
func (u *Unit) metered(work func() error) (process, thread time.Duration, err error) {
	for i := range u.each + warmProbes {
		if i == warmProbes {
			process, thread = -clock(unix.CLOCK_PROCESS_CPUTIME_ID), -clock(unix.CLOCK_THREAD_CPUTIME_ID)
		}
		u.rest()
		if err := work(); err != nil {
			return 0, 0, err
		}
	}
	process, thread = process+clock(unix.CLOCK_PROCESS_CPUTIME_ID), thread+clock(unix.CLOCK_THREAD_CPUTIME_ID)
	return process / time.Duration(u.each), thread / time.Duration(u.each), nil
}

// answered begins every answer that is no refusal.
var answered = []byte("HTTP/1.1 200 ")

// readAnswer reads an answer to the end of its JSON object. A refusal is an error: it does not show what the
// request takes. Its end, which may be that of a plain text, is not waited for.
func readAnswer(descriptor int, into []byte) error {
	for n := 0; ; {
		more, err := unix.Read(descriptor, into[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || more == 0 {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
		n += more
		if begun := min(n, len(answered)); !bytes.Equal(into[:begun], answered[:begun]) {
			return fmt.Errorf("a probe was answered %.200q", into[:n])
		}
		if bytes.HasSuffix(into[:n], []byte("}")) {
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
