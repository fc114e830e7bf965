package telemetry

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// Experiment sends the figures of an experiment to targets: those of the last trial of each variant at each
// point.
type Experiment struct {
	lab.Progress // the display for the user

	outs  *Outs
	spans func(send func(document []byte)) error // sends the spans of the last trial

	metrics []lab.Metric
	counts  map[outcome]float64
	last    map[setting][]Figure
}

// setting identifies the trials of a variant at a point.
type setting struct{ variant, point string }

// outcome identifies the trials of a setting that count, or those that do not.
type outcome struct {
	setting
	valid bool
}

var _ lab.Progress = (*Experiment)(nil)

// Follow returns a progress display that sends the figures of an experiment to outs, and passes every call
// on to shown. After each trial it calls spans, which sends the spans of the trial.
func Follow(shown lab.Progress, outs *Outs, spans func(send func(document []byte)) error) *Experiment {
	return &Experiment{Progress: shown, outs: outs, spans: spans, counts: map[outcome]float64{},
		last: map[setting][]Figure{}}
}

// Begin implements lab.Progress.
func (e *Experiment) Begin(plan lab.Plan, done int) {
	e.metrics = plan.Study.AllMetrics()
	e.Progress.Begin(plan, done)
}

// TrialEnded implements lab.Progress.
func (e *Experiment) TrialEnded(trial lab.Trial) {
	e.Progress.TrialEnded(trial)
	at := setting{trial.Variant, trial.Point.Name}
	e.counts[outcome{at, trial.Valid}]++
	e.last[at] = e.figures(at, trial)
	e.outs.Show(e.all())
	if err := e.spans(e.outs.showSpans); err != nil {
		e.Note(err.Error())
	}
}

// figures returns the measures of a trial, and the processors and memory of its units, as far as they were
// measured.
func (e *Experiment) figures(at setting, trial lab.Trial) (all []Figure) {
	labels := func(more ...string) map[string]string {
		all := map[string]string{"variant": at.variant, "point": at.point}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	units := map[lab.MetricKind]string{lab.KindTime: "s", lab.KindCost: "s", lab.KindMemory: "By"}
	for _, m := range e.metrics {
		if value, measured := trial.Measures[m.Name]; measured {
			all = append(all, Figure{Name: "cleave.trial." + m.Name, Help: m.Title, Unit: units[m.Kind], Value: value,
				Labels: labels()})
		}
	}
	for _, u := range trial.Metered.Units {
		of := labels("unit", u.Unit.Name, "role", u.Unit.Role)
		if !u.Lacks("cpu_seconds") {
			all = append(all, Figure{Name: "cleave.trial.unit.cpu", Help: "processors that a unit used", Labels: of,
				Value: u.CPUSeconds / max(trial.Metered.WindowSeconds, 1e-9)})
		}
		if !u.Lacks("peak_memory_bytes") {
			all = append(all, Figure{Name: "cleave.trial.unit.peak_memory", Help: "memory that a unit held at most",
				Unit: "By", Labels: of, Value: float64(u.PeakMemoryBytes)})
		}
	}
	return all
}

// all returns the counts of trials and the last figures of all variants and points.
func (e *Experiment) all() (all []Figure) {
	for of, n := range e.counts {
		all = append(all, Figure{Name: "cleave.trials", Help: "trials that were played", Total: true, Value: n,
			Labels: map[string]string{"variant": of.variant, "point": of.point, "valid": fmt.Sprint(of.valid)}})
	}
	for _, last := range e.last {
		all = append(all, last...)
	}
	return all
}
