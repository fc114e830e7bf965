package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/launch"
)

// Instance is one running server. Its methods may be called from several
// goroutines, but one at a time takes effect.
type Instance struct {
	Kind    Kind
	Version string // what the program says of itself
	// StandIn is the program that runs in the place of the one that Kind names;
	// empty for the real thing. Every output that names the server must name it.
	StandIn string

	dir      string
	settings Settings
	program  program
	path     string // of the program's executable
	user     string
	password string
	// ports are reserved until the instance ends, also while the server is down.
	// None of the servers uses their UDP sockets.
	ports *launch.Ports

	mu       sync.Mutex
	launcher *launch.Launcher
	running  []*started
	died     chan error // one: how the server ended when nobody had asked it to
}

// errPortTaken is a start that failed because somebody else has the port.
var errPortTaken = errors.New("the port is taken by another program")

// stopSignal asks a server to end in good order.
type stopSignal = syscall.Signal

const (
	// stopWithin is how long a server may take for its graceful end.
	stopWithin = 30 * time.Second
	// pollEvery is how often a starting or ending server is looked at.
	pollEvery = 10 * time.Millisecond
	// attemptWithin bounds one look whether a server is ready.
	attemptWithin = 5 * time.Second
)

// begin chooses ports and credentials, makes the files and starts the server.
func (i *Instance) begin(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.launcher = launch.NewLauncher()
	var err error
	i.ports, err = launch.ReservePorts(i.program.ports)
	if err == nil {
		err = i.loadCredentials()
	}
	if err == nil {
		err = i.launch(ctx)
	}
	if err != nil {
		return errors.Join(err, i.end(syscall.SIGKILL))
	}
	return nil
}

// launch starts the processes and waits until a client can work.
func (i *Instance) launch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := i.program.prepare(ctx, i); err != nil {
		return err
	}
	for _, p := range i.program.processes(i) {
		s, err := i.start(p)
		if err != nil {
			return err
		}
		i.running = append(i.running, s)
	}
	if err := i.awaitReady(ctx); err != nil {
		return err
	}
	go i.watch(i.running[len(i.running)-1])
	return nil
}

// watch waits for the end of the server, and tells the first that nobody asked for.
func (i *Instance) watch(main *started) {
	<-main.ended
	if main.doomed.Load() {
		return
	}
	select {
	case i.died <- fmt.Errorf("%s ended: %w; the end of its log: %s", i.Kind, main.outcome, lastLines(main.log, 5)):
	default:
	}
}

// Died returns a channel that gets how the server ended, with the end of its log, when
// that was after it was ready and not by Kill, Restart, Reset or Stop.
func (i *Instance) Died() <-chan error { return i.died }

// awaitReady asks again and again until the server answers or has ended.
func (i *Instance) awaitReady(ctx context.Context) error {
	main := i.running[len(i.running)-1]
	var last error
	for {
		err := i.tryOnce(ctx, i.program.ready)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err // not one that only says that the time is over
		}
		select {
		case <-main.ended:
			return i.explain(main)
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w (last answer: %w; its log: %s)", context.Cause(ctx), last, main.log)
		case <-time.After(pollEvery):
		}
	}
}

// tryOnce does a client's work. It first looks whether the server takes
// connections at all: some clients wait long after they were refused.
func (i *Instance) tryOnce(ctx context.Context, work func(context.Context, *Instance) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptWithin)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp4", i.Address())
	if err != nil {
		return err
	}
	_ = connection.Close() // nothing was sent
	return work(ctx, i)
}

// explain says why the server ended before it was ready.
func (i *Instance) explain(main *started) error {
	last := lastLines(main.log, 5)
	if slices.ContainsFunc(i.ports.Numbers, func(port int) bool { return !launch.PortIsFree(port) }) {
		return fmt.Errorf("%w: %s", errPortTaken, last)
	}
	return fmt.Errorf("it ended at once (%w), its log %s says: %s", main.outcome, main.log, last)
}

// Address is where clients connect: a loopback address and a port below 32768.
func (i *Instance) Address() string { return i.address(0) }

// address is that of the n-th port.
func (i *Instance) address(n int) string {
	return launch.Loopback(i.ports.Numbers[n])
}

// file is a path in the instance's folder.
func (i *Instance) file(name string) string { return filepath.Join(i.dir, name) }

// PIDs lists the processes of the instance, children included, as they are now.
func (i *Instance) PIDs() []int {
	i.mu.Lock()
	defer i.mu.Unlock()
	var pids []int
	for _, p := range i.family() {
		pids = append(pids, p.pid)
	}
	return pids
}

// serverPID is the process of the server itself, which is started last.
func (i *Instance) serverPID() (pid int, runs bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.running) == 0 {
		return 0, false
	}
	return i.running[len(i.running)-1].command.Process.Pid, true
}

// Running reports whether the server itself has not ended.
func (i *Instance) Running() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.running) == 0 {
		return false
	}
	select {
	case <-i.running[len(i.running)-1].ended:
		return false
	default:
		return true
	}
}

// Kill ends the instance as a crash would (kill -9). The data stay; Restart
// brings it back.
func (i *Instance) Kill() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.halt(syscall.SIGKILL)
}

// Restart starts an instance again that was killed or crashed, with the same
// address, credentials and data. One that still runs is stopped in good order
// first.
func (i *Instance) Restart(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.restart(ctx, i.program.stop)
}

func (i *Instance) restart(ctx context.Context, how syscall.Signal) error {
	if i.launcher == nil {
		return fmt.Errorf("restart %s: it was stopped; start a new instance in %s", i.Kind, i.dir)
	}
	if err := i.halt(how); err != nil {
		return err
	}
	if err := i.launch(ctx); err != nil {
		return errors.Join(fmt.Errorf("restart %s in %s: %w", i.Kind, i.dir, err), i.halt(syscall.SIGKILL))
	}
	return nil
}

// Stop ends the instance in good order, with force after half a minute, and
// returns when no process of it is left. Its files stay where they are: the
// folder is the caller's. Stopping twice is harmless.
func (i *Instance) Stop() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.end(i.program.stop)
}

// end halts the instance for good.
func (i *Instance) end(how syscall.Signal) error {
	if i.launcher == nil {
		return nil
	}
	err := i.halt(how)
	i.launcher.Close()
	i.launcher = nil
	i.ports.Close()
	return err
}

// halt signals the processes, the server first, and waits until none of them nor
// of their children is left.
func (i *Instance) halt(how syscall.Signal) error {
	family := i.family()
	for _, s := range i.running {
		s.doomed.Store(true)
	}
	for _, s := range slices.Backward(i.running) {
		s.finish(how, stopWithin)
		how = syscall.SIGKILL // what only helped the server has nothing to put in order
	}
	i.running = nil
	if err := awaitGone(family, stopWithin); err != nil {
		return fmt.Errorf("stop %s in %s: %w", i.Kind, i.dir, err)
	}
	return nil
}
