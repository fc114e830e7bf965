package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/load/search"
	"github.com/cleave-lab/cleave/load/stream"
)

// Hooks are called during a load; each may be nil. An error of Second or Row does not end the load; Play
// returns it at the end.
type Hooks struct {
	// Enough ends the load when it is set: nothing begins any more, and operations in flight may end.
	Enough *atomic.Bool
	// Interval is the time between two calls of Second. Zero: one second.
	Interval time.Duration
	// Connected is called when the connections are open, just before the clock starts. It may wait for other
	// agents; its error ends the load.
	Connected func() error
	// Second is called with every second of the load, one at a time. It must not keep the results.
	Second func(Second) error
	// Row is called with every operation, one at a time, in parallel with the load.
	Row func(record.Row) error
	// Cohorts asks for Outcome.Cohorts.
	Cohorts bool
}

// Outcome holds the results of a trial. Agents send it as JSON.
type Outcome struct {
	Summary record.Summary  `json:"summary"`
	Results *record.Results `json:"results"`
	Report  engine.Report   `json:"report"`
	// Checks describes the checks of answers, by operation.
	Checks []string `json:"checks"`
	// Cores is the number of processors that the generator could use. Zero: it was to keep them busy (pacing
	// spin), so their use means nothing.
	Cores float64 `json:"cores"`
	// Notes holds notes for readers in addition to the report. The summary contains them.
	Notes []string `json:"notes,omitempty"`
	// Cohorts holds the operations by their due time, if Hooks.Cohorts is set.
	Cohorts *lab.Cohorts `json:"cohorts,omitempty"`
	// Progress is the Spec.After for another trial that must not use the same values and rows again.
	Progress scenario.Progress `json:"progress,omitzero"`
	// Backlog is the growth of the number of flows that were due and have not ended.
	Backlog search.Growth `json:"-"`
}

// performance is the play of a trial in progress.
type performance struct {
	*Trial
	ctx       context.Context
	hooks     Hooks
	to        netip.AddrPort     // the address of the target; not valid for a Unix socket
	players   []*scenario.Player // by loop
	recorders []*record.Recorder
	taps      []*record.Tap
	rows      rowMaker

	mu     sync.Mutex
	start  time.Time
	rowErr error // the first error of Hooks.Row
}

// Play sends the load. If the context ends early, the outcome holds the results until then.
func (t *Trial) Play(ctx context.Context, hooks Hooks) (Outcome, error) {
	if until := t.ticket.Until; !t.ticket.Own && time.Now().Add(t.model.duration).After(until) {
		return Outcome{}, fmt.Errorf("the permission to load %s ends at %s, before the load would", t.spec.Target,
			until.Format(time.RFC3339))
	}
	address, err := t.address(ctx)
	if err != nil {
		return Outcome{}, err
	}
	p := &performance{Trial: t, ctx: ctx, hooks: hooks, rows: newRowMaker(t), to: address}
	p.makeRecorders()
	before, err := engine.ProcessorTime(unix.RUSAGE_SELF)
	if err != nil {
		return Outcome{}, err
	}
	collected := make(chan struct{})
	var o Outcome
	var collecting error
	go func() {
		defer close(collected)
		o.Results, collecting = p.collect()
	}()
	var played error
	o.Report, o.Cores, played = p.send()
	<-collected
	o.Progress = p.advance()
	after, cpuErr := engine.ProcessorTime(unix.RUSAGE_SELF)
	if explained := t.explain(played); explained != nil {
		played = explained
	}
	err = errors.Join(played, collecting, cpuErr)
	if o.Report.Elapsed == 0 { // the load never began
		return Outcome{Report: o.Report}, err
	}
	if p.hooks.Cohorts {
		o.Cohorts = &lab.Cohorts{}
		for _, recorder := range p.recorders {
			*o.Cohorts = o.Cohorts.Add(recorder.Cohorts())
		}
	}
	generator := &o.Summary.Generator
	generator.CPUSeconds = (after - before).Seconds()
	generator.Loops = len(p.recorders)
	generator.PeakMemory, cpuErr = peakMemory()
	o.Checks = t.plan.Checks()
	o.Notes = append(t.certificateNote(), p.delayNote()...)
	t.sumUp(&o)
	return o, errors.Join(err, cpuErr)
}

// makeRecorders makes a recorder for each loop, and a tap of each if the caller wants rows.
func (p *performance) makeRecorders() {
	for range p.spec.Loops {
		recorder := record.NewRecorder(record.Options{
			Operations: p.plan.Operations(), Window: p.model.duration, Timeout: time.Duration(p.spec.Timeout),
			LateAfter: time.Millisecond + p.pacing.Lateness(), Interval: p.hooks.Interval, Cohorts: p.hooks.Cohorts,
		})
		p.recorders = append(p.recorders, recorder)
		if p.hooks.Row != nil {
			p.taps = append(p.taps, recorder.Tap())
		}
	}
}

// collect collects the recorders' results until the recorders are closed.
func (p *performance) collect() (*record.Results, error) {
	cpu, _ := engine.ProcessorTime(unix.RUSAGE_SELF) // only for display
	seconds := NewSeconds(len(p.recorders), func(s Second) error {
		now, _ := engine.ProcessorTime(unix.RUSAGE_SELF)
		s.CPU = now - cpu
		cpu = now
		if p.hooks.Second == nil {
			return nil
		}
		return p.hooks.Second(s)
	})
	seconds.length = cmp.Or(p.hooks.Interval, time.Second)
	parts := make([]*record.Results, len(p.recorders))
	errs := make([]error, len(p.recorders))
	var all sync.WaitGroup
	for i, recorder := range p.recorders {
		all.Go(func() {
			parts[i], errs[i] = record.Collect(func(r *record.Results) error {
				seconds.Take(i, Second{Results: r})
				return nil
			}, recorder)
			seconds.End(i)
		})
	}
	for loop, tap := range p.taps {
		all.Go(func() { p.passRows(loop, tap) })
	}
	all.Wait()
	total := parts[0]
	for _, part := range parts[1:] {
		errs = append(errs, total.Merge(part))
	}
	return total, errors.Join(append(errs, seconds.Err(), p.rowErr)...)
}

// passRows passes the rows of a loop to Hooks.Row and keeps the first error of all loops.
func (p *performance) passRows(loop int, tap *record.Tap) {
	err := tap.Each(func(s *record.Sample) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.hooks.Row(p.rows.row(p.start, loop, s))
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rowErr == nil {
		p.rowErr = err
	}
}

// certificateNote returns a note if the certificates of the target were not checked.
func (t *Trial) certificateNote() []string {
	if !t.at.secure() || !t.spec.Insecure {
		return nil
	}
	return []string{"CERTIFICATES WERE NOT CHECKED: whoever answered need not have been " + t.at.origin()}
}

// delayNote returns a note if writing the list of operations delayed the load.
func (p *performance) delayNote() []string {
	var times int64
	var waited time.Duration
	for _, tap := range p.taps {
		n, d := tap.Waits()
		times, waited = times+n, waited+d
	}
	if times == 0 {
		return nil
	}
	return []string{fmt.Sprintf("writing the list of operations held the generator up %d times, %v in all",
		times, waited.Round(time.Microsecond))}
}

// connected returns the function that a loop calls when its connections are open. That of the first loop
// calls Hooks.Connected. The last call determines when the clock starts.
func (p *performance) connected(loop int) func() error {
	return func() error {
		if loop == 0 && p.hooks.Connected != nil {
			if err := p.hooks.Connected(); err != nil {
				return err
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		lead := engine.Lead(len(p.recorders))
		p.start = time.Now().Add(lead)
		return nil
	}
}

// send plays the load on the right engine and returns the number of processors that the
// engine may use; see Outcome.Cores.
func (p *performance) send() (engine.Report, float64, error) {
	host := float64(runtime.NumCPU())
	if p.streams() {
		report, err := stream.Run(p.ctx, p.streamConfig())
		return report, host, err
	}
	target := engine.NewTarget(p.to, p.spec.Replicas...)
	if p.spec.Unix != "" {
		target = engine.NewUnixTarget(p.spec.Unix)
	}
	configs := make([]engine.Config, len(p.recorders))
	for i := range configs {
		configs[i] = engine.Config{Target: target, Load: p.load(i)}
	}
	reports, err := engine.RunAll(p.ctx, configs)
	sum := reports[0]
	for i := range reports[1:] {
		sum.Merge(&reports[i+1])
	}
	if p.pacing.Spins() {
		return sum, 0, err
	}
	return sum, min(float64(len(configs)), host), err
}

// player returns a new player of the scenario for a loop.
func (p *performance) player(loop int) *scenario.Player {
	player := p.plan.Player(scenario.Origin{Host: p.at.host, Path: p.at.path, Part: p.part(loop), Of: p.parts(),
		After: *p.progress, Close: p.spec.OneUse, TraceShare: p.spec.TraceShare})
	p.players = append(p.players, player)
	return player
}

// advance moves the progress past this load, which has ended, and returns it.
func (p *performance) advance() scenario.Progress {
	p.progress.Loads++
	for _, player := range p.players {
		p.progress.Taken = max(p.progress.Taken, player.Taken())
	}
	return *p.progress
}

// load returns a loop's part of the load, for either engine.
func (p *performance) load(loop int) engine.Load {
	load := engine.Load{
		Player: p.player(loop), Duration: p.model.duration,
		Connections: p.share(p.spec.Connections, loop), KeepAlive: !p.spec.OneUse,
		Timeout: time.Duration(p.spec.Timeout), Pacing: p.pacing, Enough: p.hooks.Enough,
		MaxRate:   p.maxRate() / float64(p.parts()),
		Connected: p.connected(loop), Recorder: p.recorders[loop],
	}
	if p.Open() {
		all := p.model.open.Arrivals()
		load.Open = schedule.Share(all, p.part(loop), p.parts())
	} else {
		load.Users = p.usersOf(loop)
	}
	if !p.ticket.Own {
		load.Until = p.ticket.Until
	}
	return load
}

// usersOf returns a loop's share of the users. The users of all loops begin in turn, evenly over the ramp-up.
func (t *Trial) usersOf(loop int) *engine.Users {
	every := t.model.rampUp / time.Duration(t.model.users)
	return &engine.Users{Number: t.share(t.model.users, loop), Think: t.model.think,
		First: every * time.Duration(t.part(loop)), Every: every * time.Duration(t.parts())}
}

// streamConfig returns the load for the engine of goroutines.
func (p *performance) streamConfig() stream.Config {
	return stream.Config{
		Protocol: p.protocol(), URL: p.at.origin(), Address: p.to, Unix: p.spec.Unix,
		TLS:     p.tlsConfig(),
		Methods: p.methods(), ProtoSet: p.spec.ProtoSet, Streams: p.spec.Streams, Load: p.load(0),
	}
}

// describe returns the load in words.
func (t *Trial) describe() string {
	all := []string{t.model.text}
	if t.Open() {
		all = append(all, fmt.Sprintf("%d connections", t.spec.Connections))
	}
	if t.spec.OneUse {
		all = append(all, "a new connection for every flow")
	}
	return strings.Join(all, ", ")
}
