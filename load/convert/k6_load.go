package convert

import (
	"cmp"
	"fmt"
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
	executor, exec                   string
	vus, iterations, rate, startRate float64
	duration, timeUnit               string // "": the default
	stages                           []k6Stage
}

// k6Stage is one part of a load that changes.
type k6Stage struct {
	duration string
	target   float64
}

// newK6Executor reads a load. It accepts numbers as texts, as k6 does.
func newK6Executor(of gjson.Result) k6Executor {
	e := k6Executor{
		executor: of.Get("executor").String(), exec: of.Get("exec").String(),
		vus: of.Get("vus").Float(), iterations: of.Get("iterations").Float(),
		rate: of.Get("rate").Float(), startRate: of.Get("startRate").Float(),
		duration: k6Duration(of.Get("duration")), timeUnit: k6Duration(of.Get("timeUnit")),
	}
	for _, s := range of.Get("stages").Array() {
		e.stages = append(e.stages, k6Stage{k6Duration(s.Get("duration")), s.Get("target").Float()})
	}
	return e
}

// k6Duration returns a duration with its unit. In k6, a number without a unit is in milliseconds.
func k6Duration(of gjson.Result) string {
	text := of.String()
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "ms"
	}
	return text
}

// k6Options holds the options of a script that the conversion uses.
type k6Options struct {
	k6Executor
	thresholds map[string]gjson.Result
	scenarios  map[string]k6Executor
	hasSetup   bool
	chosen     string // scenario; empty for the script's own load
}

// newK6Options reads the options of a script.
func newK6Options(of gjson.Result) k6Options {
	o := k6Options{k6Executor: newK6Executor(of), thresholds: of.Get("thresholds").Map(),
		scenarios: map[string]k6Executor{}}
	for name, one := range of.Get("scenarios").Map() {
		o.scenarios[name] = newK6Executor(one)
	}
	return o
}

// choose selects the scenario to convert, the preferred one or else the first by name. It returns the name of
// the function that the scenario runs.
func (o *k6Options) choose(preferred string) string {
	names := sortedKeys(o.scenarios)
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
	return cmp.Or(o.scenarios[o.chosen].exec, "default")
}

// k6Load sets the load of a script, and lists its options that have no counterpart.
func (d *draft) k6Load(o k6Options) {
	if o.hasSetup {
		d.note("script", "setup", "a flow has no setup before the load: its requests are at the beginning of "+
			"every flow")
	}
	for _, name := range sortedKeys(o.scenarios) {
		if name != o.chosen {
			d.note("script", "scenario "+name, "a file has one load; import again with --group "+name+" for its own")
		}
	}
	d.k6Thresholds(o.thresholds)
	e := o.k6Executor
	if o.chosen != "" {
		e = o.scenarios[o.chosen]
	}
	if e.iterations > 0 {
		d.note("script", fmt.Sprintf("%g iterations", e.iterations), "a load ends after a time")
	}
	unit, err := time.ParseDuration(cmp.Or(e.timeUnit, "1s"))
	if err != nil || unit <= 0 {
		d.note("script", "timeUnit "+e.timeUnit, "cannot be read; give a rate on the command line")
		return
	}
	perMinute := func(rate float64) string {
		return strconv.FormatFloat(rate*float64(time.Minute)/float64(unit), 'g', 6, 64) + "/m"
	}
	duration, err := time.ParseDuration(cmp.Or(e.duration, "0s"))
	if err != nil || duration < 0 {
		d.note("script", "duration "+e.duration, "cannot be read; give one on the command line")
		duration = 0
	}
	load := scenario.Load{Duration: scenario.Duration(duration)}
	switch {
	case len(e.stages) > 0:
		if !d.k6Stages(&load, e, perMinute) {
			return
		}
	case strings.HasSuffix(e.executor, "-arrival-rate") && e.rate > 0:
		load.Rate = perMinute(e.rate)
	case strings.HasSuffix(e.executor, "-arrival-rate"):
		return
	case e.vus >= 1 || duration > 0: // k6 runs one user if there is only a duration
		load.Users = int(min(max(e.vus, 1), 1e6))
	default:
		return
	}
	d.file.Load = &load
}

// k6Stages sets a load with stages: users whose number rises once and stays, or a rate that changes once.
// It lists all other stages and returns false.
func (d *draft) k6Stages(load *scenario.Load, e k6Executor, perMinute func(float64) string) bool {
	var total time.Duration
	var spans []time.Duration
	for _, s := range e.stages {
		span, err := time.ParseDuration(s.duration)
		if err != nil || span < 0 {
			d.note("script", "a stage of "+s.duration, "its duration cannot be read")
			return false
		}
		spans, total = append(spans, span), total+span
	}
	last := len(e.stages) - 1
	isRate := strings.HasSuffix(e.executor, "-arrival-rate")
	if !isRate && last > 0 && e.stages[last].target == 0 {
		d.note("script", fmt.Sprintf("the last stage: down to no user in %v", spans[last]),
			"the load ends before it")
		total -= spans[last]
		last--
	}
	load.Duration = scenario.Duration(total)
	stays := !slices.ContainsFunc(e.stages[1:last+1],
		func(s k6Stage) bool { return s.target != e.stages[0].target })
	switch first := e.stages[0]; {
	case isRate && last == 0 && e.startRate+first.target > 0:
		load.Ramp = &scenario.Ramp{From: perMinute(e.startRate), To: perMinute(first.target)}
	case !isRate && stays && first.target >= 1:
		load.Users, load.RampUp = int(min(first.target, 1e6)), scenario.Duration(spans[0])
	default:
		var list []string
		for i, s := range e.stages {
			list = append(list, fmt.Sprintf("%g in %v", s.target, spans[i]))
		}
		d.note("script", "stages "+strings.Join(list, ", "),
			"only those that rise once and stay are converted; give steps, a ramp or users on the command line")
		return false
	}
	return true
}

// k6Threshold matches a threshold that has an equivalent objective.
var k6Threshold = regexp.MustCompile(`^(p\(([0-9.]+)\)|med|avg|max|rate) *(<=?) *([0-9.]+)$`)

// k6Thresholds lists thresholds, each with its equivalent objective if there is one.
func (d *draft) k6Thresholds(thresholds map[string]gjson.Result) {
	var same []string
	for _, metric := range sortedKeys(thresholds) {
		for _, t := range thresholds[metric].Array() {
			written := strings.TrimSpace(cmp.Or(t.Get("threshold").String(), t.String()))
			m := k6Threshold.FindStringSubmatch(written)
			term := ""
			switch {
			case m != nil && metric == "http_req_duration" && m[1] != "rate":
				name := cmp.Or(map[string]string{"med": "p50", "avg": "mean", "max": "max"}[m[1]], "p"+m[2])
				term = name + m[3] + m[4] + "ms"
			case m != nil && metric == "http_req_failed" && m[1] == "rate":
				term = "errors" + m[3] + m[4]
			}
			if _, err := objective.Parse(term); term == "" || err != nil {
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
