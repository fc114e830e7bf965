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
func (w *profileRecorder) begin(j Job) (err error) {
	threads, can := j.Meter.(lab.ThreadMeter)
	if !can {
		return errors.New("the meter of this host cannot tell threads apart, so nothing can be profiled")
	}
	w.meter, w.units = threads, j.Deployment.Units()
	if w.before, err = threads.Threads(w.units); err != nil {
		return err
	}
	if sampler, can := j.Profiler.(lab.Sampler); can {
		var refused error
		if w.sampling, refused = sampler.Sample(j.Layout); refused != nil {
			w.window.Unsampled = refused.Error() // profilers of runtimes work without it
		}
		if w.counting, refused = sampler.Count(w.before); refused != nil {
			w.window.Uncounted = refused.Error()
		}
	}
	w.window.Began = time.Now()
	return nil
}

// end records the CPU time that the living threads have used since begin, and closes the recorder.
func (w *profileRecorder) end() error {
	w.window.Ended = time.Now()
	w.endCounting()
	after, err := w.meter.Threads(w.units)
	w.close(after)
	before := map[string]lab.ThreadUse{}
	for _, t := range w.before {
		before[t.ID] = t
	}
	for _, t := range after {
		t.UserSeconds -= before[t.ID].UserSeconds // 0 for a thread that has started since
		t.SystemSeconds -= before[t.ID].SystemSeconds
		w.window.Threads = append(w.window.Threads, t)
	}
	return err
}

// endCounting ends the counting, if it runs, and records the counts or the error.
func (w *profileRecorder) endCounting() {
	if w.counting == nil {
		return
	}
	var err error
	if w.window.Counted, err = w.counting.End(); err != nil {
		w.window.Uncounted = err.Error()
	}
	w.counting = nil
}

// close ends the sampling and the counting, if they run. threads are the threads at the end; nil: unknown.
func (w *profileRecorder) close(threads []lab.ThreadUse) {
	w.endCounting()
	if w.sampling != nil {
		w.window.Programs = w.sampling.End(threads)
		w.sampling = nil
	}
}

// layers ends the units, so that they write their profiles, and adds the CPU time by layer to the trial.
func (e *experiment) layers(
	ctx context.Context, s setting, deployment lab.Deployment, w profileRecorder, trial *lab.Trial,
) (err error) {
	if err := deployment.EndForeign(ctx); err != nil {
		return fmt.Errorf("end the units to have their profiles: %w", err)
	}
	var about lab.Profiling
	if system, says := e.System.(lab.Profiled); says {
		about = system.Profiling(s.variant)
	}
	w.window.Metered, w.window.Dir = trial.Metered, deployment.HandedOver()
	trial.Layers, err = e.Profiler.Layers(s.layout, about, w.window)
	return err
}
