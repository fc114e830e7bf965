// Package study reads study files, finds every mistake in them at once, and
// expands a study into a plan of trials in seeded order. Study files are data:
// nothing in them is executed.
//
// Entry points: Parse, File.Resolve, Expand. The format is described in
// docs/study-files.md and docs/schema/study.schema.json.
package study

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// Limits on what a study may ask for.
const (
	maxVariants = 100
	maxPoints   = 1000
	MaxBlocks   = 1000
	maxClaims   = 200
	maxRepeats  = 10
	// MostLengthened is how many times as long as planned a load can become.
	MostLengthened = 16
	maxWarmups     = 10
	maxScale       = 1000
	maxVotes       = 9
	// leastResolution of a search, as a ratio.
	leastResolution = 1.002
)

// File is a study as written, with its quick profile.
type File struct {
	Path  string
	Study lab.Study
	Quick *Quick
	lines lines
	info  lab.SystemInfo
	// optional are the variants that may be impossible here, by name.
	optional     map[string]bool
	deployed     deployed
	hosts        hostLinks // of the study; those of variants by their names
	variantHosts map[string]hostLinks
	way          way  // none where it names no variants
	planned      bool // the study was resolved: twins are variants, levels are scaled
}

// Quick is what `--quick` changes in a study.
type Quick struct {
	Scale  float64
	Blocks int
	Points []string
	// Variants are those that play; empty means all.
	Variants []string
	// RestrictedPoints are where variants play that are restricted to some
	// points; empty means at all of theirs.
	RestrictedPoints []string
	// Load replaces what it names of the study's load; nil: nothing.
	Load *lab.Load
	// Took is how long it took where the study was written, in seconds; 0: nobody says.
	Took float64
}

// lines remembers where things stand in the file, for later messages.
type lines struct {
	top, schema, name, system, baseline, noiseFloor, quick int
	variants, points                                       map[string]int
	claims, trends, faults                                 []int
}

// Problems are all mistakes of a study file, in the order of lines. It is the
// error of Parse and Resolve.
type Problems = yamlfile.Problems

// Parse reads a study file. path is only used in messages. systems are the
// systems under test by name. The error is of type Problems.
func Parse(path string, data []byte, systems map[string]lab.SystemInfo) (*File, error) {
	r := &reader{yamlfile.Reader{Format: format(), File: path}}
	root := r.Root(data)
	if root == nil {
		return nil, r.Problems.OrNil()
	}
	f := &File{Path: path, Study: lab.Study{Design: Defaults()}, optional: map[string]bool{},
		deployed: newDeployed(), variantHosts: map[string]hostLinks{}}
	f.lines.variants, f.lines.points = map[string]int{}, map[string]int{}
	f.read(r, root)
	f.check(r, systems)
	if err := r.Problems.OrNil(); err != nil {
		return nil, err
	}
	return f, nil
}

// Defaults returns the design's settings where the file is silent. The reasons for
// the numbers are in docs/statistics.md.
func Defaults() lab.Design {
	return lab.Design{
		Blocks: 10, Seed: 1, Scale: 1, Margin: 0.05, Confidence: 0.95, MaxRepeats: 2, TrialTimeout: 3600,
		Gates: lab.Gates{MaxStealShare: 0.01, MaxCalibrationDrift: 0.05},
	}
}

func (f *File) read(r *reader, root *yaml.Node) {
	s := &f.Study
	f.lines.top = root.Line
	r.object(root, "the study", fields{
		"schema":   at(&f.lines.schema, r.text("schema", &s.Schema)),
		"name":     at(&f.lines.name, r.text("name", &s.Name)),
		"title":    r.text("title", &s.Title),
		"question": r.text("question", &s.Question),
		"source":   r.text("source", &s.Source),
		"system":   at(&f.lines.system, r.text("system", &s.System)),
		"baseline": at(&f.lines.baseline, r.text("baseline", &s.Baseline)),
		"variants": func(n *yaml.Node) { f.readVariants(r, n) },
		"points":   func(n *yaml.Node) { f.readPoints(r, n) },
		"factors":  func(n *yaml.Node) { f.readFactors(r, n) },
		"trends":   func(n *yaml.Node) { f.readTrends(r, n) },
		"design":   func(n *yaml.Node) { f.readDesign(r, n) },
		"load":     func(n *yaml.Node) { f.readLoad(r, n) },
		"claims":   func(n *yaml.Node) { f.readClaims(r, n) },
		"faults":   func(n *yaml.Node) { f.readFaults(r, n) },
		"steps":    func(n *yaml.Node) { f.readSteps(r, n) },
		"hosts":    func(n *yaml.Node) { f.hosts = r.readHosts(n) },
		"notes":    r.texts("notes", &s.Notes),
		"quick":    func(n *yaml.Node) { f.readQuick(r, n) },
	}, "schema", "name", "title", "system", "baseline", "variants")
}

// at notes the line of a value before reading it.
func at(line *int, read func(*yaml.Node)) func(*yaml.Node) {
	return func(node *yaml.Node) {
		*line = node.Line
		read(node)
	}
}

func (f *File) readVariants(r *reader, node *yaml.Node) {
	r.Pairs(node, "variants", func(key, value *yaml.Node) {
		v := lab.Variant{Name: key.Value, Deployment: lab.Process}
		f.lines.variants[v.Name] = key.Line
		r.object(value, "variant "+v.Name, fields{
			"architecture": r.text("architecture", &v.Architecture),
			"deployment":   r.text("deployment", &v.Deployment),
			"summary":      r.text("summary", &v.Summary),
			"points":       r.texts("points", &v.Points),
			"knobs":        func(n *yaml.Node) { v.Knobs = r.named(n, "knob") },
			"replicas":     func(n *yaml.Node) { v.Replicas = r.replicas(n) },
			"limits":       func(n *yaml.Node) { v.Limits = r.limits(n) },
			"nodes":        func(n *yaml.Node) { v.Nodes = r.named(n, "node") },
			"deployed":     func(n *yaml.Node) { f.readDeployed(r, n, v.Name) },
			"only":         func(n *yaml.Node) { f.readOnly(r, n, v.Name) },
			"hosts": func(n *yaml.Node) {
				f.variantHosts[v.Name] = r.readHosts(n)
				v.Hosts = f.variantHosts[v.Name].links
			},
			"autoscale": func(n *yaml.Node) { v.Autoscale = r.autoscale(n) },
			"network": func(n *yaml.Node) {
				r.object(n, "network", fields{"delay": r.duration("delay", &v.Network.Delay),
					"rate": r.rate("rate", &v.Network.Rate)})
			},
			"optional": func(n *yaml.Node) {
				var optional bool
				r.flag("optional", &optional)(n)
				f.optional[v.Name] = optional
			},
		}, "architecture")
		f.Study.Variants = append(f.Study.Variants, v)
	})
}

func (r *reader) replicas(node *yaml.Node) map[string]int {
	return byName(r, node, "replicas", func(unit string, value *yaml.Node, n *int) {
		r.whole("replicas of "+unit, 1, lab.MaxReplicas, n)(value)
	})
}

func (r *reader) autoscale(node *yaml.Node) map[string]lab.Autoscale {
	return byName(r, node, "autoscale", func(unit string, value *yaml.Node, a *lab.Autoscale) {
		r.object(value, "the autoscaling of "+unit, fields{
			"max": r.whole("max", 2, lab.MaxReplicas, &a.Max),
			"cpu": r.share("cpu", &a.CPU),
		}, "max", "cpu")
	})
}

func (r *reader) limits(node *yaml.Node) map[string]lab.Limits {
	return byName(r, node, "limits", func(unit string, value *yaml.Node, limit *lab.Limits) {
		var memory float64
		r.object(value, "the limits of "+unit, fields{
			"cpu":    r.number("cpu", 0, maxProcessors, &limit.CPU),
			"memory": r.size("memory", &memory),
		})
		limit.Memory = int64(memory)
	})
}

// maxProcessors is more than any host has.
const maxProcessors = 10_000

// named reads texts by names; what is one of them, for messages.
func (r *reader) named(node *yaml.Node, what string) map[string]string {
	return byName(r, node, what+"s", func(name string, value *yaml.Node, one *string) {
		r.text(what+" "+name, one)(value)
	})
}

func (f *File) readPoints(r *reader, node *yaml.Node) {
	r.Pairs(node, "points", func(key, value *yaml.Node) {
		p := lab.Point{Name: key.Value, Levels: map[string]float64{}}
		f.lines.points[p.Name] = key.Line
		if !yamlfile.IsName(p.Name) {
			r.Problem(key.Line, "point is called %q, expected lower-case letters, digits, dots and dashes", p.Name)
		}
		r.Pairs(value, "point "+p.Name, func(factor, level *yaml.Node) {
			number := math.NaN() // stays so after a mistake, which is reported once
			r.number(factor.Value, -1e15, 1e15, &number)(level)
			p.Levels[factor.Value] = number
		})
		f.Study.Points = append(f.Study.Points, p)
	})
}

// readFactors crosses the levels of all factors into points.
func (f *File) readFactors(r *reader, node *yaml.Node) {
	points := []lab.Point{{Levels: map[string]float64{}}}
	r.Pairs(node, "factors", func(key, value *yaml.Node) {
		var levels []*yaml.Node
		r.List(value, "factor "+key.Value, func(_ int, level *yaml.Node) { levels = append(levels, level) })
		if len(points)*len(levels) > maxPoints {
			r.Problem(key.Line, "the factors cross to more than %d points", maxPoints)
			return
		}
		points = r.cross(points, key.Value, levels)
	})
	for _, p := range points {
		f.lines.points[p.Name] = node.Line
	}
	f.Study.Points = append(f.Study.Points, points...)
}

func (r *reader) cross(points []lab.Point, factor string, levels []*yaml.Node) []lab.Point {
	var crossed []lab.Point
	for _, p := range points {
		for _, level := range levels {
			var number float64
			r.number(factor, -1e15, 1e15, &number)(level)
			q := lab.Point{Name: strings.TrimPrefix(p.Name+"-"+factor+level.Value, "-"), Levels: maps.Clone(p.Levels)}
			q.Levels[factor] = number
			crossed = append(crossed, q)
		}
	}
	return crossed
}

func (f *File) readTrends(r *reader, node *yaml.Node) {
	r.List(node, "trends", func(_ int, child *yaml.Node) {
		var t lab.Trend
		r.object(child, "trend", fields{
			"factor": r.text("factor", &t.Factor),
			"points": r.texts("points", &t.Points),
		}, "factor", "points")
		f.Study.Trends = append(f.Study.Trends, t)
		f.lines.trends = append(f.lines.trends, child.Line)
	})
}

func (f *File) readDesign(r *reader, node *yaml.Node) {
	d := &f.Study.Design
	r.object(node, "design", fields{
		"blocks":             r.whole("blocks", 1, MaxBlocks, &d.Blocks),
		"seed":               r.seed(&d.Seed),
		"margin":             r.share("margin", &d.Margin),
		"confidence":         r.share("confidence", &d.Confidence),
		"profiled_blocks":    r.whole("profiled_blocks", 0, MaxBlocks, &d.ProfiledBlocks),
		"warmup_trials":      r.whole("warmup_trials", 0, maxWarmups, &d.WarmupTrials),
		"noise_floor":        at(&f.lines.noiseFloor, r.texts("noise_floor", &d.NoiseFloor)),
		"noise_floor_points": at(&f.lines.noiseFloor, r.texts("noise_floor_points", &d.NoiseFloorPoints)),
		"max_repeats":        r.whole("max_repeats", 0, maxRepeats, &d.MaxRepeats),
		"trial_timeout":      r.duration("trial_timeout", &d.TrialTimeout),
		"gates": func(n *yaml.Node) {
			r.object(n, "gates", fields{
				"steal":       r.share("steal", &d.Gates.MaxStealShare),
				"calibration": r.share("calibration", &d.Gates.MaxCalibrationDrift),
			})
		},
	})
	if d.Confidence < 0.5 {
		r.Problem(node.Line, "confidence is %g, expected a share from 50%% to below 100%%", d.Confidence)
	}
}

// Steady is the warm-up that goes on until the load is steady, and WarmUpLimit how long it
// does so at most where nothing is said, in seconds.
const (
	Steady      = "steady"
	WarmUpLimit = 60
)

// defaultLoad is how long a load lasts where the file is silent, in seconds.
const defaultLoad = 10

// readLoad reads how long each trial is loaded, and the objective. What is sent
// is the system's matter.
func (f *File) readLoad(r *reader, node *yaml.Node) {
	l := &lab.Load{Duration: defaultLoad}
	keys := r.loadKeys(l)
	keys["objective"] = r.text("objective", &l.Objective)
	r.object(node, "load", keys)
	r.checkWarmUp(node, l)
	if l.RampUp >= l.Duration {
		r.Problem(node.Line, "the users of the load begin over %gs, expected a ramp_up shorter than its duration "+
			"of %gs", l.RampUp, l.Duration)
	}
	f.Study.Load = l
}

// checkWarmUp sees to it that a warm-up can end when the load is steady.
func (r *reader) checkWarmUp(node *yaml.Node, l *lab.Load) {
	if limit, least := l.WarmUpLimit, max(l.WarmUp, lab.LeastWarmUpLimit); limit > 0 &&
		!(limit >= least && limit <= lab.LongestWarmUpLimit) {
		r.Problem(node.Line, "warm_up_limit is %gs, expected %gs to %gs: in less, no load shows that it is steady",
			limit, least, lab.LongestWarmUpLimit)
	}
}

// loadKeys returns the load keys that the quick profile can change too.
func (r *reader) loadKeys(l *lab.Load) fields {
	return fields{
		"duration": r.duration("duration", &l.Duration),
		"warm_up": func(n *yaml.Node) {
			if n.Value == Steady {
				l.WarmUpLimit = cmp.Or(l.WarmUpLimit, WarmUpLimit)
				return
			}
			r.duration("warm_up", &l.WarmUp)(n)
		},
		"warm_up_limit": r.duration("warm_up_limit", &l.WarmUpLimit),
		"ramp_up":       r.duration("ramp_up", &l.RampUp),
		"lateness":      r.duration("lateness", &l.Lateness),
		"search": func(n *yaml.Node) {
			r.object(n, "search", fields{
				"duration":   r.duration("duration", &l.Effort.Duration),
				"resolution": r.number("resolution", leastResolution, 2, &l.Effort.Resolution),
				"votes":      r.whole("votes", 1, maxVotes, &l.Effort.Votes),
			})
			if v := l.Effort.Votes; v > 0 && v%2 == 0 {
				r.Problem(n.Line, "votes is %d, expected an odd number: the majority decides", v)
			}
		},
	}
}

func (f *File) readQuick(r *reader, node *yaml.Node) {
	f.lines.quick = node.Line
	q := &Quick{Scale: 1, Blocks: f.Study.Design.Blocks}
	r.object(node, "quick", fields{
		"scale":             r.number("scale", 1e-6, 1, &q.Scale),
		"blocks":            r.whole("blocks", 1, MaxBlocks, &q.Blocks),
		"points":            r.texts("points", &q.Points),
		"variants":          at(&f.lines.quick, r.texts("variants", &q.Variants)),
		"restricted_points": r.texts("restricted_points", &q.RestrictedPoints),
		"took":              r.duration("took", &q.Took),
		"load": func(n *yaml.Node) {
			q.Load = &lab.Load{}
			r.object(n, "load", r.loadKeys(q.Load))
			r.checkWarmUp(n, q.Load)
		},
	})
	f.Quick = q
}

func (f *File) readClaims(r *reader, node *yaml.Node) {
	r.List(node, "claims", func(_ int, child *yaml.Node) {
		c := lab.Claim{}
		var kind string
		r.object(child, "claim", fields{
			"id":             r.text("id", &c.ID),
			"text":           r.text("text", &c.Text),
			"source":         r.text("source", &c.Source),
			"kind":           r.text("kind", &kind),
			"metric":         r.text("metric", &c.Metric),
			"variant":        r.text("variant", &c.Variant),
			"against":        r.text("against", &c.Against),
			"against_metric": r.text("against_metric", &c.AgainstMetric),
			"factor":         r.text("factor", &c.Factor),
			"points":         r.texts("points", &c.Points),
			"low":            r.number("low", -1e12, 1e12, &c.Low),
			"high":           r.number("high", 0, 1e12, &c.High),
			"published":      r.number("published", -1e12, 1e12, &c.Published),
		}, "id", "text", "kind", "variant")
		c.Kind = lab.ClaimKind(kind)
		f.Study.Claims = append(f.Study.Claims, c)
		f.lines.claims = append(f.lines.claims, child.Line)
	})
}

// variantNames lists the variants that can be built, in the order of the file.
func (f *File) variantNames() []string {
	var names []string
	for _, v := range f.Study.Variants {
		names = append(names, v.Name)
	}
	return names
}

// claimable returns the variants that claims may speak of: also those that cannot be
// built here.
func (f *File) claimable() []string {
	names := f.variantNames()
	for _, v := range f.Study.Absent {
		names = append(names, v.Name)
	}
	return names
}

// pointNames lists the points in the order of the file.
func (f *File) pointNames() []string {
	var names []string
	for _, p := range f.Study.Points {
		names = append(names, p.Name)
	}
	return slices.Clip(names)
}
