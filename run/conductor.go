// Package run is the conductor: it plays the trials of a plan in order, each in a fresh deployment, meters
// and audits them, repeats those that do not count, and hands every record to the store before it goes on. It
// knows only the interfaces of package lab.
//
// Entry points: Conductor.Lacks and Conductor.Play for a plan; Job for a single trial, OpenServices for its
// backing services.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// Conductor joins the rooms that a trial needs. All fields must be set, except for those that the plan has no
// use for.
type Conductor struct {
	System    lab.System
	Deployers map[string]lab.Deployer // by the name of the deployment
	Backings  map[string]lab.Backing  // by kind
	Meter     lab.Meter
	Injector  lab.Injector // of faults
	Host      lab.Host
	Profiler  lab.Profiler // of profiled trials
	Tracer    lab.Tracer   // receives spans if the load of the plan traces a share of its flows
	Store     lab.TrialStore
	Progress  lab.Progress
	// Seconds receives the load and the usage of every second of a trial.
	Seconds lab.SecondsWatcher
	// Stopping analyses the data after every block. In a design that plays until all is decided, it returns
	// which trials are still needed.
	Stopping lab.StoppingRule
	// Conceal removes secrets from the output of programs.
	Conceal func(text string) string
	// Scratch is a directory in which every attempt at a trial gets a private one. Both are created for the
	// attempt. Deployers remove the private one, and may remove Scratch if it is empty then.
	Scratch string
}

// errInterrupted is the error of a trial that was ended because the context of the experiment did.
var errInterrupted = errors.New("interrupted")

// Play plays the trials of the plan, except those that the store has as valid and those that have used up
// their attempts. Then it plays further blocks at points where trials were lost. It returns an error if the
// experiment cannot go on or ctx ends; trials that were stored by then stay. It does not check what this host
// lacks: callers ask Lacks before.
func (c *Conductor) Play(ctx context.Context, plan lab.Plan) (err error) {
	e := experiment{Conductor: c, plan: plan}
	defer func() { err = c.concealed(errors.Join(err, c.closeDeployers())) }()
	done, err := e.resume()
	if err != nil {
		return err
	}
	c.Progress.Begin(plan, len(done))
	defer c.Progress.End()
	if len(done) < len(plan.Trials) {
		if err := e.warmUp(ctx); err != nil {
			return err
		}
	}
	looks := e.looks()
	for _, planned := range plan.Trials {
		if slices.Contains(done, planned.Number) {
			continue
		}
		needed, err := looks.needed(planned)
		if err != nil {
			return err
		}
		if !needed {
			continue
		}
		if err := e.playUntilValid(ctx, planned); err != nil {
			return err
		}
	}
	return e.playFurther(ctx, done)
}

// closeDeployers closes the deployers that keep something between trials.
func (c *Conductor) closeDeployers() error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(c.Deployers)) {
		closer, keeps := c.Deployers[name].(io.Closer)
		if !keeps {
			continue
		}
		if err := closer.Close(); err != nil {
			problems = append(problems, fmt.Errorf("end the deployment %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

// experiment is a plan being played.
type experiment struct {
	*Conductor
	plan         lab.Plan
	attempts     map[int]int // attempts already stored, by trial number
	calibrations []float64   // of all attempts so far, in seconds
	// lengths are the present lengths of the load as multiples of the planned one, by point. Further blocks have
	// the lengths of the trials that they make up for.
	lengths map[string]float64
	isWarm  bool // the warm-up was played
}

// resume restores the state of the experiment from the store and returns the numbers of the finished trials.
func (e *experiment) resume() (done []int, err error) {
	trials, err := e.Store.Trials()
	if err != nil {
		return nil, err
	}
	e.attempts = map[int]int{}
	e.lengths = map[string]float64{}
	for _, trial := range trials {
		if at := trial.Point.Name; trial.Lengthened > e.lengths[at] {
			e.lengths[at] = trial.Lengthened
		}
		e.attempts[trial.Number] = max(e.attempts[trial.Number], trial.Attempt)
		e.calibrations = append(e.calibrations, calibration(trial.Conditions))
		if trial.Valid || trial.Attempt >= 1+e.plan.Study.Design.MaxRepeats {
			done = append(done, trial.Number)
		}
	}
	return done, nil
}

// Lacks returns everything that this host lacks for a plan, by variant. Those with the largest layouts, which
// need most, come first. It leaves out twins, which need the same as their originals. Its error is a
// PlanError: no host could play the plan.
func (c *Conductor) Lacks(ctx context.Context, plan lab.Plan) ([]lab.Lack, error) {
	e := experiment{Conductor: c, plan: plan}
	points := map[string][]string{} // by variant
	var all []setting
	for _, planned := range plan.Trials {
		if v, _ := plan.Study.Variant(planned.Variant); v.TwinOf != "" ||
			slices.Contains(points[planned.Variant], planned.Point) {
			continue
		}
		points[planned.Variant] = append(points[planned.Variant], planned.Point)
		setting, err := e.setting(planned)
		if err == nil {
			err = errors.Join(c.checkFaults(plan.Study.Faults, setting.layout, setting.deployer),
				e.checkSpans(setting))
		}
		if err != nil {
			return nil, &PlanError{fmt.Errorf("%s at %s: %w", planned.Variant, planned.Point, err)}
		}
		all = append(all, setting)
	}
	slices.SortStableFunc(all, func(a, b setting) int { return len(b.layout.Units) - len(a.layout.Units) })
	var lacks []lab.Lack
	for _, s := range all {
		lacks = addLacks(lacks, s.variant.Name, s.point.Name, errors.Join(
			c.preflightServices(s.layout), s.deployer.Preflight(ctx, s.layout), e.checkSockets(s.layout),
			checkReadiness(s.layout)))
	}
	for i, lack := range lacks {
		if len(lack.Points) == len(points[lack.Variant]) {
			lacks[i].Points = nil // it is lacking everywhere
		}
	}
	return lacks, nil
}

// addLacks adds every error of the preflight of a variant at a point, or the point if the variant has that
// error already.
func addLacks(lacks []lab.Lack, variant, point string, err error) []lab.Lack {
	for _, one := range lab.Leaves(err) {
		known := slices.IndexFunc(lacks, func(l lab.Lack) bool {
			return l.Variant == variant && l.Err.Error() == one.Error()
		})
		if known < 0 {
			known = len(lacks)
			lacks = append(lacks, lab.Lack{Variant: variant, Err: one})
		}
		lacks[known].Points = append(lacks[known].Points, point)
	}
	return lacks
}

// checkReadiness returns an error for each readiness command that this host lacks.
func checkReadiness(layout lab.Layout) error {
	var problems []error
	for _, spec := range layout.Units {
		if len(spec.Readiness.Command) == 0 {
			continue
		}
		program := spec.Readiness.Command[0]
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			program = filepath.Join(spec.Dir, program)
		}
		if _, err := exec.LookPath(program); err != nil {
			problems = append(problems, fmt.Errorf("find the command that tells when unit %s can be used: %w",
				spec.Name, err))
		}
	}
	return errors.Join(problems...)
}

// maxUnixPath is the largest length of the path of a Unix socket, in bytes; see unix(7).
const maxUnixPath = 107

// checkSockets returns an error if Unix sockets in the directories of trials would have paths that are too
// long for the kernel.
func (e *experiment) checkSockets(layout lab.Layout) error {
	// There are at most as many further blocks as repeats, and each has at most as many trials as the plan.
	repeats := e.plan.Study.Design.MaxRepeats
	last, lastAttempt := (1+repeats)*len(e.plan.Trials), 1+repeats
	longest := len(e.directory(last, lastAttempt)) + len("/") + layout.SocketName
	if layout.SocketName == 0 || longest <= maxUnixPath {
		return nil
	}
	return fmt.Errorf("unix sockets below %s would have paths of %d bytes, and the kernel allows %d: set "+
		"TMPDIR to a folder with a shorter path", e.Scratch, longest, maxUnixPath)
}

// directory returns the directory of an attempt at a trial.
func (e *experiment) directory(trial, attempt int) string {
	return filepath.Join(e.Scratch, fmt.Sprintf("%d-%d", trial, attempt))
}

// warmUp plays every variant at its points and discards the records, unless it has done so before. It brings
// files into memory and processors to their clock rate before the first trial that is recorded.
func (e *experiment) warmUp(ctx context.Context) error {
	if e.isWarm {
		return nil
	}
	e.isWarm = true
	for range e.plan.Study.Design.WarmupTrials {
		for _, planned := range e.plan.Trials {
			if planned.Block != 1 {
				continue
			}
			if variant, ok := e.plan.Study.Variant(planned.Variant); ok && variant.TwinOf != "" {
				continue
			}
			e.Progress.Note(fmt.Sprintf("warm-up: %s at %s", planned.Variant, planned.Point))
			const unrecorded = 0 // recorded attempts count from 1
			if _, _, err := e.attempt(ctx, planned, unrecorded); err != nil {
				return err
			}
		}
	}
	return nil
}

// playUntilValid plays one trial, and repeats it until it counts or has used up its attempts. It stores every
// attempt.
func (e *experiment) playUntilValid(ctx context.Context, planned lab.PlannedTrial) error {
	for attempt := e.attempts[planned.Number] + 1; attempt <= 1+e.plan.Study.Design.MaxRepeats; attempt++ {
		e.Progress.TrialStarted(planned, attempt)
		e.Seconds.Trial(planned.Number, attempt)
		trial, logs, err := e.attempt(ctx, planned, attempt)
		if err != nil {
			return err
		}
		if err := e.Store.Save(trial, logs); err != nil {
			return err
		}
		e.Progress.TrialEnded(trial)
		e.calibrations = append(e.calibrations, calibration(trial.Conditions))
		if trial.Valid {
			return nil
		}
	}
	return nil
}

// attempt plays a trial once and returns its record and its logs. An error ends the experiment. Failures of
// the trial alone are in the record.
func (e *experiment) attempt(
	ctx context.Context, planned lab.PlannedTrial, number int,
) (lab.Trial, map[string]string, error) {
	setting, err := e.setting(planned)
	if err != nil {
		return lab.Trial{}, nil, err
	}
	dir := e.directory(planned.Number, number)
	if err := makeFolder(dir); err != nil {
		return lab.Trial{}, nil, fmt.Errorf("make the trial's directory: %w", err)
	}
	trial := lab.Trial{
		Schema: lab.TrialSchema, Number: planned.Number, Attempt: number, Block: planned.Block,
		Variant: planned.Variant, Point: setting.point, Seed: planned.Seed, Profiled: planned.Profiled,
		Started: time.Now().UTC(), Operations: setting.layout.Operations,
		Audit: lab.Audit{Verdict: lab.AuditUnknown},
	}
	watch := &stopwatch{last: time.Now()}
	observation, err := e.Host.Observe()
	if err != nil {
		return trial, nil, fmt.Errorf("observe the host: %w", err)
	}
	watch.lap(lab.PhaseCalibration)
	times := max(1, e.lengths[planned.Point])
	if times > 1 {
		trial.Lengthened = times
	}
	timeout := lab.Seconds(times * e.plan.Study.Design.TrialTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished after %v", timeout))
	defer cancel()
	logs, failure, cleanup := e.play(limited, setting, dir, observation, watch, &trial)
	if trial.Metered.Roles == nil { // nothing was metered: the schema of the record requires an object, not null
		trial.Metered.Roles = map[string]lab.Usage{}
	}
	trial.Conditions = observation.End(trial.Metered.Total.CPUSeconds)
	watch.lap(lab.PhaseCalibration)
	trial.Phases = watch.phases
	if ctx.Err() != nil {
		return trial, logs, errors.Join(errInterrupted, cleanup)
	}
	if cleanup != nil {
		return trial, logs, cleanup
	}
	e.judge(&trial, failure)
	e.conceal(&trial, logs)
	return trial, logs, nil
}

// setting is a planned trial with its names resolved, and its layout.
type setting struct {
	variant  lab.Variant
	point    lab.Point
	layout   lab.Layout
	deployer lab.Deployer
}

// setting resolves the names in a planned trial and makes its layout.
func (e *experiment) setting(planned lab.PlannedTrial) (setting, error) {
	variant, found := e.plan.Study.Variant(planned.Variant)
	if !found {
		return setting{}, fmt.Errorf("the plan has no variant %q", planned.Variant)
	}
	point, found := e.plan.Study.Point(planned.Point)
	if !found {
		return setting{}, fmt.Errorf("the plan has no point %q", planned.Point)
	}
	deployer, found := e.Deployers[variant.Deployment]
	if !found {
		return setting{}, fmt.Errorf("there is no deployment %q on this host", variant.Deployment)
	}
	if err := variant.SupportedBy(deployer); err != nil {
		return setting{}, fmt.Errorf("variant %s: %w", variant.Name, err)
	}
	system := e.System
	if times := e.lengths[planned.Point]; times > 1 {
		longer, can := system.(lab.Lengthenable)
		if !can {
			return setting{},
				errors.New("design.lengthen: the load of this system lasts as long as its study says: leave it out")
		}
		system = longer.Lengthened(times)
	}
	layout, err := system.Layout(variant, point, planned.Seed)
	if err == nil {
		layout, err = variant.Scale(layout)
	}
	if err != nil {
		return setting{}, err
	}
	for i, spec := range layout.Services {
		backing := e.Backings[spec.Kind]
		layout.Services[i].Loopback = backing.Loopback
		layout.Services[i].Files = backing.Files
	}
	if planned.Profiled {
		layout = e.Profiler.Instrument(layout)
	}
	layout, err = layout.On(deployer)
	return setting{variant: variant, point: point, layout: layout, deployer: deployer}, err
}

// Interrupted reports whether Play has ended because its context did.
func Interrupted(err error) bool { return errors.Is(err, errInterrupted) }
