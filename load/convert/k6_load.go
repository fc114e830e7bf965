package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/scenario"
)

// k6Executor describes a load of k6: the load of a script, or of one of its scenarios.
type k6Executor struct {
	Executor   string
	Exec       string
	VUs        k6Number
	Iterations k6Number
	Rate       k6Number
	StartRate  k6Number
	Duration   k6Duration // "": the default
	TimeUnit   k6Duration // "": the default
	Stages     []k6Stage
}

// k6Stage is one part of a load that changes.
type k6Stage struct {
	Duration k6Duration
	Target   k6Number
}

// k6Number is a number of an option. Like k6, it takes a text for one.
type k6Number float64

// UnmarshalJSON implements json.Unmarshaler.
func (n *k6Number) UnmarshalJSON(data []byte) error {
	if option := gjson.ParseBytes(data); option.Type != gjson.Null {
		number, err := strconv.ParseFloat(option.String(), 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return fmt.Errorf("%.40q is no number", option.String())
		}
		*n = k6Number(number)
	}
	return nil
}

// k6Duration is a duration with its unit. In k6, a number without a unit is in milliseconds.
type k6Duration string

// UnmarshalJSON implements json.Unmarshaler.
func (d *k6Duration) UnmarshalJSON(data []byte) error {
	text := gjson.ParseBytes(data).String() // "" of null
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "ms"
	}
	*d = k6Duration(text)
	return nil
}

// k6Options holds the options of a script that the conversion uses.
type k6Options struct {
	k6Executor
	Thresholds map[string]json.RawMessage
	Scenarios  map[string]k6Executor
	hasSetup   bool
	chosen     string // scenario; empty for the script's own load
}

// choose selects the scenario to convert, the preferred one or else the first by name. It returns the name of
// the function that the scenario runs.
func (o *k6Options) choose(preferred string) string {
	names := sortedKeys(o.Scenarios)
	if len(names) > 0 {
		o.chosen = names[0]
	}
	if slices.Contains(names, preferred) {
		o.chosen = preferred
	}
	return o.function()
}

// function returns the name of the function that one iteration runs.
func (o *k6Options) function() string {
	return cmp.Or(o.Scenarios[o.chosen].Exec, "default")
}

// k6Load sets the load of a script, and lists its options that have no counterpart.
func (d *draft) k6Load(o k6Options) {
	if o.hasSetup {
		d.note("script", "setup", "a flow has no setup before the load: its requests are at the beginning of "+
			"every flow")
	}
	for _, name := range sortedKeys(o.Scenarios) {
		if name != o.chosen {
			d.note("script", "scenario "+name, "a file has one load; import again with --group "+name+" for its own")
		}
	}
	d.k6Thresholds(o.Thresholds)
	e := o.k6Executor
	if o.chosen != "" {
		e = o.Scenarios[o.chosen]
	}
	if e.Iterations > 0 {
		d.note("script", fmt.Sprintf("%g iterations", e.Iterations), "a load ends after a time")
	}
	unit, err := time.ParseDuration(string(cmp.Or(e.TimeUnit, "1s")))
	if err != nil || unit <= 0 {
		d.note("script", "timeUnit "+string(e.TimeUnit), "cannot be read; give a rate on the command line")
		return
	}
	perMinute := func(rate k6Number) string {
		flows := float64(rate) * float64(time.Minute) / float64(unit)
		return strconv.FormatFloat(flows, 'g', 6, 64) + "/m"
	}
	duration, err := time.ParseDuration(string(cmp.Or(e.Duration, "0s")))
	if err != nil || duration < 0 {
		d.note("script", "duration "+string(e.Duration), "cannot be read; give one on the command line")
		duration = 0
	}
	load := scenario.Load{Duration: scenario.Duration(duration)}
	switch {
	case len(e.Stages) > 0:
		if !d.k6Stages(&load, e, perMinute) {
			return
		}
	case strings.HasSuffix(e.Executor, "-arrival-rate") && e.Rate > 0:
		load.Rate = perMinute(e.Rate)
	case strings.HasSuffix(e.Executor, "-arrival-rate"):
		return
	case e.VUs >= 1 || duration > 0: // k6 runs one user if there is only a duration
		load.Users = int(min(max(e.VUs, 1), 1e6))
	default:
		return
	}
	d.file.Load = &load
}

// k6Stages sets a load with stages: users whose number rises once and stays, or a rate that changes once.
// It lists all other stages and returns false.
func (d *draft) k6Stages(load *scenario.Load, e k6Executor, perMinute func(k6Number) string) bool {
	var total time.Duration
	var spans []time.Duration
	for _, s := range e.Stages {
		span, err := time.ParseDuration(string(s.Duration))
		if err != nil || span < 0 {
			d.note("script", "a stage of "+string(s.Duration), "its duration cannot be read")
			return false
		}
		spans = append(spans, span)
		total += span
	}
	last := len(e.Stages) - 1
	isRate := strings.HasSuffix(e.Executor, "-arrival-rate")
	if !isRate && last > 0 && e.Stages[last].Target == 0 {
		d.note("script", fmt.Sprintf("the last stage: down to no user in %v", spans[last]),
			"the load ends before it")
		total -= spans[last]
		last--
	}
	load.Duration = scenario.Duration(total)
	stays := !slices.ContainsFunc(e.Stages[1:last+1],
		func(s k6Stage) bool { return s.Target != e.Stages[0].Target })
	first := e.Stages[0]
	isRamp := min(e.StartRate, first.Target) >= 0 && e.StartRate+first.Target > 0
	switch {
	case isRate && last == 0 && isRamp:
		load.Ramp = &scenario.Ramp{From: perMinute(e.StartRate), To: perMinute(first.Target)}
	case !isRate && stays && first.Target >= 1:
		load.Users = int(min(first.Target, 1e6))
		load.RampUp = scenario.Duration(spans[0])
	default:
		var list []string
		for i, s := range e.Stages {
			list = append(list, fmt.Sprintf("%g in %v", s.Target, spans[i]))
		}
		d.note("script", "stages "+strings.Join(list, ", "),
			"only those that rise once and stay are converted; give steps, a ramp or users on the command line")
		return false
	}
	return true
}

// k6Threshold matches a threshold that has an equivalent objective.
var k6Threshold = regexp.MustCompile(`^(p\(([0-9.]+)\)|med|avg|max|rate) *(<=?) *([0-9.]+)$`)

// k6Objective returns the condition of an objective that is equivalent to a threshold, or "".
func k6Objective(metric, threshold string) string {
	m := k6Threshold.FindStringSubmatch(threshold)
	if m == nil {
		return ""
	}
	figure, percentile := m[1], m[2]
	limit := m[3] + m[4]
	isRate := figure == "rate"
	switch {
	case metric == "http_req_duration" && !isRate:
		name := map[string]string{"med": "p50", "avg": "mean", "max": "max"}[figure]
		return cmp.Or(name, "p"+percentile) + limit + "ms"
	case metric == "http_req_failed" && isRate:
		return "errors" + limit
	}
	return ""
}

// k6Thresholds lists thresholds, each with its equivalent objective if there is one.
func (d *draft) k6Thresholds(thresholds map[string]json.RawMessage) {
	var same []string
	for _, metric := range sortedKeys(thresholds) {
		for _, t := range gjson.ParseBytes(thresholds[metric]).Array() {
			written := strings.TrimSpace(cmp.Or(t.Get("threshold").String(), t.String()))
			term := k6Objective(metric, written)
			if _, err := objective.Parse(term); err != nil {
				d.note("script", "threshold "+metric+" "+written, "no objective says this")
			} else {
				same = append(same, term)
			}
		}
	}
	if len(same) > 0 {
		d.note("script", "thresholds", "a load has its objective on the command line: --objective '"+
			strings.Join(same, ",")+"'")
	}
}
