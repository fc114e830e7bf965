package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// play deploys the setting, runs the job once and tears everything down. played
// says what spoilt the trial; cleanup is set when something may be left over.
func (e *experiment) play(ctx context.Context, s setting, dir string, host lab.Observation, watch *stopwatch,
	trial *lab.Trial) (logs map[string]string, played, cleanup error) {
	services, err := OpenServices(ctx, e.Backings, s.layout, e.Scratch)
	if err != nil {
		return nil, err, nil
	}
	defer func() {
		cleanup = errors.Join(cleanup, services.Release())
		watch.lap(lab.PhaseStop)
	}()
	layout, err := services.Introduce(s.layout)
	if err != nil {
		return nil, err, nil
	}
	layout = layout.Readied(e.plan.Study.Faults)
	spawned := time.Now()
	deployment, err := s.deployer.Deploy(ctx, layout, dir)
	if err != nil {
		return nil, fullDisk(e.Scratch, err), nil
	}
	watch.lap(lab.PhaseStart)
	trial.Units, trial.Services, trial.Parts = len(s.layout.Units), services.about(), services.parts(s.layout)
	ctx, unwatch := failing(ctx, deployment)
	defer unwatch()
	addresses, played := services.Addresses(deployment)
	var reports []lab.UnitReport
	var profile watched
	if played == nil {
		reports, played = e.work(ctx, s.layout, deployment, host, watch, trial, &profile)
	}
	played = fullDisk(e.Scratch, failureOr(deployment, played))
	trial.LifetimeSeconds = time.Since(spawned).Seconds()
	left := lab.Leftover{Reports: reports, Addresses: addresses, Foreign: foreignUnits(s.layout, deployment), Dir: deployment.HandedOver(), Seed: trial.Seed,
		Spawned: spawned, Faults: trial.Faults}
	if live, ok := e.System.(lab.LiveAuditor); ok && played == nil {
		trial.Audit = withFaults(live.AuditLive(ctx, s.variant, s.point, left), trial.Faults)
	} else {
		trial.Audit = withFaults(e.System.Audit(s.variant, s.point, reports), trial.Faults)
	}
	if played == nil {
		played = failureOr(deployment, e.measure(ctx, s, left, trial))
	}
	if played == nil && trial.Profiled {
		played = e.layers(ctx, s, deployment, profile, trial)
	}
	watch.lap(lab.PhaseAudit)
	cleanup = deployment.Stop()
	return deployment.Logs(), played, cleanup
}

// foreignUnits are the addresses of foreign units that listen.
func foreignUnits(layout lab.Layout, deployment lab.Deployment) map[string]string {
	all := map[string]string{}
	for _, spec := range layout.Units {
		if !spec.Foreign || !spec.Listens {
			continue
		}
		if endpoint, err := deployment.Endpoint(spec.Name); err == nil {
			all[spec.Name] = endpoint.Dial
		}
	}
	return all
}

// measure takes over what the system measured itself.
func (e *experiment) measure(ctx context.Context, s setting, left lab.Leftover, trial *lab.Trial) error {
	m, measures := e.System.(lab.Measurer)
	if !measures {
		return nil
	}
	found, err := m.Measure(ctx, s.variant, s.point, trial.Metered, left)
	trial.Measures, trial.Spectra, trial.Course, trial.Paths = found.Values, found.Spectra, found.Course, found.Paths
	trial.WarmUp = found.WarmUp
	withTraffic(trial.Parts, found.Traffic)
	withholdByClocks(trial, e.plan.Study.Metrics)
	return err
}

// work runs the job between the two marks of the meter.
func (e *experiment) work(ctx context.Context, layout lab.Layout, deployment lab.Deployment, host lab.Observation, watch *stopwatch,
	trial *lab.Trial, profile *watched) ([]lab.UnitReport, error) {
	if _, err := deployment.Await(ctx, lab.EventReady); err != nil {
		return nil, err
	}
	metering, err := e.Meter.Watch(ctx, deployment.Units())
	if err != nil {
		return nil, endOr(ctx, deployment, fmt.Errorf("meter: %w", err))
	}
	watch.lap(lab.PhaseReady)
	w := window{deployment: deployment, metering: metering, host: host, faults: e.plan.Study.Faults, injector: e.Injector}
	if len(w.faults) > 0 {
		w.targets = targets(deployment, layout, metering)
	}
	if trial.Profiled {
		if err := profile.begin(e.Meter, deployment.Units()); err != nil {
			return nil, endOr(ctx, deployment, err)
		}
	}
	clocks, err := readClocks(ctx, deployment)
	if err != nil {
		return nil, endOr(ctx, deployment, err)
	}
	finished, records, err := w.job(ctx)
	if trial.Profiled && err == nil {
		err = profile.end()
	}
	trial.Faults = records
	metered, stopped := metering.Stop()
	watch.lap(lab.PhaseJob)
	if err != nil {
		return nil, endOr(ctx, deployment, err) // what the meter misses for it is no news
	}
	if stopped != nil {
		return nil, fmt.Errorf("meter: %w", stopped)
	}
	trial.ElapsedSeconds, trial.Metered = finished.ElapsedSeconds, metered
	after, err := readClocks(ctx, deployment)
	if err != nil {
		return nil, endOr(ctx, deployment, err)
	}
	if len(clocks) > 0 {
		trial.Clocks = lab.NewClocks(clocks, after)
	}
	if err := deployment.Command(lab.Command{Command: lab.CommandStop}); err != nil {
		return nil, err
	}
	reports, err := deployment.Reports(ctx)
	watch.lap(lab.PhaseReports)
	return reports, err
}

// endOr is how a unit ended, where the meter has lost it before its deployer told: that
// says more than that it has gone.
func endOr(ctx context.Context, deployment lab.Deployment, err error) error {
	if !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, endNotice)
	defer cancel()
	_, ended := deployment.Await(ctx, lab.EventFinished)
	if ended == nil || errors.Is(ended, context.DeadlineExceeded) {
		return err
	}
	return ended
}

// endNotice is how long the news of a unit's end may take.
const endNotice = time.Second

// window is the measured part of a trial.
type window struct {
	deployment lab.Deployment
	metering   lab.Metering
	host       lab.Observation
	faults     []lab.Fault
	injector   lab.Injector
	targets    []lab.FaultTarget
}

// job runs from just before the start command until just after the last
// operation. What is killed meanwhile is started again before it returns.
func (w window) job(ctx context.Context) (lab.Event, []lab.FaultRecord, error) {
	if err := w.mark(); err != nil {
		return lab.Event{}, nil, err
	}
	w.host.Open()
	if err := w.deployment.Command(lab.Command{Command: lab.CommandStart}); err != nil {
		return lab.Event{}, nil, err
	}
	if len(w.faults) == 0 {
		finished, err := w.finish(ctx)
		return finished, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	injection := w.injector.Begin(ctx, w.faults, w.targets)
	finished, err := w.finish(ctx)
	if err != nil {
		cancel() // nothing is healed in a trial that has failed
		return finished, injection.End(), err
	}
	records := injection.End()
	return finished, records, unhealed(records)
}

// finish waits for the last operation.
func (w window) finish(ctx context.Context) (lab.Event, error) {
	finished, err := w.deployment.Await(ctx, lab.EventFinished)
	if err != nil {
		return finished, err
	}
	w.host.Close()
	return finished, w.mark()
}

func (w window) mark() error {
	if err := w.metering.Mark(); err != nil {
		return fmt.Errorf("meter: %w", err)
	}
	return nil
}

// judge says whether the trial counts.
func (e *experiment) judge(trial *lab.Trial, played error) {
	switch {
	case played != nil:
		trial.Reason = played.Error()
	case trial.Audit.Verdict != lab.AuditValid:
		trial.Reason = fmt.Sprintf("audit %s: %v", trial.Audit.Verdict, trial.Audit.Problems)
	default:
		trial.Reason = e.disturbed(trial.Conditions)
	}
	trial.Valid = trial.Reason == ""
}

// minCalibrations is how many calibrations make a median worth comparing with.
const minCalibrations = 5

// disturbed says how the host spoilt the trial, or "".
func (e *experiment) disturbed(c lab.Conditions) string {
	gates := e.plan.Study.Design.Gates
	if c.StealShare > gates.MaxStealShare {
		return fmt.Sprintf("the hypervisor withheld %.1f %% of the processors, the gate is %.1f %%",
			100*c.StealShare, 100*gates.MaxStealShare)
	}
	if len(e.calibrations) < minCalibrations {
		return ""
	}
	middle := median(e.calibrations)
	gate := max(gates.MaxCalibrationDrift, 3*spread(e.calibrations))
	if drift := calibration(c)/middle - 1; math.Abs(drift) > gate {
		return fmt.Sprintf("the host took %+.1f %% time for a fixed computation against the median of %d trials, the gate is %.1f %%",
			100*drift, len(e.calibrations), 100*gate)
	}
	return ""
}

// spread is the relative standard deviation of the values, estimated from the
// distance of their quartiles, which outliers do not move. A gate narrower than
// the host's everyday noise would strike out trials at random.
func spread(values []float64) float64 {
	const normal = 1.349 // quartile distance of a normal distribution, in standard deviations
	sorted := slices.Sorted(slices.Values(values))
	quarter := len(sorted) / 4
	return (sorted[len(sorted)-1-quarter] - sorted[quarter]) / normal / median(sorted)
}

// calibration is the trial's calibration time in seconds.
func calibration(c lab.Conditions) float64 { return (c.CalibrationBefore + c.CalibrationAfter) / 2 }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
