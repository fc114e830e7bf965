package agent

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/unit"
)

// Serve does a job. It returns when the job is done, or unit.ErrGone when its leader is gone. Commands
// come from in and events go to out. If job is nil, the first line of in is the job. host is observed
// during a search.
func Serve(ctx context.Context, in io.Reader, out io.Writer, job *Job, host lab.Host) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	channel := unit.NewChannel(lines, out) // it uses a *bufio.Reader as it is
	s := &served{channel: channel, host: host}
	err := s.serve(ctx, lines, job)
	if err != nil && !errors.Is(err, unit.ErrGone) {
		return errors.Join(err, channel.Failed(err))
	}
	return err
}

// served is a job in progress.
type served struct {
	Job
	channel *unit.Channel
	host    lab.Host
	trial   *trial.Trial
	limit   objective.Objective // the parsed Job.Objective
	dir     string              // temporary; empty: none
	begin   sync.Once           // for connected
	begun   time.Time           // when the command start came
	stop    context.CancelCauseFunc
	started chan struct{} // closed by the command start
	stopped chan error    // receives nil after the command stop
	history *history
	course  []lab.Slice
	warm    *lab.WarmUp // the course of a warm-up that continued until the load was steady
	network network
}

// errStopped is the cause of a load that the command stop ended early.
var errStopped = errors.New("stopped")

// serve does the job; Serve reports its error to the leader.
func (s *served) serve(ctx context.Context, lines *bufio.Reader, job *Job) (err error) {
	if job == nil {
		if job, err = readJob(lines); err != nil {
			return err
		}
	}
	s.Job = *job
	ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	s.started = make(chan struct{})
	s.stopped = make(chan error, 1)
	go s.listen()
	defer func() { err = errors.Join(err, s.clean()) }()
	if err := s.prepare(ctx); err != nil {
		return gone(ctx, err)
	}
	outcome, played := s.play(ctx)
	isStopped := errors.Is(played, context.Canceled) && errors.Is(context.Cause(ctx), errStopped)
	hasResults := isStopped && outcome.Results != nil
	if played != nil && !hasResults {
		return gone(ctx, played)
	}
	if err := s.channel.Finished(time.Since(s.begun)); err != nil {
		return err
	}
	if err := <-s.stopped; err != nil {
		return err
	}
	if s.history != nil {
		if err := s.history.handOver(s.channel); err != nil {
			return err
		}
	}
	return s.channel.Report(Report{Schema: Schema, Outcome: outcome, Course: s.course, WarmUp: s.warm,
		Network: s.network.proof})
}

// gone returns unit.ErrGone if that is the cause of the context's end, otherwise the error.
func gone(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, unit.ErrGone) {
		return cause
	}
	return err
}

// readJob reads a job from the first line.
func readJob(lines *bufio.Reader) (*Job, error) {
	line, err := lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(line) == 0 {
		return nil, unit.ErrGone
	}
	job, err := decodeJob(line)
	return &job, err
}

// prepare makes the load and the target ready.
func (s *served) prepare(ctx context.Context) error {
	var err error
	if len(s.Files) > 0 {
		// The folder of a unit is removed with the trial, even if this agent is killed.
		parent, notUnit := unit.Dir()
		if notUnit != nil {
			parent = "" // the folder for temporary files
		}
		if s.dir, err = os.MkdirTemp(parent, "cleave-agent-"); err != nil {
			return err
		}
		if err := s.unpack(s.dir); err != nil {
			return err
		}
	}
	if s.Objective != "" {
		if s.limit, err = objective.Parse(s.Objective); err != nil {
			return err
		}
	}
	if err := s.findTarget(ctx); err != nil {
		return err
	}
	s.Spec.Guard.Made = s.Made
	s.Spec.Guard.Allowed, err = consent.ReadList(strings.NewReader(s.Allow), "the allow list of the job")
	if err != nil {
		return err
	}
	if s.trial, err = s.Spec.Prepare(ctx); err != nil {
		return err
	}
	if s.History != "" {
		if s.history, err = newHistory(s.History); err != nil {
			return err
		}
	}
	if s.Await.For == 0 {
		return nil
	}
	err = s.trial.Await(ctx, s.Await.Path, time.Duration(s.Await.For))
	if err != nil && s.Await.Look != "" {
		err = fmt.Errorf("%w: %s", err, s.Await.Look)
	}
	return err
}

// findTarget puts the address of the job's unit into the target. The address comes from a deployer, so
// Cleave made the host.
func (s *served) findTarget(ctx context.Context) error {
	if s.Unit == "" {
		return nil
	}
	text, err := unit.PeerAddress(s.Unit)
	if err != nil {
		return err
	}
	dialed, err := s.network.simulate(ctx, s.Unit, strings.Split(text, lab.AddressSeparator))
	if err != nil {
		return err
	}
	var addresses []netip.AddrPort
	for _, one := range dialed {
		address, err := netip.ParseAddrPort(one)
		if err != nil {
			return fmt.Errorf("address %q of the unit %s: %w", one, s.Unit, err)
		}
		addresses = append(addresses, address)
	}
	u, err := url.Parse(cmp.Or(s.Spec.Target, s.Spec.Scenario.Target))
	if err != nil {
		return err
	}
	u.Scheme = cmp.Or(u.Scheme, "http")
	u.Host = addresses[0].String()
	s.Spec.Target = u.String()
	s.Spec.Replicas = addresses[1:]
	for _, address := range addresses {
		host := address.Addr()
		s.Made = append(s.Made, netip.PrefixFrom(host, host.BitLen()))
	}
	return s.check()
}

// play warms the target up, and then plays the load or the search of the job.
func (s *served) play(ctx context.Context) (trial.Outcome, error) {
	if err := s.warmUp(ctx); err != nil {
		return trial.Outcome{}, fmt.Errorf("warm-up: %w", err)
	}
	if s.Search {
		return s.search(ctx)
	}
	return s.fixed(ctx)
}

// listen waits for the commands start and stop. Stop ends the load in progress, and so does the end of
// the input at any time.
func (s *served) listen() {
	err := s.channel.Await(lab.CommandStart)
	if err == nil {
		close(s.started)
		err = s.channel.Await(lab.CommandStop)
	}
	s.stopped <- err
	if err == nil {
		err = errStopped
	}
	s.stop(err)
}

// connected returns a function that, when first called, sends ready and waits for start.
func (s *served) connected(ctx context.Context) func() error {
	return func() error {
		var err error
		s.begin.Do(func() {
			if err = s.channel.Ready(); err != nil {
				return
			}
			select {
			case <-s.started:
				s.begun = time.Now()
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
		})
		return err
	}
}

// hooks returns hooks that write every attempt of a load to the history. The history includes warm-ups
// and probes, because an audit must know the origin of every effect.
func (s *served) hooks(warmUp bool) trial.Hooks {
	if s.history == nil {
		return trial.Hooks{}
	}
	return trial.Hooks{Row: func(row record.Row) error {
		row.WarmUp = warmUp
		return s.history.Write(row)
	}}
}

// settleBetween waits like settle, before another load.
func (s *served) settleBetween(ctx context.Context) (time.Duration, error) {
	return s.settle(ctx, cmp.Or(s.Between, s.Settle.Path))
}

// settle waits until the target has finished its work, and returns the time from the last answer until
// then. It does not wait if the path is empty.
func (s *served) settle(ctx context.Context, path string) (time.Duration, error) {
	if path == "" {
		return 0, nil
	}
	return s.trial.Settle(ctx, path, time.Duration(s.Settle.For))
}

// search looks for the capacity. A search with one vote is to be cheap, so it does not confirm the
// capacity.
func (s *served) search(ctx context.Context) (trial.Outcome, error) {
	hooks := s.hooks(false)
	hooks.Connected = s.connected(ctx)
	hooks.Second = s.sendLoaded
	capacity := trial.CapacitySearch{Objective: s.limit, Resolution: s.Resolution, Votes: s.Votes,
		Confirm: s.Votes != 1, Hooks: hooks, Settle: s.settleBetween}
	if s.MaxSteal > 0 {
		capacity.Host = s.host
		capacity.MaxSteal = s.MaxSteal
	}
	outcome, err := s.trial.Search(ctx, capacity)
	if err == nil && s.Between != "" {
		_, err = s.settle(ctx, s.Settle.Path)
	}
	return outcome, err
}

// fixed plays one load.
func (s *served) fixed(ctx context.Context) (trial.Outcome, error) {
	hooks := s.hooks(false)
	hooks.Connected = s.connected(ctx)
	hooks.Cohorts = true
	list := &sentRows{channel: s.channel, also: hooks.Row}
	if s.Rows {
		hooks.Row = list.add
	}
	watched, watch := s.trial.Watched(ctx, s.limit, s.Abort)
	hooks.Second = func(second trial.Second) error {
		err := errors.Join(watch(second), s.sendLoaded(second))
		s.course = append(s.course, slice(second))
		if s.Seconds {
			err = errors.Join(err, s.channel.Tell(eventSecond, second))
		}
		return err
	}
	outcome, err := s.trial.Play(watched, hooks)
	err = errors.Join(err, list.send())
	if outcome, err = trial.Aborted(watched, outcome, err); err != nil {
		return outcome, err
	}
	_, err = s.settle(ctx, s.Settle.Path)
	return outcome, err
}

// sendLoaded sends the figures of one second of the load, if the job asks for them.
func (s *served) sendLoaded(second trial.Second) error {
	if !s.Loaded {
		return nil
	}
	return s.channel.Tell(lab.EventLoaded,
		lab.LoadSecond{Slice: slice(second), Failed: second.Results.Errors()})
}

// clean ends the simulated network and removes the files of the agent.
func (s *served) clean() error {
	err := s.network.close()
	if s.history != nil {
		err = errors.Join(err, s.history.close())
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// history is a list of operations for audits, in a file.
type history struct {
	*record.LineWriter
	file *os.File
}

// newHistory creates a history with a file of this name in the unit's folder.
func newHistory(name string) (*history, error) {
	dir, err := unit.Dir()
	if err != nil {
		return nil, err
	}
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	return &history{record.NewHistoryWriter(file), file}, nil
}

// handOver sends the file to the conductor.
func (h *history) handOver(channel *unit.Channel) error {
	if err := h.Flush(); err != nil {
		return err
	}
	return channel.HandOver(h.file.Name())
}

// close writes what is still buffered, and closes the file.
func (h *history) close() error { return errors.Join(h.Flush(), h.file.Close()) }
