package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// play deploys the setting, runs the job once and tears everything down. It adds the results to the record.
// failure is the reason why the trial does not count; cleanup is the error of the teardown, after which
// something may be left. Long because it is the order of a trial.
func (e *experiment) play(ctx context.Context, s setting, dir string, host lab.Observation, watch *stopwatch,
	trial *lab.Trial) (logs map[string]string, failure, cleanup error) {
	services, err := OpenServices(ctx, e.Backings, s.layout, e.Scratch)
	if err != nil {
		return nil, err, nil
	}
	defer func() {
		cleanup = errors.Join(cleanup, services.Release())
		watch.lap(lab.PhaseStop)
	}()
	// layout includes the servers; s.layout has the units of the system alone.
	layout, err := services.Introduce(s.layout)
	if err != nil {
		return nil, err, nil
	}
	layout.Spans = e.receiver(s.point)
	layout.Loaded = e.Seconds.Loaded
	spawned := time.Now()
	deployment, err := s.deployer.Deploy(ctx, layout.PreparedFor(e.plan.Study.Faults), dir)
	if err != nil {
		return nil, errors.Join(withFullDisk(e.Scratch, err), closeSpans(layout.Spans, Played{}, trial)), nil
	}
	watch.lap(lab.PhaseStart)
	trial.Units = len(s.layout.Units)
	trial.Services = services.descriptions(s.layout, s.deployer)
	trial.Parts = services.parts(s.layout, deployment)
	trial.Links = deployment.Links()
	ctx, unwatch := cancelOnFailure(ctx, deployment)
	defer unwatch()
	addresses, failure := services.Addresses(deployment)
	var played Played
	if failure == nil {
		job := Job{Deployment: deployment, Meter: e.Meter, Host: host, Lap: watch.lap,
			Layout: s.layout, Faults: e.plan.Study.Faults, Injector: e.Injector, Used: e.Seconds.Used}
		if trial.Profiled {
			job.Profiler = e.Profiler
		}
		played, failure = job.Play(ctx)
	}
	trial.ElapsedSeconds = played.Finished.ElapsedSeconds
	trial.Metered = played.Used
	trial.Metered.Processors = trial.Metered.SharedProcessors()
	trial.Faults = played.Faults
	trial.Arrivals = played.Arrivals
	trial.Clocks = played.Clocks
	trial.Platform = played.Platform
	if failure == nil {
		trial.Static = services.staticCost(s, played)
	}
	failure = withFullDisk(e.Scratch, failureOr(deployment, failure))
	now := time.Now()
	// Sub uses the monotonic clock; Round(0) leaves only the wall clock.
	lifetime := now.Sub(spawned)
	byWall := now.Round(0).Sub(spawned.Round(0))
	trial.LifetimeSeconds = lifetime.Seconds()
	left := lab.Leftover{Reports: played.Reports, Addresses: addresses,
		Foreign: foreignUnits(s.layout, deployment), Dir: deployment.HandedOver(), Seed: trial.Seed,
		Spawned: spawned, Faults: trial.Faults, ClocksApart: clocksApart(trial.Clocks, byWall, lifetime)}
	if live, ok := e.System.(lab.LiveAuditor); ok && failure == nil {
		trial.Audit = live.AuditLive(ctx, s.variant, s.point, left)
	} else {
		trial.Audit = e.System.Audit(s.variant, s.point, played.Reports)
	}
	trial.Audit = withFaults(trial.Audit, trial.Faults)
	if failure == nil {
		failure = failureOr(deployment, e.measure(ctx, s, left, trial))
	}
	if failure == nil && trial.Profiled {
		failure = e.addLayers(ctx, s, deployment, played.profile, trial)
	}
	watch.lap(lab.PhaseAudit)
	cleanup = deployment.Stop()
	// Units may send their last spans when they stop.
	failure = errors.Join(failure, closeSpans(layout.Spans, played, trial))
	return deployment.Logs(), failure, cleanup
}

// foreignUnits returns the addresses of foreign units that listen, by their names.
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

// measure adds the system's own measures to a trial, and withholds those that cannot be trusted.
func (e *experiment) measure(ctx context.Context, s setting, left lab.Leftover, trial *lab.Trial) error {
	m, measures := e.System.(lab.Measurer)
	course := trial.Metered.Course
	trial.Metered.Course = nil // kept only if the load has a course, too; jobs and searches have none
	if !measures {
		return nil
	}
	found, err := m.Measure(ctx, s.variant, s.point, trial.Metered, left)
	trial.Measures = found.Values
	trial.Spectra = found.Spectra
	trial.Course = found.Course
	trial.Paths = found.Paths
	trial.Cohorts = found.Cohorts
	trial.WarmUp = found.WarmUp
	trial.Network = found.Network
	trial.ByOperation = found.Operations
	trial.Remarks = found.Remarks
	trial.Search = found.Search
	if len(found.Course) > 0 {
		trial.Metered.Course = course
	}
	if !slices.ContainsFunc(e.plan.Study.Variants, func(v lab.Variant) bool { return len(v.Autoscale) > 0 }) {
		delete(trial.Measures, lab.Relief) // it is the effect of scaling, and nothing scales
	}
	withTraffic(trial.Parts, found.Traffic)
	withholdByClocks(trial, e.plan.Study.Metrics)
	withholdLate(trial, e.plan.Study.Metrics, found.Late)
	return err
}

// judge sets whether the trial counts, and the reason if it does not.
func (e *experiment) judge(trial *lab.Trial, failure error) {
	switch {
	case failure != nil:
		trial.Reason = failure.Error()
	case trial.Audit.Verdict != lab.AuditValid:
		trial.Reason = fmt.Sprintf("audit %s: %s", trial.Audit.Verdict, strings.Join(trial.Audit.Problems, "; "))
	default:
		trial.Reason = e.disturbed(trial)
	}
	trial.Valid = trial.Reason == ""
}

// minCalibrations is the number of calibrations that are needed for a comparison with their median.
const minCalibrations = 5

// disturbed returns how the host has disturbed a trial; "" if it has not. A search checks the steal of each
// of its loads itself, and repeats disturbed ones. Since its result is a bracket, the gate for the speed of
// the host is wider by the width of that bracket.
func (e *experiment) disturbed(trial *lab.Trial) string {
	gates, c := e.plan.Study.Design.Gates, trial.Conditions
	if s := trial.Search; s != nil {
		for _, load := range s.Loads {
			if load.Disturbed != "" {
				return fmt.Sprintf("search, each time that %s/s was played: %s", lab.Plain(load.Rate), load.Disturbed)
			}
		}
		capacity, _ := lab.FindMetric(e.plan.Study.AllMetrics(), lab.Capacity, 0, "")
		gates.MaxCalibrationDrift += s.Width(trial.Measures[capacity.Name])
	} else if c.StealShare > gates.MaxStealShare {
		return fmt.Sprintf("the hypervisor withheld %.1f %% of the processors, the gate is %.1f %%",
			100*c.StealShare, 100*gates.MaxStealShare)
	}
	if len(e.calibrations) < minCalibrations {
		return ""
	}
	usual := median(e.calibrations)
	gate := max(gates.MaxCalibrationDrift, 3*spread(e.calibrations))
	drift := calibration(c)/usual - 1
	if math.Abs(drift) <= gate {
		return ""
	}
	pace, than := "slower", "more"
	if drift < 0 {
		pace, than = "faster", "less"
	}
	return fmt.Sprintf("the host was %s: a fixed computation took %.1f %% %s time than the median of %d "+
		"trials, the gate is %.1f %%", pace, 100*math.Abs(drift), than, len(e.calibrations), 100*gate)
}

// spread returns the relative standard deviation of the values. It is estimated from the interquartile range,
// which is robust against outliers. A gate that is narrower than the host's usual noise would reject trials
// at random.
func spread(values []float64) float64 {
	const normal = 1.349 // interquartile range of a normal distribution, in standard deviations
	sorted := slices.Sorted(slices.Values(values))
	quarter := len(sorted) / 4
	return (sorted[len(sorted)-1-quarter] - sorted[quarter]) / normal / median(sorted)
}

// calibration returns the trial's calibration time in seconds.
func calibration(c lab.Conditions) float64 { return (c.CalibrationBefore + c.CalibrationAfter) / 2 }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// stopwatch measures the phases of a trial.
type stopwatch struct {
	phases []lab.Phase
	last   time.Time // end of the last phase; before the first one, the start of the trial
}

// lap records the end of a phase. The phase began when the one before it ended.
func (s *stopwatch) lap(phase lab.PhaseName) {
	now := time.Now()
	s.phases = append(s.phases, lab.Phase{Name: phase, Seconds: now.Sub(s.last).Seconds()})
	s.last = now
}

// fullBelow is the number of free bytes below which a disk counts as full. It is above 0 because logs and
// databases that need a larger block fail before the last byte is used.
const fullBelow = 1 << 20

// withFullDisk returns the error of a trial, which may be nil, and puts another in front of it if the disk of
// a directory is full: errors of units and servers seldom mention the disk. It must be called before the
// files of the trial are removed.
func withFullDisk(dir string, err error) error {
	var disk syscall.Statfs_t
	if syscall.Statfs(dir, &disk) != nil {
		return err // the disk is unknown: the directory may not exist
	}
	free := disk.Bavail * uint64(disk.Bsize)
	if free >= fullBelow {
		return err
	}
	full := fmt.Errorf("the disk that holds %s is full (%d bytes are free): free some space, or set TMPDIR to "+
		"a folder on another disk", dir, free)
	if err == nil {
		return full
	}
	return fmt.Errorf("%w: %w", full, err)
}
