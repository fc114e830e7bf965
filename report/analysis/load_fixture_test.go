package analysis

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// loadFixture is the analysis of a system under load that tests of reports show.
const loadFixture = "../testdata/shop-under-load.json"

// design describes a made-up variant, which answers like a queue whose server is
// its bottleneck.
type design struct {
	name     string
	demand   float64            // seconds per order at the bottleneck
	fixed    float64            // seconds per order elsewhere
	accept   float64            // share of its time after which an order is answered
	cpu      map[string]float64 // seconds per order, by role
	memory   map[string]int64   // MiB, by role
	perOrder map[string]float64 // counts per order
	stale    float64            // median staleness in seconds; 0: no read models
	path     func(seconds float64) []lab.Segment
}

// designs returns the designs of the shop. All figures are made up; their size is that
// of a host with two processors. Long because it is a table.
func designs() []design {
	one := func(seconds float64) []lab.Segment {
		return split(seconds, part{0.06, "generator", lab.SegmentTransport, "POST /orders"},
			part{0.09, "shop", lab.SegmentQueueing, "connection of the pool"},
			part{0.12, "shop", lab.SegmentBusiness, "Create"},
			part{0.33, "shop", lab.SegmentDatabase, "INSERT orders"},
			part{0.34, "shop", lab.SegmentDatabase, "COMMIT"},
			part{0.06, "generator", lab.SegmentTransport, "answer"})
	}
	two := func(seconds float64) []lab.Segment {
		return split(seconds, part{0.03, "generator", lab.SegmentTransport, "POST /orders"},
			part{0.05, "orders", lab.SegmentBusiness, "Create"},
			part{0.16, "orders", lab.SegmentDatabase, "COMMIT"}, part{0.03, "orders", lab.SegmentEncoding, "Reserve"},
			part{0.06, "inventory", lab.SegmentTransport, "Reserve"},
			part{0.17, "inventory", lab.SegmentDatabase, "COMMIT"},
			part{0.05, "payments", lab.SegmentTransport, "Charge"},
			part{0.16, "payments", lab.SegmentDatabase, "COMMIT"},
			part{0.05, "shipping", lab.SegmentTransport, "Ship"},
			part{0.13, "shipping", lab.SegmentDatabase, "COMMIT"},
			part{0.02, "orders", lab.SegmentBusiness, "Confirm"},
			part{0.07, "orders", lab.SegmentDatabase, "COMMIT"},
			part{0.02, "generator", lab.SegmentTransport, "answer"})
	}
	three := func(seconds float64) []lab.Segment {
		return split(seconds, part{0.02, "generator", lab.SegmentTransport, "POST /orders"},
			part{0.03, "orders", lab.SegmentBusiness, "Create"},
			part{0.10, "orders", lab.SegmentDatabase, "COMMIT"}, part{0.09, "orders", lab.SegmentQueueing, "outbox"},
			part{0.11, "inventory", lab.SegmentBroker, "order-created"},
			part{0.10, "inventory", lab.SegmentDatabase, "COMMIT"},
			part{0.07, "inventory", lab.SegmentQueueing, "outbox"},
			part{0.12, "payments", lab.SegmentBroker, "stock-reserved"},
			part{0.09, "payments", lab.SegmentDatabase, "COMMIT"},
			part{0.07, "payments", lab.SegmentQueueing, "outbox"},
			part{0.10, "orders", lab.SegmentBroker, "payment-captured"},
			part{0.02, "orders", lab.SegmentBusiness, "Confirm"}, part{0.08, "orders", lab.SegmentDatabase, "COMMIT"})
	}
	return []design{
		{name: "monolith", demand: 1.0 / 330, fixed: 0.0021, accept: 1, path: one,
			cpu:    map[string]float64{"shop": 0.00062, "database": 0.00148, "generator": 0.00094},
			memory: map[string]int64{"shop": 31, "database": 118, "generator": 27},
			perOrder: map[string]float64{"statements_per_order": 11, "rows_per_order": 14.2,
				"fsyncs_per_order": 0.71}},
		{name: "sync", demand: 1.0 / 205, fixed: 0.0064, accept: 1, path: two,
			cpu: map[string]float64{"orders": 0.00071, "inventory": 0.00043, "payments": 0.00041, "shipping": 0.00038,
				"catalog": 0.00012, "customers": 0.00011,
				"database": 0.00331, "generator": 0.00101},
			memory: map[string]int64{"orders": 24, "inventory": 22, "payments": 22, "shipping": 21, "catalog": 19,
				"customers": 19, "database": 164, "generator": 27},
			perOrder: map[string]float64{"statements_per_order": 23, "rows_per_order": 27.5, "bytes_per_order": 4310,
				"fsyncs_per_order": 3.4}},
		{name: "async", demand: 1.0 / 140, fixed: 0.021, accept: 0.11, path: three, stale: 0.034,
			cpu: map[string]float64{"orders": 0.00088, "inventory": 0.00066, "payments": 0.00061, "shipping": 0.00057,
				"views": 0.00049, "catalog": 0.00004, "customers": 0.00003,
				"database": 0.00412, "broker": 0.00127, "documents": 0.00034, "generator": 0.00097},
			memory: map[string]int64{"orders": 27, "inventory": 25, "payments": 25, "shipping": 24, "views": 23,
				"catalog": 18, "customers": 18, "database": 171,
				"broker": 142, "documents": 61, "generator": 27},
			perOrder: map[string]float64{"statements_per_order": 38.5, "rows_per_order": 44.1, "messages_per_order": 7,
				"bytes_per_order": 9120, "fsyncs_per_order": 5.2}},
	}
}

// part is a share of a path.
type part struct {
	share float64
	unit  string
	kind  lab.SegmentKind
	name  string
}

// split returns the parts as segments one after the other.
func split(seconds float64, parts ...part) []lab.Segment {
	var whole, at float64
	for _, p := range parts {
		whole += p.share
	}
	var segments []lab.Segment
	for _, p := range parts {
		length := seconds * p.share / whole
		segments = append(segments, lab.Segment{Start: at, Seconds: length, Unit: p.unit, Kind: p.kind,
			Name: p.name})
		at += length
	}
	return segments
}

// shopUnderLoad returns an experiment with the three designs of the shop at five
// rates and in a search for the capacity. Everything in it is made up.
func shopUnderLoad() Input {
	rates := []float64{20, 40, 80, 160, 240}
	study := lab.Study{
		Schema: lab.StudySchema, Name: "shop-under-load",
		Title: "What does splitting the shop cost? (made-up figures)", System: "shop", Baseline: "monolith",
		Design: lab.Design{Blocks: 6, Seed: 11, Scale: 1, Margin: 0.05, Confidence: 0.95,
			NoiseFloor: []string{"monolith"}, NoiseFloorPoints: []string{"at-80"}},
		Load: &lab.Load{Duration: 10, WarmUp: 2, Objective: "p99<100ms,errors<0.1%"}, Metrics: loadMetrics(),
		Notes: []string{"All figures of this document are made up."},
	}
	for _, rate := range rates {
		study.Points = append(study.Points, lab.Point{Name: fmt.Sprintf("at-%g", rate),
			Levels: map[string]float64{"rate": rate}})
	}
	study.Points = append(study.Points, lab.Point{Name: "capacity",
		Levels: map[string]float64{"search_from": 50}})
	in := Input{
		Plan:        lab.Plan{Schema: lab.PlanSchema, Profile: "full"},
		Environment: lab.Environment{"cores_online": {Value: 2, Unit: "cores"}},
		System:      lab.SystemInfo{Name: "shop", Operation: "order", Metrics: loadMetrics()},
	}
	summaries := map[string]string{"monolith": "one process, one transaction",
		"sync": "a process per component, HTTP, saga", "async": "a process per component, broker, events"}
	for _, d := range designs() {
		study.Variants = append(study.Variants, lab.Variant{Name: d.name, System: "shop", Architecture: d.name,
			Deployment: "process", Summary: summaries[d.name]})
	}
	study.Variants = append(study.Variants, lab.Variant{Name: "monolith.twin", System: "shop",
		Architecture: "monolith", Deployment: "process", TwinOf: "monolith", Points: []string{"at-80"}})
	for block := 1; block <= study.Design.Blocks; block++ {
		for i, d := range designs() {
			for k, point := range study.Points {
				in.order(d, d.name, point, block, wobble(block, 7*i+k))
				if i == 0 && point.Name == "at-80" {
					in.order(d, "monolith.twin", point, block, wobble(block, 40+k))
				}
			}
		}
	}
	in.Plan.Study = study
	return in
}

// wobble returns a fixed pattern of noise around 1.
func wobble(block, salt int) float64 {
	return 1 + 0.06*math.Sin(float64(block*12+salt*5)*1.7)*math.Cos(float64(salt+block*block))
}

// loadMetrics returns the metrics of the shop.
func loadMetrics() []lab.Metric {
	metric := func(name, title, unit string, kind lab.MetricKind, quantity string,
		source lab.MetricSource) lab.Metric {
		m := lab.Metric{Name: name, Title: title, Unit: unit, Better: lab.LowerIsBetter, Kind: kind,
			Quantity: quantity, Source: source}
		if kind == lab.KindRate {
			m.Better = lab.HigherIsBetter
		}
		return m
	}
	timed := func(name, title, quantity string, quantile float64, source lab.MetricSource) lab.Metric {
		m := metric(name, title, "s", lab.KindTime, quantity, source)
		m.Quantile = quantile
		return m
	}
	perOrder := func(m lab.Metric, phrase string) lab.Metric {
		m.Per = lab.PerOperation
		m.Phrase = phrase
		return m
	}
	counted := func(quantity, title, unit, phrase string) lab.Metric {
		return perOrder(metric(quantity+"_per_order", title, unit, lab.KindCount, quantity, lab.FromSystem), phrase)
	}
	return []lab.Metric{
		timed("completion_time_p99", "99th percentile of the time to completion", lab.CompletionTime, 0.99,
			lab.FromSystem),
		metric("capacity", "highest rate of orders that meets the objective", "1/s", lab.KindRate, lab.Capacity,
			lab.FromGenerator),
		perOrder(metric("cpu_per_operation", "CPU time of shop and backing services per order", "s", lab.KindCost,
			lab.CPU, lab.FromMeter), "CPU"),
		timed("completion_time_p50", "median time to completion", lab.CompletionTime, 0.5, lab.FromSystem),
		timed("response_time_p99", "99th percentile of the response time", lab.ResponseTime, 0.99,
			lab.FromGenerator),
		timed("response_time_p50", "median response time", lab.ResponseTime, 0.5, lab.FromGenerator),
		metric("goodput", "orders per second with a right answer", "1/s", lab.KindRate, "goodput",
			lab.FromGenerator),
		metric("error_share", "share of the attempts that were not answered rightly", "1", lab.KindShare, "error",
			lab.FromGenerator),
		metric("completed_rate", "orders per second that became final", "1/s", lab.KindRate, lab.CompletedRate,
			lab.FromSystem),
		timed("staleness_p99", "99th percentile of the read models' staleness", lab.Staleness, 0.99,
			lab.FromSystem),
		counted("statements", "SQL statements per order", "1", "statements"),
		counted("rows", "rows read or changed per order", "1", ""),
		counted("messages", "messages per order", "1", "messages"),
		counted("bytes", "bytes between units per order", "B", ""),
		counted("fsyncs", "fsyncs per order", "1", ""),
		metric("peak_memory", "peak memory of shop and backing services", "B", lab.KindMemory, lab.Memory,
			lab.FromMeter),
	}
}

// window is the measured time of a made-up trial, in seconds.
const window = 10

// order adds a trial of a design at a point, with noise by the factor off.
func (in *Input) order(d design, variant string, point lab.Point, block int, off float64) {
	number := len(in.Trials) + 1
	trial := lab.Trial{
		Schema: lab.TrialSchema, Number: number, Attempt: 1, Block: block, Variant: variant, Point: point,
		Valid:   true,
		Started: time.Date(2026, 1, 1, 0, 0, number, 0, time.UTC), Units: len(d.cpu), ElapsedSeconds: window,
		Conditions: lab.Conditions{CalibrationBefore: 0.05 * off, CalibrationAfter: 0.05},
		Audit: lab.Audit{Verdict: lab.AuditValid, Counts: map[string]int64{"orders": 1000},
			Figures: map[string]float64{lab.FigureLimited: 0}},
	}
	if rate, set := point.Level(lab.FactorRate); set {
		d.load(&trial, rate, off)
	} else {
		capacity := 0.83 / d.demand / off
		trial.Measures = map[string]float64{"capacity": math.Round(capacity)}
		trial.Search = &lab.Search{Loads: []lab.SearchLoad{
			probe(1.2*capacity, 0.4), probe(capacity, 0.08*off), probe(1.1*capacity, 0.13*off),
			probe(capacity, 0.085*off),
		}}
		trial.Search.Loads[3].Longer = true
	}
	in.Plan.Trials = append(in.Plan.Trials, lab.PlannedTrial{Number: number, Block: block, Variant: variant,
		Point: point.Name})
	in.Trials = append(in.Trials, trial)
}

// probe returns a load of a search with a 99th percentile in seconds.
func probe(rate, p99 float64) lab.SearchLoad {
	median, longest := p99/5, 2*p99
	load := lab.SearchLoad{Rate: math.Round(rate), Pass: p99 < 0.1, Median: &median, P99: &p99,
		Longest: &longest}
	if !load.Pass {
		load.Why = fmt.Sprintf("p99 is %.4gms, objective p99<100ms", 1000*p99)
	}
	return load
}

// load fills a trial with the answers of a queue at a rate: beyond its capacity the
// backlog grows until the window ends.
func (d design) load(trial *lab.Trial, rate, off float64) {
	busy := rate * d.demand * math.Sqrt(off)
	final := (d.fixed + d.demand/max(0.02, 1-busy)) * off
	done := rate
	if busy > 1 {
		final, done = d.fixed+window/2*(1-1/busy), 1/d.demand/off
	}
	answered := final * d.accept
	if d.accept < 1 {
		answered = (0.003 + 0.001/max(0.05, 1-busy/3)) * off
	}
	trial.Audit.Figures[lab.FigureOffered] = rate
	trial.Audit.Figures[lab.FigureAchieved] = rate
	good := done
	if d.accept < 1 {
		good = rate
	}
	// wide and answerWide are the standard deviations of the logarithms of completion and response times.
	wide := 0.45 + min(busy, 1)/4
	if busy > 1 {
		wide = 0.25 // a backlog that grows evenly
	}
	answerWide := wide
	if d.accept < 1 {
		answerWide = 0.6 // the answer does not wait for the whole order
	}
	trial.Spectra = map[string][]lab.Quantile{lab.ResponseTime: spread(answered, answerWide),
		lab.ServiceTime: spread(min(answered, 2*d.fixed)*0.93, 0.35), lab.CompletionTime: spread(final, wide)}
	trial.Measures = map[string]float64{
		"response_time_p50": answered, "response_time_p99": quantile(trial.Spectra[lab.ResponseTime], 0.99),
		"completion_time_p50": final, "completion_time_p99": quantile(trial.Spectra[lab.CompletionTime], 0.99),
		"goodput": good, "completed_rate": done, "error_share": 1 - min(1, 1.02*good/rate),
	}
	for name, value := range d.perOrder {
		trial.Measures[name] = value * math.Pow(off, 0.1)
	}
	if d.stale > 0 {
		trial.Spectra[lab.Staleness] = spread(d.stale*off/max(0.1, 1-busy/2), 0.8)
		trial.Measures["staleness_p99"] = quantile(trial.Spectra[lab.Staleness], 0.99)
	}
	trial.Parts = d.parts()
	d.meter(trial, done*window, off)
	trial.Paths = []lab.Path{d.meanOf(1.15 * final), d.pathOf(0.5, final),
		d.pathOf(0.99, quantile(trial.Spectra[lab.CompletionTime], 0.99))}
}

// meter fills the usage of the roles for a number of orders.
func (d design) meter(trial *lab.Trial, orders, off float64) {
	trial.Metered = lab.Metered{Roles: map[string]lab.Usage{}, OwnShare: 0.004, WindowSeconds: window}
	var cpu, memory float64
	for role, each := range d.cpu {
		used := lab.Usage{Units: 1, CPUSeconds: each * orders * off,
			PeakMemoryBytes: int64(float64(d.memory[role]<<20) * off)}
		trial.Metered.Roles[role] = used
		trial.Metered.Total.CPUSeconds += used.CPUSeconds
		if role != lab.RoleGenerator {
			cpu, memory = cpu+used.CPUSeconds, memory+float64(used.PeakMemoryBytes)
		}
	}
	trial.Measures["cpu_per_operation"] = cpu / orders
	trial.Measures["peak_memory"] = memory
}

// pathOf returns the path of an operation of a duration, at a share of all operations.
func (d design) pathOf(share, seconds float64) lab.Path {
	return lab.Path{Share: share, Operation: "order-4711", Seconds: seconds, Sampled: 400,
		Segments: d.path(seconds)}
}

// meanOf returns the mean path of all operations, with a segment per unit and kind.
func (d design) meanOf(seconds float64) lab.Path {
	mean := lab.Path{Share: lab.PathMean, Operation: "mean", Seconds: seconds, Sampled: 400}
	for _, s := range d.path(seconds) {
		i := slices.IndexFunc(mean.Segments, func(m lab.Segment) bool {
			return m.Unit == s.Unit && m.Kind == s.Kind
		})
		if i < 0 {
			i = len(mean.Segments)
			mean.Segments = append(mean.Segments, lab.Segment{Unit: s.Unit, Kind: s.Kind})
		}
		mean.Segments[i].Seconds += s.Seconds
	}
	at := 0.0
	for i, s := range mean.Segments {
		mean.Segments[i].Start = at
		at += s.Seconds
	}
	return mean
}

// spread returns the quantiles of a log-normal distribution at the shares of spectra.
func spread(median, sigma float64) []lab.Quantile {
	var all []lab.Quantile
	for _, share := range lab.SpectrumShares() {
		z := math.Sqrt2 * math.Erfinv(2*min(max(share, 0.0005), 0.99995)-1)
		all = append(all, lab.Quantile{Share: share, Value: median * math.Exp(sigma*z)})
	}
	return all
}

// quantile returns the value at a share.
func quantile(all []lab.Quantile, share float64) float64 {
	for _, q := range all {
		if q.Share == share {
			return q.Value
		}
	}
	return math.NaN()
}

// madeUpWaterfalls returns waterfalls from monolith to async.
func madeUpWaterfalls(points []lab.Point) []lab.Waterfall {
	ratio := func(value, half float64) lab.Ratio {
		low, high := value/half, value*half
		return lab.Ratio{Ratio: value, Low: &low, High: &high, N: 6}
	}
	waterfall := func(metric string, r [4]float64, verdicts [4]lab.ComparisonVerdict) lab.Waterfall {
		w := lab.Waterfall{Metric: metric, Point: points[2], From: "monolith", To: "async",
			Whole: ratio(r[0]*r[1]*r[2]*r[3], 1.09), Verdict: lab.Slower}
		names := [][5]string{{"data", "shared -> databases", "monolith", "step-1", "a database per component"},
			{"coordination", "acid -> orchestrated", "step-1", "step-2", "a saga"},
			{"placement", "together -> apart (with binding http)", "step-2", "sync", "a process per component"},
			{"coordination", "orchestrated -> choreographed", "sync", "async", "a saga of events"}}
		for i, n := range names {
			w.Steps = append(w.Steps, lab.Step{Knob: n[0], Change: n[1], Before: n[2], Variant: n[3], Plain: n[4],
				Ratio: ratio(r[i], 1.04+0.02*float64(i)), Verdict: verdicts[i]})
		}
		return w
	}
	slow := lab.Slower
	fast := lab.Faster
	same := lab.Equivalent
	open := lab.Undecided
	latency := waterfall("completion_time_p99", [4]float64{1.012, 1.71, 1.33, 2.4},
		[4]lab.ComparisonVerdict{same, slow, slow, slow})
	latency.Interactions = []lab.Interaction{{Knob: "placement", Plain: "a process per component",
		First: ratio(1.33, 1.08), Second: ratio(1.05, 1.05), OfRatios: ratio(1.27, 1.1), Matters: true,
		Words: "the effect of placement depends on the order of the steps: 1.33x after coordination, 1.05x " +
			"before it"}}
	return []lab.Waterfall{
		latency,
		waterfall("capacity", [4]float64{0.99, 0.74, 0.84, 0.68}, [4]lab.ComparisonVerdict{same, slow, slow, slow}),
		waterfall("cpu_per_operation", [4]float64{1.03, 1.55, 1.42, 1.6},
			[4]lab.ComparisonVerdict{open, slow, slow, slow}),
		waterfall("peak_memory", [4]float64{1.02, 1.0, 1.9, 1.7}, [4]lab.ComparisonVerdict{same, same, slow, slow}),
		waterfall("response_time_p99", [4]float64{1.012, 1.71, 1.33, 0.28},
			[4]lab.ComparisonVerdict{same, slow, slow, fast}),
	}
}

func TestLoadFixtureIsUpToDate(t *testing.T) {
	in := shopUnderLoad()
	a := Analyse(in)
	a.Waterfalls = madeUpWaterfalls(a.Points)
	e := newExperiment(in)
	for _, s := range a.Waterfalls[0].Steps { // so that its answer is that of an explanation
		e.study.Steps = append(e.study.Steps, lab.PathStep{Order: 1, Before: s.Before, Variant: s.Variant})
	}
	a.Answer = e.conclude(a)
	data := encode(t, a)
	if *update {
		testset.Must(t, os.WriteFile(loadFixture, data, 0o644))
	}
	stored, err := os.ReadFile(loadFixture)
	testset.Must(t, err)
	var have, want lab.Analysis
	testset.Must(t, errors.Join(json.Unmarshal(stored, &have), json.Unmarshal(data, &want)))
	if fmt.Sprintf("%.9v", have.Curves) != fmt.Sprintf("%.9v", want.Curves) ||
		fmt.Sprintf("%.6v", have.Usages) != fmt.Sprintf("%.6v", want.Usages) ||
		len(have.Spectra) != len(want.Spectra) {
		t.Errorf("%s is stale: run go test ./report/analysis -update", loadFixture)
	}
}
