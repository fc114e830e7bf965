package lab

import (
	"math/rand/v2"
	"slices"
	"time"
)

// StudySchema, PlanSchema, TrialSchema and AnalysisSchema version the documents
// that Cleave reads and writes. docs/schema holds one JSON Schema for each. The keys of study files are in
// tags named yaml, with the unit in which a number is written there (see package study).
const (
	StudySchema    = "cleave-study/1"
	PlanSchema     = "cleave-plan/1"
	TrialSchema    = "cleave-trial/1"
	AnalysisSchema = "cleave-analysis/2"
)

// Study is an experiment with questions and claims, as read from a study file.
type Study struct {
	Schema   string    `json:"schema" yaml:"schema"`
	Name     string    `json:"name" yaml:"name"`
	Title    string    `json:"title" yaml:"title"`
	Question string    `json:"question" yaml:"question,omitempty"`
	Source   string    `json:"source,omitempty" yaml:"source,omitempty"`
	System   string    `json:"system" yaml:"system"`
	Baseline string    `json:"baseline" yaml:"baseline"` // variant that the others are compared with
	Variants []Variant `json:"variants"`
	// Absent lists the variants of the study that are not played, because this host cannot or the user has not
	// selected them.
	Absent []AbsentVariant `json:"absent,omitempty"`
	Points []Point         `json:"points"`
	// Unasked lists the names of points of the study that the user has not selected for this run.
	Unasked []string `json:"unasked,omitempty"`
	// Trends lists factors along which a straight line and an exponent are fitted.
	Trends []Trend `json:"trends,omitempty" yaml:"trends,omitempty"`
	Design Design  `json:"design" yaml:"design,omitempty"`
	Claims []Claim `json:"claims,omitempty" yaml:"claims,omitempty"`
	// Steps lead from one variant to another: one knob at a time, or between
	// variants that the study plays anyway (see PathStep.Name).
	Steps []PathStep `json:"steps,omitempty"`
	// Factorial is the design of a study that sets several knobs together; nil: it has none.
	Factorial *Factorial `json:"factorial,omitempty"`
	// Explained selects the metrics and points at which the steps are shown; nil: all.
	Explained *Explained `json:"explained,omitempty"`
	// Model is the text of the model file that the system plays; empty: it plays none.
	Model string `json:"model,omitempty"`
	// Load configures the generator of a system; nil for a system with a job of its own.
	Load *Load `json:"load,omitempty" yaml:"load,omitempty"`
	// Took is the duration of the experiment on the author's host, in seconds, if known; only for information.
	Took float64 `json:"took_seconds,omitempty"`
	// Faults lists the faults that are injected into every trial.
	Faults []Fault `json:"faults,omitempty"`
	// Metrics lists the system's own metrics; empty means JobMetrics.
	Metrics []Metric `json:"metrics,omitempty"`
	// Notes lists the study's known errors and limits, for the report.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
}

// Design is the experimental design.
type Design struct {
	Blocks int    `json:"blocks" yaml:"blocks,omitempty"`
	Seed   uint64 `json:"seed" yaml:"seed,omitempty"`
	// Scale multiplies the scaled parameters of the system; 1 is the full study.
	Scale float64 `json:"scale"`
	// Margin is the smallest ratio - 1 that matters (0.05: five percent).
	Margin float64 `json:"margin" yaml:"margin,omitempty,share"`
	// Confidence is the level of every interval (0.95).
	Confidence float64 `json:"confidence" yaml:"confidence,omitempty,share"`
	// WarmupTrials are played per variant and point before the first block and
	// not recorded.
	WarmupTrials int `json:"warmup_trials" yaml:"warmup_trials,omitempty"`
	// NoiseFloor lists the variants that also run as a twin of themselves (A/A comparison).
	NoiseFloor []string `json:"noise_floor,omitempty" yaml:"noise_floor,omitempty"`
	// NoiseFloorPoints lists the points of the twins; empty means those of their originals.
	NoiseFloorPoints []string `json:"noise_floor_points,omitempty" yaml:"noise_floor_points,omitempty"`
	// Until is UntilDecided if the experiment evaluates its data after every block from
	// FirstLook on and plays no further trials for decided questions; empty: it plays all Blocks.
	Until string `json:"until,omitempty"`
	// Within limits the time of an experiment until it is decided, counted anew at each start or resume, in
	// seconds; 0: no limit.
	Within float64 `json:"within_seconds,omitempty"`
	// Lengthen is the largest factor by which load and warm-up may be lengthened at a point whose trials are
	// not steady; see StoppingRule. 0: they are not lengthened.
	Lengthen float64 `json:"lengthen,omitempty"`
	// ProfiledBlocks is the number of first blocks in which every variant is played once more at every point,
	// under the profilers of its runtimes. The times of such trials do not count.
	ProfiledBlocks int `json:"profiled_blocks,omitempty" yaml:"profiled_blocks,omitempty"`
	// MaxRepeats limits the repeats of an invalid trial, and the additional blocks for trials that are still
	// invalid after them.
	MaxRepeats   int     `json:"max_repeats" yaml:"max_repeats,omitempty"`
	TrialTimeout float64 `json:"trial_timeout_seconds" yaml:"trial_timeout,omitempty,span"`
	Gates        Gates   `json:"gates" yaml:"gates,omitempty"`
}

// UntilDecided is the design of an experiment that evaluates its data while it runs: after
// every block from FirstLook on. MostLooked is the largest number of blocks that such a design may have.
const (
	UntilDecided = "decided"
	FirstLook    = 3
	MostLooked   = 50
)

// Gates holds the limits of the host's conditions for a valid trial.
type Gates struct {
	MaxStealShare float64 `json:"max_steal_share" yaml:"steal,omitempty,share"`
	// MaxCalibrationDrift is the largest |calibration/median - 1|. If three standard
	// deviations of the host's calibrations are more, they are the limit instead.
	MaxCalibrationDrift float64 `json:"max_calibration_drift" yaml:"calibration,omitempty,share"`
}

// Explained lists the metrics and the points at which the steps of a study are shown. An
// empty list means all.
type Explained struct {
	Metrics []string `json:"metrics,omitempty" yaml:"metrics,omitempty"`
	Points  []string `json:"points,omitempty" yaml:"points,omitempty"`
}

// Explains reports whether the steps are the answer of the study. A study with claims is
// answered by the claims, and its steps are additional.
func (s Study) Explains() bool { return len(s.Steps) > 0 && len(s.Claims) == 0 }

// Trend requests a line through the means at some points along a factor.
type Trend struct {
	Factor string   `json:"factor" yaml:"factor"` // the name of a factor of the points
	Points []string `json:"points" yaml:"points"` // names of points with different levels of the factor
}

// AbsentVariant is a variant that is not played, with the reason.
type AbsentVariant struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitempty"`
	Reason  string `json:"reason"`
	// Unasked: the user has not selected it; this host may be able to play it.
	Unasked bool `json:"unasked,omitempty"`
}

// Untestable returns a sentence that says why this host cannot play the variant.
func (v AbsentVariant) Untestable() string { return UntestableHere(v.Name, v.Reason) }

// UntestableHere returns a sentence that says why something cannot be tested on this host.
func UntestableHere(what, why string) string { return what + ": untestable here: " + why }

// Plan is a study expanded into trials in the order in which they are played.
type Plan struct {
	Schema  string         `json:"schema"`
	Created time.Time      `json:"created"`
	Profile string         `json:"profile"` // "full" or "quick"
	Study   Study          `json:"study"`   // resolved: twins added, points scaled
	Trials  []PlannedTrial `json:"trials"`
}

// PlannedTrial is one trial to be played.
type PlannedTrial struct {
	Number  int    `json:"number"` // 1..n in playing order
	Block   int    `json:"block"`  // 1..Design.Blocks; further blocks are not in the plan
	Variant string `json:"variant"`
	Point   string `json:"point"`
	Seed    uint64 `json:"seed"`
	// Profiled trials are played under the profilers of the runtimes, and are compared
	// with nothing that is timed.
	Profiled bool `json:"profiled,omitempty"`
}

// Originals returns the number of variants without twins.
func (s Study) Originals() int {
	n := 0
	for _, v := range s.Variants {
		if v.TwinOf == "" {
			n++
		}
	}
	return n
}

// Variant returns the named variant of the study.
func (s Study) Variant(name string) (Variant, bool) {
	return first(s.Variants, func(v Variant) bool { return v.Name == name })
}

// Point returns the named point of the study.
func (s Study) Point(name string) (Point, bool) {
	return first(s.Points, func(p Point) bool { return p.Name == name })
}

// first returns the first element for which is returns true, if any.
func first[T any](all []T, is func(T) bool) (found T, has bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return found, false
}

// Block returns the trials of a block, with numbers from last + 1 on: every variant once at
// every point. Points are in random order, and the variants of each point are in random
// order one right after the other, so that compared trials are close in time. All variants
// of a block have the same seed at a point, and so the same random choices. The same study and
// number always give the same block. Profiled trials are not in it.
func (s Study) Block(block, last int) []PlannedTrial {
	var trials []PlannedTrial
	random := rand.New(rand.NewPCG(s.Design.Seed, uint64(block)))
	for _, p := range shuffled(random, s.Points) {
		seed := random.Uint64() >> 11 // exact in JSON readers that know only doubles
		for _, v := range shuffled(random, s.Variants) {
			if v.RunsAt(p.Name) {
				trials = append(trials, PlannedTrial{Number: last + len(trials) + 1, Block: block, Variant: v.Name,
					Point: p.Name, Seed: seed})
			}
		}
	}
	return trials
}

func shuffled[T any](random *rand.Rand, items []T) []T {
	mixed := slices.Clone(items)
	random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	return mixed
}
