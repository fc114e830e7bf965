package lab

import (
	"cmp"
	"strings"
)

// HeldRate counts the trials in which a variant held an offered rate: it began the flows
// that were due, with right answers, within the objective of the study.
type HeldRate struct {
	Variant string  `json:"variant"`
	Point   string  `json:"point"`
	Rate    float64 `json:"rate"` // flows per second
	Held    int     `json:"held"` // trials
	Trials  int     `json:"trials"`
	Begun   float64 `json:"begun"` // share of the due flows that were begun: median over the trials
	Wrong   float64 `json:"wrong"` // share of wrong answers: median over the trials
	// Missed is the reason why the other trials did not hold it.
	Missed string `json:"missed,omitempty"`
}

// Curve is one metric of one variant over the offered rate.
type Curve struct {
	Variant string       `json:"variant"`
	Metric  string       `json:"metric"`
	Unit    string       `json:"unit"`
	Points  []CurvePoint `json:"points"` // in order of rising rate
}

// CurvePoint holds the results at one offered rate.
type CurvePoint struct {
	Point   string  `json:"point"`
	Offered float64 `json:"offered"` // flows per second; a flow is one operation unless Due is set
	// Due is the offered rate in operations per second, if flows have several; 0: the same as Offered.
	Due    float64   `json:"due,omitempty"`
	Median float64   `json:"median"` // over the trials
	Values []float64 `json:"values"` // one per trial
	// Held is set if the rate was achieved in all trials, and operations did not pile up.
	Held bool `json:"held"`
	// Missed is set if all trials held the rate, but some did not meet the objective of the study. Such a
	// point is drawn as one that was not held, but its times are valid.
	Missed bool `json:"missed,omitempty"`
}

// Spectrum is the distribution of one quantity of one variant at one point.
type Spectrum struct {
	Variant  string `json:"variant"`
	Point    Point  `json:"point"`
	Quantity string `json:"quantity"`
	// Median holds the medians over the trials at each share, Trials the values of each trial.
	Median []Quantile   `json:"median"`
	Trials [][]Quantile `json:"trials"`
}

// RoleUsage holds the usage of the units of one role at a point, or of a backing service, or of the processes
// with one name in a user's system: medians over the trials.
type RoleUsage struct {
	Variant         string  `json:"variant"`
	Point           Point   `json:"point"`
	Role            string  `json:"role"`
	CPUPerOperation float64 `json:"cpu_per_operation"` // seconds
	CPUShare        float64 `json:"cpu_share"`         // of one core, over the window
	PeakMemory      float64 `json:"peak_memory"`       // bytes
	// NetworkPerOperation is the number of bytes that a container received and sent; 0: unknown.
	NetworkPerOperation float64 `json:"network_per_operation,omitempty"`
	// Platform holds the figures that the platform itself reports; nil: it reports none.
	Platform *PlatformUsage `json:"platform,omitempty"`
}

// NodeLoad holds the usage of the units of a node at a point, without the generator: medians over the trials
// in which it had units.
type NodeLoad struct {
	Variant    string  `json:"variant"`
	Point      Point   `json:"point"`
	Node       string  `json:"node"`
	Trials     int     `json:"trials"`
	Units      float64 `json:"units"`
	CPUShare   float64 `json:"cpu_share"`   // of one core, over the window
	MeanMemory float64 `json:"mean_memory"` // bytes
}

// OperationTimes holds the results of one operation of a load at a point. Counts are sums over all trials.
// Times are in seconds: medians over the trials whose generator did not send late; 0 without such a trial.
type OperationTimes struct {
	Variant string           `json:"variant"`
	Point   Point            `json:"point"`
	Name    string           `json:"name"`
	Sent    int64            `json:"sent"`
	Wrong   float64          `json:"wrong"`            // share of wrong answers
	Errors  map[string]int64 `json:"errors,omitempty"` // by kind
	Median  float64          `json:"median"`           // of the response times, as P99 and Longest
	P99     float64          `json:"p99"`
	Longest float64          `json:"longest"`
}

// TrialPath is the critical path of an operation of one trial.
type TrialPath struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	Trial   int    `json:"trial"`
	Path
	// Kinds holds the sums of the segments by kind, in the order of SegmentKinds; other kinds come last.
	Kinds []SegmentTime `json:"kinds"`
}

// SegmentTime is the time of a path in segments of one kind.
type SegmentTime struct {
	Kind    SegmentKind `json:"kind"`
	Seconds float64     `json:"seconds"`
}

// Waterfall holds the steps from one architecture to another in one metric at
// one point.
type Waterfall struct {
	Metric string `json:"metric"`
	Point  Point  `json:"point"`
	From   string `json:"from"`
	To     string `json:"to"`
	Steps  []Step `json:"steps"`
	// Whole is the last variant / the first. The product of the steps equals it exactly, because all are least
	// squares over the same blocks, even if some trials do not count.
	Whole   Ratio             `json:"whole"`
	Verdict ComparisonVerdict `json:"verdict"` // of Whole
	Words   string            `json:"words"`
	// Unsteady is the reason why the verdict depends on the length of the trials; empty: it does not.
	Unsteady string `json:"unsteady,omitempty"`
	// Stretches holds the steps from the first variant to the last stock one together, and those from there to
	// the tuned one; empty if the steps do not have both.
	Stretches []Stretch `json:"stretches,omitempty"`
	// Interactions compares each knob's effect with its effect in another order of the
	// steps; empty if no other order was played.
	Interactions []Interaction `json:"interactions,omitempty"`
}

// Stretch is several steps together: To / From, over the blocks of the waterfall.
type Stretch struct {
	From    string            `json:"from"`
	To      string            `json:"to"`
	Ratio   Ratio             `json:"ratio"`
	Verdict ComparisonVerdict `json:"verdict"`
	Words   string            `json:"words"`
}

// Step is one step of a waterfall: Variant / Before by block.
type Step struct {
	// Name is the name of a step between two variants that a study lists: "sync -> async". It is empty for a
	// step that is named after what it changes. Changes lists the changes of either; Knob and Change join them.
	Name    string       `json:"name,omitempty"`
	Changes []KnobChange `json:"changes,omitempty"`
	Knob    string       `json:"knob"`
	Change  string       `json:"change"` // "acid -> orchestrated"
	// Plain describes the result of the step: "a saga"; empty if the system has no description.
	Plain string `json:"plain,omitempty"`
	// With lists the knobs that have an effect from this step on: "binding http".
	With    string            `json:"with,omitempty"`
	Before  string            `json:"before"`
	Variant string            `json:"variant"`
	Ratio   Ratio             `json:"ratio"`
	Verdict ComparisonVerdict `json:"verdict"`
	// Words describes the verdict, and Margin is its margin. PHolm is the two-sided p-value against a ratio of
	// 1, adjusted over the steps; null without an interval.
	Words  string   `json:"words"`
	Margin float64  `json:"margin"`
	PHolm  *float64 `json:"p_holm"`
	// Unsteady is the reason why the verdict depends on the length of the trials; empty: it does not.
	Unsteady string `json:"unsteady,omitempty"`
	// Withheld is set if the verdict is undecided only for the reason in Unsteady.
	Withheld bool `json:"withheld,omitempty"`
}

// Label returns a description of the step: its Name, else Plain, else its knob and change.
func (s Step) Label() string { return cmp.Or(s.Name, s.Plain, s.Knob+" "+s.Change) }

// Turned lists Changes and the knobs that come with them: "data shared -> databases, placement together ->
// apart (with binding http)". It is empty if there are no Changes.
func (s Step) Turned() string {
	var parts []string
	for _, c := range s.Changes {
		parts = append(parts, c.String())
	}
	text := strings.Join(parts, ", ")
	if s.With != "" {
		text += " (with " + s.With + ")"
	}
	return text
}

// Interaction compares one knob's effect in two orders of the same steps.
type Interaction struct {
	Knob string `json:"knob"`
	// Plain describes the new value of the knob: "a saga".
	Plain string `json:"plain,omitempty"`
	// First and Second are its ratios in the order shown and in the other order;
	// OfRatios is their quotient, by block.
	First    Ratio `json:"first"`
	Second   Ratio `json:"second"`
	OfRatios Ratio `json:"of_ratios"`
	// Matters: the interval of OfRatios is outside the margin.
	Matters bool   `json:"matters"`
	Words   string `json:"words"`
}
