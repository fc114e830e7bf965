package lab

// ClaimKind names the test for a claim.
type ClaimKind string

// The kinds of claims. A kind has a line in ClaimTests and a test in report/analysis.
const (
	// ClaimSlower: Variant needs more of Metric than Against at every point.
	ClaimSlower ClaimKind = "slower"
	// ClaimMore is ClaimSlower for metrics that are not times.
	ClaimMore ClaimKind = "more"
	// ClaimFactor: the ratio Variant/Against, or its mean over several points, is between Low and High.
	ClaimFactor ClaimKind = "factor"
	// ClaimEquivalent: the ratio Variant/Against is between Low and High at every point, or,
	// without these, within the margin of the design.
	ClaimEquivalent ClaimKind = "equivalent"
	// ClaimLevel: the mean of Metric of Variant is between Low and High at every point.
	ClaimLevel ClaimKind = "level"
	// ClaimLinear: the log-log exponent of Metric of Variant along Factor is between Low and High.
	ClaimLinear ClaimKind = "linear"
	// ClaimGrows: the ratio Variant/Against increases along Factor.
	ClaimGrows ClaimKind = "grows"
)

// ClaimTest describes the test of a kind of claims: the data that it needs, and how it decides.
type ClaimTest struct {
	Kind       ClaimKind
	Against    bool // compares two variants, or two metrics of one
	Exponent   bool // fits an exponent along Factor; Low and High may be negative only with this
	Range      bool // needs Low and High
	EveryPoint bool // judges every point separately
	Direction  bool // only asks which of two needs more, so it can be judged at any scale of the work
}

// ClaimTests returns the tests of all kinds of claims.
func ClaimTests() []ClaimTest {
	return []ClaimTest{
		{Kind: ClaimSlower, Against: true, EveryPoint: true, Direction: true},
		{Kind: ClaimMore, Against: true, EveryPoint: true, Direction: true},
		{Kind: ClaimFactor, Against: true, Range: true},
		{Kind: ClaimEquivalent, Against: true, EveryPoint: true},
		{Kind: ClaimLevel, Range: true, EveryPoint: true},
		{Kind: ClaimLinear, Exponent: true, Range: true},
		{Kind: ClaimGrows, Against: true, Exponent: true},
	}
}

// Test returns the test of a kind, and false if there is no such kind.
func (k ClaimKind) Test() (ClaimTest, bool) {
	return first(ClaimTests(), func(t ClaimTest) bool { return t.Kind == k })
}

// Claim is a sentence that data can support, contradict or leave undecided.
type Claim struct {
	ID      string    `json:"id" yaml:"id"`
	Text    string    `json:"text" yaml:"text"`
	Source  string    `json:"source" yaml:"source,omitempty"` // table, figure or section of the study
	Kind    ClaimKind `json:"kind" yaml:"kind"`
	Metric  string    `json:"metric" yaml:"metric,omitempty"`
	Variant string    `json:"variant" yaml:"variant"`
	Against string    `json:"against,omitempty" yaml:"against,omitempty"`
	// AgainstMetric is the metric of Against, if it is not Metric. Against may then be
	// Variant itself.
	AgainstMetric string   `json:"against_metric,omitempty" yaml:"against_metric,omitempty"`
	Factor        string   `json:"factor,omitempty" yaml:"factor,omitempty"`
	Points        []string `json:"points,omitempty" yaml:"points,omitempty"` // empty: all of both variants
	Low           float64  `json:"low,omitempty" yaml:"low,omitempty"`
	High          float64  `json:"high,omitempty" yaml:"high,omitempty"`
	// Untestable says why Cleave cannot measure what the claim is about; empty: it can.
	Untestable string `json:"untestable,omitempty" yaml:"untestable,omitempty"`
	// Published is the number in the published study; 0: none.
	Published float64 `json:"published,omitempty" yaml:"published,omitempty"`
}
