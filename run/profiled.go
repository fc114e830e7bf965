package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// profileRecorder records the threads and the samples of a profiled trial.
type profileRecorder struct {
	meter    lab.ThreadMeter
	sampling lab.Sampling // nil: the sampler does not run
	counting lab.Counting // nil: the counters do not run
	units    []lab.Unit
	before   []lab.ThreadUse
	window   lab.ProfiledWindow
}

// begin reads the threads and starts the sampler and the counters, just before the job.
func (r *profileRecorder) begin(j Job) (err error) {
	threads, can := j.Meter.(lab.ThreadMeter)
	if !can {
		return errors.New("the meter of this host cannot tell threads apart, so nothing can be profiled")
	}
	r.meter = threads
	r.units = j.Deployment.Units()
	if r.before, err = threads.Threads(r.units); err != nil {
		return err
	}
	if sampler, can := j.Profiler.(lab.Sampler); can {
		var refused error
		if r.sampling, refused = sampler.Sample(j.Layout); refused != nil {
			r.window.Unsampled = refused.Error() // profilers of runtimes work without it
		}
		if r.counting, refused = sampler.Count(r.before); refused != nil {
			r.window.Uncounted = refused.Error()
		}
	}
	r.window.Began = time.Now()
	return nil
}

// end records the CPU time that the living threads have used since begin, and closes the recorder.
func (r *profileRecorder) end() error {
	r.window.Ended = time.Now()
	r.endCounting()
	after, err := r.meter.Threads(r.units)
	r.close(after)
	before := map[string]lab.ThreadUse{}
	for _, t := range r.before {
		before[t.ID] = t
	}
	for _, t := range after {
		t.UserSeconds -= before[t.ID].UserSeconds // 0 for a thread that has started since
		t.SystemSeconds -= before[t.ID].SystemSeconds
		r.window.Threads = append(r.window.Threads, t)
	}
	return err
}

// endCounting ends the counting, if it runs, and records the counts or the error.
func (r *profileRecorder) endCounting() {
	if r.counting == nil {
		return
	}
	var err error
	if r.window.Counted, err = r.counting.End(); err != nil {
		r.window.Uncounted = err.Error()
	}
	r.counting = nil
}

// close ends the sampling and the counting, if they run; a second call does nothing. threads are the threads
// at the end; nil: unknown.
func (r *profileRecorder) close(threads []lab.ThreadUse) {
	r.endCounting()
	if r.sampling != nil {
		r.window.Programs = r.sampling.End(threads)
		r.sampling = nil
	}
}

// addLayers ends the foreign units, which write their profiles when they end, and adds the CPU time by layer
// to the trial.
func (e *experiment) addLayers(
	ctx context.Context, s setting, deployment lab.Deployment, profile profileRecorder, trial *lab.Trial,
) (err error) {
	if err := deployment.EndForeign(ctx); err != nil {
		return fmt.Errorf("end the units to have their profiles: %w", err)
	}
	var about lab.Profiling
	if system, says := e.System.(lab.Profiled); says {
		about = system.Profiling(s.variant)
	}
	profile.window.Metered = trial.Metered
	profile.window.Dir = deployment.HandedOver()
	trial.Layers, err = e.Profiler.Layers(s.layout, about, profile.window)
	return err
}
