// Package analysis turns the plan and the trials of an experiment into the
// document that every view shows. It computes results, comparisons by block,
// bias, averages, trends, the ladder, verdicts on claims, published figures
// beside measured ones, and the sentences of the answer. The statistics
// themselves are in package stats; nothing here reads a file, draws or prints.
//
// The entry point is Analyse. It accepts incomplete experiments: if trials, points or
// blocks are missing, the document says so in place of numbers. All its numbers are
// finite.
package analysis

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/stats"
	"github.com/cleave-lab/cleave/studies/published"
)

// Input holds the plan and the records of an experiment.
type Input struct {
	Plan        lab.Plan
	Environment lab.Environment
	System      lab.SystemInfo
	// Trials holds all records, valid or not, in any order.
	Trials []lab.Trial
	// Published holds the figures of the study that this one reproduces; nil: none.
	Published *published.Study

	looks *stats.Sequence // levels that a Rule has computed already; nil: none
}

// Analyse returns the document of an experiment. It can be encoded as JSON, whatever is missing from the
// input.
func Analyse(in Input) lab.Analysis {
	e := newExperiment(in)
	design := e.design
	a := lab.Analysis{
		Schema: lab.AnalysisSchema, Study: e.study.Name, Title: e.study.Title, Profile: in.Plan.Profile,
		Seed: design.Seed, Scale: design.Scale, Blocks: design.Blocks,
		Confidence: design.Confidence, Margin: design.Margin,
		Operation: in.System.Operation, Baseline: e.study.Baseline,
		Environment: lab.Environment{},
		Metrics:     e.study.AllMetrics(),
		Variants:    append([]lab.Variant{}, e.study.Variants...), // [] in JSON, not null
		Points:      append([]lab.Point{}, e.study.Points...),
		Absent: slices.DeleteFunc(slices.Clone(e.study.Absent),
			func(v lab.AbsentVariant) bool { return v.Unasked }),
		Trials: e.countTrials(), Audit: e.audits(), Conditions: e.conditions(),
		NoiseFloor: e.noise, Biases: e.biases, Margins: e.margins,
	}
	maps.Copy(a.Environment, in.Environment)
	a.Results = e.results()
	a.Comparisons = e.comparisons()
	a.Averages = e.averages()
	a.Trends = e.trends()
	a.ScalingFits = e.scalingFits()
	a.Ladder = e.ladder()
	a.Claims = e.judgeClaims()
	a.Published = e.publishedFigures(a)
	a.Held = e.heldRates()
	a.Steadiness = e.steady
	a.WarmUps = e.warmUps
	a.Layers = e.layers()
	a.Operations = e.operations()
	a.Courses = e.courses()
	a.Searches = e.searches()
	a.Curves = e.curves()
	a.Spectra = e.spectra()
	a.Usages = e.usages()
	a.Paths = e.paths()
	a.Pictures = e.pictures()
	a.UsageSums = usageSums(a.Usages)
	a.Roles = rolesBySize(a.Usages)
	markPiledUp(a.Comparisons, a.Curves)
	a.Traced = e.traced()
	if e.study.Load != nil {
		a.Objective = e.study.Load.Objective
		a.LoadSeconds = e.loadSeconds()
	}
	e.noteLoad(a)
	a.NodeLoads = e.nodeLoads()
	a.Platforms = e.platforms()
	a.Statics = e.statics()
	a.Waterfalls = e.waterfalls()
	a.Factorial = e.study.Factorial
	a.FactorEffects = e.factorEffects()
	a.Bottlenecks = e.bottlenecks(a)
	a.Answer = e.conclude(a)
	e.noteRemarks()
	a.Notes = e.allNotes()
	return a
}

// allNotes returns the notes of the study, the findings on the published study, and the notes of the
// analysis.
func (e *experiment) allNotes() []string {
	notes := append([]string{}, e.study.Notes...)
	if e.in.Published != nil {
		for _, finding := range e.in.Published.Findings {
			prefix := "Published study, method: "
			if finding.Level == published.StatusWrong {
				prefix = "Published study, wrong: "
			}
			notes = append(notes, prefix+finding.Text)
		}
	}
	return append(notes, e.notes...)
}

// number returns a pointer to a number, for a document, or nil if it is not finite.
func number(value float64) *float64 {
	if !figure.Finite(value) {
		return nil
	}
	return &value
}

// ratioOf returns an estimate over n blocks in the form of the document.
func ratioOf(e stats.Estimate, n int) lab.Ratio {
	r := lab.Ratio{Ratio: e.Value, N: n}
	r.Low, r.High = bounds(e.Low, e.High)
	return r
}

// bounds returns both ends of an interval, or nil for both if one is not finite: half
// an interval could be taken for a whole one.
func bounds(low, high float64) (*float64, *float64) {
	if !figure.Finite(low) || !figure.Finite(high) {
		return nil, nil
	}
	return &low, &high
}
