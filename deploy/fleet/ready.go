package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// readyPatience bounds the start of a server. RabbitMQ, which is ready in four seconds on a quiet machine,
	// took over two minutes on an overloaded one.
	readyPatience = 5 * time.Minute
	// lookAgain is the pause between two checks of a server that starts.
	lookAgain = 10 * time.Millisecond
	// lookPatience bounds one check.
	lookPatience = 5 * time.Second
	// firstRead and longestRead bound the pause between two reads of a log that is not streamed.
	firstRead, longestRead = 100 * time.Millisecond, 2 * time.Second
)

// Backoff returns the time to wait before the next look at a state that is expensive to read: a twentieth of
// the time since begun, within limits. The awaited event is seen late by at most that.
func Backoff(begun time.Time, shortest, longest time.Duration) time.Duration {
	return min(max(time.Since(begun)/20, shortest), longest)
}

// Stages groups all units but servers by the order of their start. A stage begins when the units of the stage
// before have started, and those that report readiness are ready. Units that report readiness come first,
// with units whose address for peers may be unknown until they run. Foreign units that call others come
// last: such programs resolve names once, at their start, and end if a name is unknown. A unit follows all
// units that it names in After.
func Stages(units []lab.UnitSpec) [][]lab.UnitSpec {
	stageOf := map[string]int{}
	for _, spec := range units {
		stage := 1
		switch {
		case spec.Ready != nil, spec.Readiness.Awaited(), spec.Reached != lab.ReachUsual:
			stage = 0
		case spec.Foreign && len(spec.Peers) > 0:
			stage = 2
		}
		stageOf[spec.Name] = stage
	}
	for range units { // each pass settles one more link of every chain of After
		for _, spec := range units {
			for _, before := range spec.After {
				stageOf[spec.Name] = max(stageOf[spec.Name], stageOf[before]+1)
			}
		}
	}
	var stages [][]lab.UnitSpec
	for _, spec := range units {
		if spec.Server != nil {
			continue
		}
		stage := stageOf[spec.Name]
		for len(stages) <= stage {
			stages = append(stages, nil)
		}
		stages[stage] = append(stages[stage], spec)
	}
	return slices.DeleteFunc(stages, func(stage []lab.UnitSpec) bool { return len(stage) == 0 })
}

// AwaitVisit repeats a client's visit of a server at an address until the visit succeeds, the server ends or
// its time is over.
func AwaitVisit(ctx context.Context, u *Unit, address string, visit Visit) error {
	ctx, cancel := u.readyInTime(ctx)
	defer cancel()
	var last error
	for {
		err := tryOnce(ctx, address, visit)
		if err == nil {
			u.markUsable()
			return nil
		}
		isLate := ctx.Err() != nil || isTimeout(err)
		if last == nil || !isLate { // a timeout would hide the error that explains it
			last = err
		}
		select {
		case <-u.Ended:
			return u.endedEarly()
		case <-ctx.Done():
			return fmt.Errorf("%v cannot be used at %s: %w (last answer: %w)%s", u, address, context.Cause(ctx), last,
				u.Log.LastWords())
		case <-time.After(lookAgain):
		}
	}
}

// readyInTime returns a context that ends, with a cause, when the unit has taken too long to become ready.
func (u *Unit) readyInTime(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := cmp.Or(u.Spec.Readiness.Within, readyPatience)
	return context.WithTimeoutCause(ctx, patience, fmt.Errorf("not ready after %v", patience))
}

// awaitFinished waits until the unit has ended, and returns an error unless it has succeeded.
func (u *Unit) awaitFinished(ctx context.Context) error {
	if err := u.AwaitEnd(ctx); err != nil {
		return fmt.Errorf("%v does not end: %w", u, context.Cause(ctx))
	}
	if u.outcome != nil {
		return fmt.Errorf("%v ended: %w%s", u, u.outcome, u.Log.LastWords())
	}
	return nil
}

// endedEarly returns the error of a unit that ended before it was ready.
func (u *Unit) endedEarly() error {
	return fmt.Errorf("%v %s%s", u, cmp.Or(u.failure, "ended before it was ready"), u.Log.LastWords())
}

// awaitText waits until the unit's log has the text of its readiness. It returns at once if the unit has
// none.
func (u *Unit) awaitText(ctx context.Context) error {
	if u.Spec.Readiness.Log == "" {
		return nil
	}
	for begun := time.Now(); ; {
		pause := lookAgain
		if u.ReadLog != nil {
			u.ReadLog(ctx)
			pause = Backoff(begun, firstRead, longestRead)
		}
		select {
		case <-u.written:
			return nil
		case <-u.Ended:
			return u.endedEarly()
		case <-ctx.Done():
			return fmt.Errorf("%v: %w: it has not written %q%s", u, context.Cause(ctx), u.Spec.Readiness.Log,
				u.Log.LastWords())
		case <-time.After(pause):
		}
	}
}

// tryOnce visits a server once. It first checks whether the server accepts connections, because some clients
// wait long after a refusal. A unit without an address is visited unchecked.
func tryOnce(ctx context.Context, address string, visit Visit) error {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	if address == "" {
		return visit(ctx, address)
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return errors.Join(connection.Close(), visit(ctx, address))
}

// openPatience bounds the wait until a unit accepts connections again.
const openPatience = 90 * time.Second

// AwaitOpen waits until a unit accepts connections again. It returns at once if the unit does not listen.
func (f *Fleet[L]) AwaitOpen(ctx context.Context, life L) error {
	if f.platform.AwaitOpen != nil {
		return f.platform.AwaitOpen(ctx, life)
	}
	u := life.unit()
	return u.AwaitListening(ctx, f.platform.Reach(u.Spec.Name), openPatience)
}

// AwaitListening waits until the unit accepts connections at an address. It returns at once if the address is
// empty: the unit does not listen.
func (u *Unit) AwaitListening(ctx context.Context, address string, patience time.Duration) error {
	if address == "" {
		return nil
	}
	dialer := net.Dialer{Timeout: time.Second}
	return u.PollListening(ctx, patience, lookAgain, func(ctx context.Context) bool {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		return err == nil && connection.Close() == nil
	})
}

// PollListening calls listens until it returns true. The pauses between the calls grow up to longest. It
// fails if the unit ends, or after patience.
func (u *Unit) PollListening(
	ctx context.Context, patience, longest time.Duration, listens func(context.Context) bool,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it does not listen after %v", patience))
	defer cancel()
	for begun := time.Now(); !listens(ctx); {
		select {
		case <-u.Ended:
			return fmt.Errorf("unit %s ended before it listened%s", u.Spec.Name, u.Log.LastWords())
		case <-ctx.Done():
			return fmt.Errorf("unit %s: %w", u.Spec.Name, context.Cause(ctx))
		case <-time.After(Backoff(begun, lookAgain, longest)):
		}
	}
	return nil
}

// Visit acts as a client at an address; it returns an error if it could not.
type Visit = func(ctx context.Context, address string) error

// outputPatience bounds how long the output of a command may stay open after its end.
const outputPatience = time.Second

// commandVisit returns a visit that runs the unit's readiness command on this host: it succeeds if the
// command exits with 0. The command has this host's environment and the unit's.
func commandVisit(spec lab.UnitSpec) Visit {
	return func(ctx context.Context, address string) error {
		var placeholders []string
		if host, port, err := net.SplitHostPort(address); err == nil {
			placeholders = []string{"{host}", host, "{port}", port}
		}
		fill := strings.NewReplacer(placeholders...)
		words := make([]string, len(spec.Readiness.Command))
		for i, word := range spec.Readiness.Command {
			words[i] = fill.Replace(word)
		}
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.Dir = spec.Dir
		command.WaitDelay = outputPatience
		command.Env = os.Environ()
		for _, variable := range spec.Env {
			command.Env = append(command.Env, fill.Replace(variable))
		}
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
		runtime.LockOSThread() // Pdeathsig kills the command at the end of the thread that started it
		defer runtime.UnlockOSThread()
		output := &Tail{}
		command.Stdout = output
		command.Stderr = output
		err := command.Run()
		switch last := output.lastLine(); {
		case err == nil:
			return nil
		case last != "":
			return fmt.Errorf("%s: %w: %s", words[0], err, last)
		}
		return fmt.Errorf("%s: %w", words[0], err)
	}
}

// direct makes the requests of health checks. Unlike http.DefaultTransport it ignores HTTP_PROXY, which is
// not meant for units.
var direct = &http.Transport{DisableKeepAlives: true}

// PortVisit returns a visit that performs a health check of a port: a GET of the check's path, or only the
// connection that AwaitVisit has made if it has no path.
func PortVisit(check *lab.HealthCheck) Visit {
	return func(ctx context.Context, address string) error {
		if check.Path == "" {
			return nil // tryOnce has connected
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+check.Path, nil)
		if err != nil {
			return err
		}
		answer, err := direct.RoundTrip(request) // follows no redirection: that is an answer, too
		if err != nil {
			return err
		}
		if answer.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("GET %s: %s", check.Path, answer.Status)
		}
		_ = answer.Body.Close() // the status is enough
		return err
	}
}
