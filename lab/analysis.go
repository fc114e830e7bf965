package lab

import "slices"

// Analysis holds the results of an experiment: it is the document of --json and
// analysis.json.
type Analysis struct {
	Schema     string  `json:"schema"`
	Study      string  `json:"study"`
	Title      string  `json:"title"`
	Profile    string  `json:"profile"` // "full" or "quick", a smaller plan for a first look
	Seed       uint64  `json:"seed"`
	Scale      float64 `json:"scale"`      // the share of the work of the full study: 1 is all of it
	Blocks     int     `json:"blocks"`     // planned
	Confidence float64 `json:"confidence"` // of every interval: 0.95
	Margin     float64 `json:"margin"`     // the smallest ratio - 1 that matters: 0.05
	Operation  string  `json:"operation"`  // the name of an operation of the system: "round trip"
	Baseline   string  `json:"baseline"`   // the variant that the others are compared with
	// Objective is the condition of capacities: a capacity is the highest rate at which it
	// holds. Empty if the study has none.
	Objective   string      `json:"objective,omitempty"`
	Answer      Conclusion  `json:"answer"`
	Trials      TrialCounts `json:"trials"` // lists of runs read the document only up to this key
	Environment Environment `json:"environment"`
	Metrics     []Metric    `json:"metrics"`
	Variants    []Variant   `json:"variants"`
	// Absent lists the variants that this host cannot play. Notes name each missing part.
	Absent []AbsentVariant `json:"absent,omitempty"`
	Points []Point         `json:"points"`
	// NoiseFloor holds, by metric, the widest interval of a variant compared with its twin: measurements of
	// the same thing can differ by that much on this host.
	NoiseFloor map[string]Ratio `json:"noise_floor"`
	// Biases lists the twins that differ from their originals, perhaps by more than Margin.
	Biases []Bias `json:"biases,omitempty"`
	// Margins holds the widest margin of the verdicts, by metric: Margin, or a bias if that
	// is larger.
	Margins     map[string]float64 `json:"margins"`
	Results     []Result           `json:"results"`
	Comparisons []Comparison       `json:"comparisons"`
	Averages    []Average          `json:"averages"`
	Trends      []TrendLine        `json:"trends"`
	// ScalingFits are throughputs along factors such as users, with the Universal Scalability Law.
	ScalingFits []ScalingFit      `json:"scaling_fits,omitempty"`
	Ladder      []Rung            `json:"ladder"`
	Claims      []Judgement       `json:"claims"`
	Published   []PublishedFigure `json:"published"`
	// LoadSeconds holds the duration of the measured load of each trial, in seconds, by the name of the point.
	// It is absent for jobs, which last until they are done.
	LoadSeconds map[string]float64 `json:"load_seconds,omitempty"`
	// Held lists the offered rates of a system under load, and whether it held them.
	Held []HeldRate `json:"held,omitempty"`
	// Steadiness describes the course of trials whose course was recorded, and WarmUps how the load before
	// them became steady.
	Steadiness []Steadiness `json:"steadiness,omitempty"`
	WarmUps    []WarmUps    `json:"warm_ups,omitempty"`
	// Only systems under load have Curves, Spectra, Usages and Paths. Only experiments that
	// change one knob at a time have Waterfalls.
	Curves  []Curve     `json:"curves,omitempty"`
	Spectra []Spectrum  `json:"spectra,omitempty"`
	Usages  []RoleUsage `json:"usages,omitempty"`
	// UsageSums are the sums of Usages by variant and point, without a role and without the generator. Roles
	// lists the roles in them by their CPU per operation over the whole study, the largest first.
	UsageSums []RoleUsage `json:"usage_sums,omitempty"`
	Roles     []string    `json:"roles,omitempty"`
	Paths     []TrialPath `json:"paths,omitempty"`
	// Traced compares variants with the baseline by the spans that their units sent.
	Traced []TracedVariant `json:"traced,omitempty"`
	// NodeLoads holds the usage of each node, if the deployment has nodes.
	NodeLoads []NodeLoad `json:"node_loads,omitempty"`
	// Platforms holds the usage of the platforms of deployments, such as Docker, apart from that of the units.
	Platforms []PlatformTake `json:"platforms,omitempty"`
	// Statics holds what variants cost even without load, such as processes, tables and lines of code.
	Statics []VariantStatics `json:"statics,omitempty"`
	// Courses holds the course of every trial.
	Courses []TrialCourse `json:"courses,omitempty"`
	// Searches holds the results of the searches for the capacity, one per trial.
	Searches []TrialSearch `json:"searches,omitempty"`
	// Operations holds the results of each operation, if a load has several.
	Operations []OperationTimes `json:"operations,omitempty"`
	// Layers divides the CPU time among layers, in experiments with profiled trials.
	Layers []LayerShare `json:"layers,omitempty"`
	// Pictures holds the architecture of every variant at every point.
	Pictures   []Picture   `json:"pictures,omitempty"`
	Waterfalls []Waterfall `json:"waterfalls,omitempty"`
	// Factorial is the design of a study that sets several knobs together, and FactorEffects are its results.
	Factorial     *Factorial      `json:"factorial,omitempty"`
	FactorEffects []FactorEffects `json:"factor_effects,omitempty"`
	// Bottlenecks holds the results of studies that scale units one at a time.
	Bottlenecks []Bottleneck `json:"bottlenecks,omitempty"`
	// Rehearsed holds the results of a rehearsal: figures of the changed system, calculated from measurements of
	// the system as it is.
	Rehearsed  []RehearsedFigure   `json:"rehearsed,omitempty"`
	Audit      map[string]AuditSum `json:"audit"` // by variant
	Conditions ConditionSummary    `json:"conditions"`
	Notes      []string            `json:"notes"`
}

// VariantNames returns the names of the variants in the order of the study, without twins.
func (a Analysis) VariantNames() (names []string) {
	for _, v := range a.Variants {
		if v.TwinOf == "" {
			names = append(names, v.Name)
		}
	}
	return names
}

// StruckOut reports whether a variant, or its twin, broke a rule of its system. It is then shown in no speed
// comparison.
func (a Analysis) StruckOut(variant string) bool {
	return slices.ContainsFunc(a.Variants, func(v Variant) bool {
		isTwin := v.TwinOf != "" && v.TwinOf == variant
		same := isTwin || v.Name == variant
		return same && a.Audit[v.Name].Verdict == AuditInvalid
	})
}

// TrialCounts holds the numbers of planned, valid and invalid trials.
type TrialCounts struct {
	Planned int `json:"planned"` // includes Further
	Valid   int `json:"valid"`
	// Further is the number of trials that were added to the plan, to replace lost ones.
	Further int `json:"further,omitempty"`
	// Spared is the number of planned trials that were not played, because their comparisons were already
	// decided, or the time was up.
	Spared int `json:"spared,omitempty"`
	// Shorter is the number of trials that do not count, because the later ones at their points were made
	// longer.
	Shorter int            `json:"shorter,omitempty"`
	Invalid []InvalidTrial `json:"invalid"`
}

// InvalidTrial is an attempt that did not count.
type InvalidTrial struct {
	Trial   int    `json:"trial"`
	Attempt int    `json:"attempt"`
	Variant string `json:"variant"`
	Point   string `json:"point"`
	Reason  string `json:"reason"`
}

// Ratio is an estimated ratio with its confidence interval. Low and High are
// null if there are too few blocks for an interval.
type Ratio struct {
	Ratio float64  `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	N     int      `json:"n"` // blocks; of two samples without blocks, the size of the smaller one
}

// Bias is a difference between a variant and its twin, which is the same under a second name.
type Bias struct {
	Metric  string `json:"metric"`
	Point   string `json:"point"`
	Variant string `json:"variant"`
	Ratio          // twin / original
	// PHolm is the two-sided p-value against a ratio of 1, adjusted over all Family
	// comparisons of twins with their originals.
	PHolm  float64 `json:"p_holm"`
	Family int     `json:"family"`
}

// Result is one metric of one variant at one point over the valid trials.
type Result struct {
	Variant string    `json:"variant"`
	Point   Point     `json:"point"`
	Metric  string    `json:"metric"`
	Unit    string    `json:"unit"`
	N       int       `json:"n"` // trials
	Mean    float64   `json:"mean"`
	Low     *float64  `json:"low"`
	High    *float64  `json:"high"`
	Values  []float64 `json:"values"` // one per trial, in block order
	// ToMean holds each value divided by Mean, with four digits. It is absent if Mean is not positive.
	ToMean []float64 `json:"to_mean,omitempty"`
	Blocks []int     `json:"blocks"` // the block of each value
}

// ComparisonVerdict is the result of comparing a variant with its baseline.
type ComparisonVerdict string

// The verdicts of comparisons.
const (
	Slower     ComparisonVerdict = "slower"
	Faster     ComparisonVerdict = "faster"
	Equivalent ComparisonVerdict = "equivalent"
	Undecided  ComparisonVerdict = "undecided"
)

// Differs reports whether the data show a difference.
func (v ComparisonVerdict) Differs() bool { return v == Slower || v == Faster }

// Comparison is the ratio of a variant to its baseline, by block, of one metric at one point.
type Comparison struct {
	Metric   string `json:"metric"`
	Point    Point  `json:"point"`
	Variant  string `json:"variant"`
	Baseline string `json:"baseline"`
	Ratio
	// RatioOfMeans has the interval of Kalibera and Jones, after Fieller. It answers
	// questions about totals. Null if the denominator may be zero.
	RatioOfMeans *Ratio `json:"ratio_of_means"`
	// Spread names the data that the width of the interval is estimated from: the "table" of all variants and
	// blocks, the two "variants" if they scatter unlike the others, or the "pair" alone. Degrees holds the
	// degrees of freedom.
	Spread  string   `json:"spread,omitempty"`
	Degrees *float64 `json:"degrees,omitempty"` // see Spread; absent without an interval
	// Margin is the margin that the verdict used: the study's, or the bias of these two variants if that is
	// larger. 0 without an interval.
	Margin float64 `json:"margin"`
	// HolmLow and HolmHigh are the interval at the family-wise level.
	HolmLow  *float64          `json:"holm_low"`
	HolmHigh *float64          `json:"holm_high"`
	P        *float64          `json:"p"`      // two-sided, against a ratio of 1
	PHolm    *float64          `json:"p_holm"` // adjusted over the family
	Family   int               `json:"family"` // comparisons adjusted together
	Verdict  ComparisonVerdict `json:"verdict"`
	Words    string            `json:"words"`
	// MoreBlocks estimates how many more blocks an undecided comparison needs.
	MoreBlocks int `json:"more_blocks,omitempty"`
	// Unsteady says why the verdict depends on how long the trials lasted. It is empty if
	// no such dependence was found.
	Unsteady string `json:"unsteady,omitempty"`
	// Withheld is set if the verdict is undecided only for the reason in Unsteady.
	Withheld bool `json:"withheld,omitempty"`
	// PiledUp is set if one of the two did not hold the rate of the point. The ratio of times then grows with
	// the length of the load.
	PiledUp bool `json:"piled_up,omitempty"`
}

// Average is a ratio averaged over several points, with figures that say whether an average makes sense.
type Average struct {
	Metric     string   `json:"metric"`
	Variant    string   `json:"variant"`
	Baseline   string   `json:"baseline"`
	Points     []string `json:"points"`
	Arithmetic float64  `json:"arithmetic"` // the one that many studies use
	Geometric  float64  `json:"geometric"`
	Harmonic   float64  `json:"harmonic"`
	OfSums     float64  `json:"of_sums"` // the sum of the variant's means over that of the baseline's
	// Q is Cochran's Q, which says with P and I2 whether the points share one ratio.
	Q  *float64 `json:"q"`
	P  *float64 `json:"p"`  // p-value of Q if they do
	I2 *float64 `json:"i2"` // I squared: the share of the variation between points that is not chance
	// Mean is the mean of a model in which each point has a ratio of its own (random effects).
	Mean           *Ratio   `json:"mean"`
	PredictionLow  *float64 `json:"prediction_low"` // of the interval for the ratio of a new point
	PredictionHigh *float64 `json:"prediction_high"`
	// Homogeneous is set if one number may stand for all points, since I2 is at most 0.5.
	Homogeneous bool `json:"homogeneous"`
}

// TrendLine is a straight line and a power law through means along a factor.
type TrendLine struct {
	Metric       string    `json:"metric"`
	Unit         string    `json:"unit"`
	Variant      string    `json:"variant"`
	Factor       string    `json:"factor"`
	Points       []string  `json:"points"`
	X            []float64 `json:"x"` // levels, one per point
	Y            []float64 `json:"y"` // means, one per point
	Slope        float64   `json:"slope"`
	SlopeSE      float64   `json:"slope_se"` // standard error, as all SE
	Intercept    float64   `json:"intercept"`
	InterceptSE  float64   `json:"intercept_se"`
	R2           float64   `json:"r2"`
	Exponent     float64   `json:"exponent"` // slope in log-log
	ExponentSE   float64   `json:"exponent_se"`
	ExponentLow  *float64  `json:"exponent_low"`
	ExponentHigh *float64  `json:"exponent_high"`
	// Warnings are about a negative fixed cost, curved residuals, or an exponent other than 1.
	Warnings []string `json:"warnings,omitempty"`
}

// Rung is one step of the ladder, which orders variants by their cost: the cost of an
// operation of one variant at one point, compared with the next cheaper variant.
type Rung struct {
	Variant    string  `json:"variant"`
	Point      string  `json:"point"`
	Summary    string  `json:"summary"`               // of the variant
	CPU        float64 `json:"cpu_per_operation"`     // mean, in seconds
	Elapsed    float64 `json:"elapsed_per_operation"` // mean, in seconds
	ToBaseline *Ratio  `json:"to_baseline"`           // CPU per operation, this / baseline
	ToNext     *Ratio  `json:"to_next"`               // CPU per operation, this / next cheaper rung
}

// ClaimVerdict says whether the data support a claim.
type ClaimVerdict string

// The verdicts of claims.
const (
	ClaimSupported    ClaimVerdict = "supported"
	ClaimContradicted ClaimVerdict = "contradicted"
	ClaimUndecided    ClaimVerdict = "undecided"
	ClaimUntestable   ClaimVerdict = "untestable"
)

// Judgement is a claim with its verdict.
type Judgement struct {
	ID        string       `json:"id"`
	Text      string       `json:"text"`
	Source    string       `json:"source"`
	Published *float64     `json:"published"`
	Measured  *float64     `json:"measured"`
	Low       *float64     `json:"low"`
	High      *float64     `json:"high"`
	Verdict   ClaimVerdict `json:"verdict"`
	Reason    string       `json:"reason"`
	// Unasked is set if the claim is untestable only because the user did not ask this run
	// for the data that it needs. This host may be able to provide them.
	Unasked bool `json:"unasked,omitempty"`
	// Unsteady says why the verdict depends on how long warm-up and trials lasted. It is empty
	// if no such dependence was found.
	Unsteady string `json:"unsteady,omitempty"`
	// Withheld is set if the verdict is undecided only for the reason in Unsteady.
	Withheld bool `json:"withheld,omitempty"`
}

// NotAskedFor is shown instead of the verdict on a claim that is Unasked.
const NotAskedFor = "not asked for"

// Standing returns the verdict in words. They distinguish claims that were not asked for from
// claims that this host cannot test.
func (j Judgement) Standing() string {
	if j.Unasked {
		return NotAskedFor
	}
	return string(j.Verdict)
}

// PublishedFigure is a figure of the published study, with our measurement of it.
type PublishedFigure struct {
	ID      string `json:"id"`
	Source  string `json:"source"`
	Metric  string `json:"metric"`
	Variant string `json:"variant"` // the study's own name
	Point   string `json:"point,omitempty"`
	Unit    string `json:"unit"`
	// Value is 0 and has no meaning if Missing is set: the study prints no number.
	Value      float64  `json:"value"`
	Missing    bool     `json:"missing,omitempty"`
	Status     string   `json:"status"` // the result of recomputing it from the study's data
	Note       string   `json:"note,omitempty"`
	Recomputed *float64 `json:"recomputed"`
	// Measured is our figure for the same quantity at this experiment's scale, with the interval from Low to
	// High. If there is none, it is null, and Reason says why.
	Measured *float64 `json:"measured"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	// PublishedPerOperation and MeasuredPerOperation, in seconds, allow a comparison at any
	// scale. They are null if the figure is not a time.
	PublishedPerOperation *float64 `json:"published_per_operation"`
	MeasuredPerOperation  *float64 `json:"measured_per_operation"`
	Reason                string   `json:"reason,omitempty"`
}

// AuditSum is the sum of the audits of one variant's trials.
type AuditSum struct {
	Verdict  AuditVerdict     `json:"verdict"`
	Trials   int              `json:"trials"`
	Counts   map[string]int64 `json:"counts"`             // sums over the trials, by what was counted
	Problems []string         `json:"problems,omitempty"` // rules that were broken, or why there is no verdict
	Said     []string         `json:"said,omitempty"`     // last lines of the output of a user's own audit
	// Figures are medians over the trials.
	Figures map[string]float64 `json:"figures,omitempty"`
}

// ConditionSummary summarizes the state of the host during the experiment.
type ConditionSummary struct {
	CalibrationMedian float64 `json:"calibration_median_seconds"` // of a fixed amount of computation
	CalibrationSpread float64 `json:"calibration_spread"`         // (max-min)/median
	MaxStealShare     float64 `json:"max_steal_share"`
	MedianOthersShare float64 `json:"median_others_share"`
	MeterShareMedian  float64 `json:"meter_share_median"` // of one core
	MeterShareMax     float64 `json:"meter_share_max"`
}
