// Package study reads study files, finds every mistake in them at once, and
// expands a study into a plan of trials in seeded order. Study files are data:
// nothing in them is executed.
//
// Entry points: Parse, File.Resolve, Expand. The format is described in
// docs/study-files.md and docs/schema/study.schema.json.
package study

import (
	"cmp"
	"fmt"
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
	// MaxBlocks limits the blocks of a study.
	MaxBlocks  = 1000
	maxClaims  = 200
	maxRepeats = 10
	// MostLengthened is the largest factor by which a load can be made longer than planned.
	MostLengthened = 16
	maxWarmups     = 10
	maxScale       = 1000
	maxVotes       = 9
	// leastResolution is the smallest resolution of a search for a capacity, as a ratio of rates.
	leastResolution = 1.002
)

// File is a study as written, with its quick profile. Parse returns one. Commands that build a study
// themselves call Resolve on a File with Study alone, which has no lines and no info about the system.
type File struct {
	Path  string
	Study lab.Study
	Quick *Quick
	// lines holds the line of every value by its place in the file, such as variants.uds.knobs. The place of
	// the whole file is "". lines is nil for a plan.
	lines map[string]int
	info  lab.SystemInfo // of the study's system
	// variants holds the variants as the file has them, by name; nil for a plan.
	variants     map[string]writtenVariant
	hosts        map[string]lab.Network // links of hosts, for all variants
	writtenSteps writtenSteps           // without variants the study has no steps
	planned      bool                   // from a plan: twins are among the variants, levels are scaled
}

// Quick holds the changes of a study that `--quick` makes.
type Quick struct {
	Scale  float64  `yaml:"scale,omitempty"`
	Blocks int      `yaml:"blocks,omitempty"`
	Points []string `yaml:"points,omitempty"`
	// Variants names the variants that are played; empty: all.
	Variants []string `yaml:"variants,omitempty"`
	// RestrictedPoints narrows the points of variants that have points of their own; empty: they keep all.
	RestrictedPoints []string `yaml:"restricted_points,omitempty"`
	// Load holds the settings that replace those of the study's load; nil: none.
	Load *lab.Load `yaml:"load,omitempty"`
	// Took is the time that the quick profile took on its author's host, in seconds; 0: unknown.
	Took float64 `yaml:"took,omitempty,span"`
}

// written is the form of a study file. It hides the fields of lab.Study that have another form in the file,
// and adds the keys that lab.Study does not have.
type written struct {
	lab.Study
	Variants yaml.Node              `yaml:"variants"`
	Points   yaml.Node              `yaml:"points,omitempty"`
	Factors  yaml.Node              `yaml:"factors,omitempty"`
	Faults   []yaml.Node            `yaml:"faults,omitempty"`
	Steps    writtenSteps           `yaml:"steps,omitempty"`
	Hosts    map[string]lab.Network `yaml:"hosts,omitempty"`
	Quick    *Quick                 `yaml:"quick,omitempty"`
}

// Problems holds all mistakes of a study file, in the order of lines. It is the
// error of Parse and Resolve.
type Problems = yamlfile.Problems

// Parse reads a study file. path is only used in messages. systems are the
// systems under test by name. The error is of type Problems.
func Parse(path string, data []byte, systems map[string]lab.SystemInfo) (*File, error) {
	r := &yamlfile.Reader{Format: format(), File: path}
	root := r.Root(data)
	if root == nil {
		return nil, r.Problems.OrNil()
	}
	w := written{Quick: &Quick{Scale: 1}}
	w.Design = Defaults()
	w.Load = &lab.Load{Duration: defaultLoad}
	f := &File{Path: path, lines: r.Decode(root, &w), variants: map[string]writtenVariant{}}
	f.take(r, w)
	f.check(r, systems)
	if err := r.Problems.OrNil(); err != nil {
		return nil, err
	}
	f.Study.Model = f.info.Model
	return f, nil
}

// Defaults returns the settings of a design that a file need not give. The reasons for
// the numbers are in docs/statistics.md.
func Defaults() lab.Design {
	return lab.Design{
		Blocks: 10, Seed: 1, Scale: 1, Margin: 0.05, Confidence: 0.95, MaxRepeats: 2, TrialTimeout: 3600,
		Gates: lab.Gates{MaxStealShare: 0.01, MaxCalibrationDrift: 0.05},
	}
}

// take moves the decoded study file into f, and parses the keys whose form differs from lab.Study.
func (f *File) take(r *yamlfile.Reader, w written) {
	f.Study = w.Study
	f.Quick = w.Quick
	f.hosts = w.Hosts
	f.writtenSteps = w.Steps
	if f.lines["load"] == 0 {
		f.Study.Load = nil
	} else {
		settleWarmUp(f.Study.Load)
	}
	if f.lines["quick"] == 0 {
		f.Quick = nil
	} else if f.lines["quick.blocks"] == 0 {
		f.Quick.Blocks = f.Study.Design.Blocks
	}
	if f.Quick != nil && f.Quick.Load != nil {
		settleWarmUp(f.Quick.Load)
		if f.Quick.Load.Objective != "" {
			r.Problem(f.lines["quick.load.objective"], "quick.load has an objective: there is one, that of load")
		}
	}
	if f.lines["variants"] > 0 {
		f.readVariants(r, &w.Variants)
	}
	if f.lines["points"] > 0 {
		f.readPoints(r, &w.Points)
	}
	if f.lines["factors"] > 0 {
		f.readFactors(r, &w.Factors)
	}
	for i := range w.Faults {
		f.readFault(r, &w.Faults[i])
	}
}

// writtenVariant is the form of a variant in a study file. Deployed holds settings that apply in one
// deployment only, by its name. Only lists the deployments in which the variant is played; empty: all.
// An optional variant becomes absent, instead of a mistake, if it is impossible on this host.
type writtenVariant struct {
	lab.Variant
	Deployed map[string]struct {
		Replicas map[string]int        `yaml:"replicas,omitempty"`
		Limits   map[string]lab.Limits `yaml:"limits,omitempty"`
		Nodes    map[string]string     `yaml:"nodes,omitempty"`
	} `yaml:"deployed,omitempty"`
	Only     []string `yaml:"only,omitempty"`
	Optional bool     `yaml:"optional,omitempty"`
}

func (f *File) readVariants(r *yamlfile.Reader, node *yaml.Node) {
	r.Pairs(node, "variants", func(key, value *yaml.Node) {
		v := writtenVariant{Variant: lab.Variant{Name: key.Value, Deployment: lab.Process}}
		place := "variants." + v.Name
		r.DecodeAt(place, value, &v, f.lines)
		f.lines[place] = key.Line
		for _, deployment := range slices.Sorted(maps.Keys(v.Deployed)) {
			own, at := v.Deployed[deployment], place+".deployed."+deployment
			checkDeployment(r, f.lines[at], "deployed", deployment, lab.Deployments())
			f.checkUnits(r, at, lab.Variant{Name: v.Name, Replicas: own.Replicas, Limits: own.Limits,
				Nodes: own.Nodes})
		}
		for i, deployment := range v.Only {
			checkDeployment(r, f.lines[fmt.Sprintf("%s.only[%d]", place, i)], "only", deployment, lab.Deployments())
		}
		f.variants[v.Name] = v
		f.Study.Variants = append(f.Study.Variants, v.Variant)
	})
}

func (f *File) readPoints(r *yamlfile.Reader, node *yaml.Node) {
	r.Pairs(node, "points", func(key, value *yaml.Node) {
		p := lab.Point{Name: key.Value, Levels: map[string]float64{}}
		f.lines["points."+p.Name] = key.Line
		if !yamlfile.IsName(p.Name) {
			r.Problem(key.Line, "point is called %q, expected at most %d lower-case letters, digits, dots "+
				"and dashes", p.Name, yamlfile.MaxName)
		}
		r.Pairs(value, "point "+p.Name, func(factor, level *yaml.Node) {
			number := math.NaN() // marks a level that the reader refuses, so that it is not checked again
			r.DecodeAt("points."+p.Name+"."+factor.Value, level, &number, f.lines)
			p.Levels[factor.Value] = number
		})
		f.Study.Points = append(f.Study.Points, p)
	})
}

// readFactors adds a point to the study for every combination of the factors' levels. The study may also have
// points from the key "points".
func (f *File) readFactors(r *yamlfile.Reader, node *yaml.Node) {
	type level struct {
		text   string
		number float64 // NaN: the reader has refused it
	}
	points := []lab.Point{{Levels: map[string]float64{}}}
	factors := r.Pairs(node, "factors", func(key, value *yaml.Node) {
		var levels []level
		r.List(value, "factor "+key.Value, func(_ int, node *yaml.Node) {
			number := math.NaN()
			r.DecodeAt("factors."+key.Value, node, &number, f.lines)
			levels = append(levels, level{node.Value, number})
		})
		if value.Kind == yaml.SequenceNode && len(levels) == 0 {
			r.Problem(key.Line, "factor %s has no levels", key.Value)
		}
		if len(points)*len(levels) > maxPoints {
			r.Problem(key.Line, "the factors cross to more than %d points", maxPoints)
			return
		}
		var crossed []lab.Point
		for _, p := range points {
			for _, level := range levels {
				q := lab.Point{Name: strings.TrimPrefix(p.Name+"-"+key.Value+level.text, "-"),
					Levels: maps.Clone(p.Levels)}
				q.Levels[key.Value] = level.number
				crossed = append(crossed, q)
			}
		}
		points = crossed
	})
	if len(factors) == 0 {
		return
	}
	for _, p := range points {
		f.lines["points."+p.Name] = f.lines["factors"]
	}
	f.Study.Points = append(f.Study.Points, points...)
}

const (
	// Steady is the value of warm_up for a warm-up that goes on until the load is steady.
	Steady = "steady"
	// WarmUpLimit is the default limit of a warm-up until the load is steady, in seconds.
	WarmUpLimit = 60
)

// defaultLoad is the default length of a load, in seconds.
const defaultLoad = 10

// settleWarmUp replaces the infinite length that stands for "steady" by a length of 0 and a limit.
func settleWarmUp(l *lab.Load) {
	if math.IsInf(l.WarmUp, 1) {
		l.WarmUp = 0
		l.WarmUpLimit = cmp.Or(l.WarmUpLimit, WarmUpLimit)
	}
}

// variantNames lists the variants that can be built, in the order of the file.
func (f *File) variantNames() []string {
	return NamesOf(f.Study.Variants, func(v lab.Variant) string { return v.Name })
}

// claimable lists the variants that claims, steps, noise_floor and the quick profile may name: those that can
// be built here and the absent ones.
func (f *File) claimable() []string {
	absent := NamesOf(f.Study.Absent, func(v lab.AbsentVariant) string { return v.Name })
	return append(f.variantNames(), absent...)
}

// pointNames lists the points in the order of the file.
func (f *File) pointNames() []string {
	return NamesOf(f.Study.Points, func(p lab.Point) string { return p.Name })
}

// NamesOf returns the names of things, in the same order.
func NamesOf[T any](things []T, name func(T) string) []string {
	var names []string
	for _, one := range things {
		names = append(names, name(one))
	}
	return names
}
