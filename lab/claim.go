package lab

// ClaimKind names the test that a claim is put to.
type ClaimKind string

// The kinds of claims. A kind has a line in ClaimTests and a test in report/analysis.
const (
	// ClaimSlower: Variant needs more of Metric than Against at every point.
	ClaimSlower ClaimKind = "slower"
	// ClaimMore is ClaimSlower for metrics that are not times.
	ClaimMore ClaimKind = "more"
	// ClaimFactor: the ratio Variant/Against lies within Low..High.
	ClaimFactor ClaimKind = "factor"
	// ClaimEquivalent: the ratio Variant/Against lies within Low..High at every
	// point; without them, within the margin of the design.
	ClaimEquivalent ClaimKind = "equivalent"
	// ClaimLevel: the mean of Metric of Variant lies within Low..High at every point.
	ClaimLevel ClaimKind = "level"
	// ClaimLinear: the log-log exponent of Metric of Variant along Factor lies within Low..High.
	ClaimLinear ClaimKind = "linear"
	// ClaimGrows: the ratio Variant/Against rises along Factor.
	ClaimGrows ClaimKind = "grows"
)

// ClaimTest describes the test of a kind of claims: its needs and its way to decide.
type ClaimTest struct {
	Kind       ClaimKind
	Against    bool // compares two variants, or two metrics of one
	Exponent   bool // fits an exponent along Factor; only an exponent may be negative
	Range      bool // needs Low and High
	EveryPoint bool // judges every point by itself
	Direction  bool // asks only which of two needs more, so it holds at any scale of the work
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

// Test returns the test of a kind; false where there is none of that name.
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
	// AgainstMetric is that of Against where it is another than Metric; Against may
	// be Variant itself then.
	AgainstMetric string   `json:"against_metric,omitempty" yaml:"against_metric,omitempty"`
	Factor        string   `json:"factor,omitempty" yaml:"factor,omitempty"`
	Points        []string `json:"points,omitempty" yaml:"points,omitempty"` // empty: all that both variants ran
	Low           float64  `json:"low,omitempty" yaml:"low,omitempty"`
	High          float64  `json:"high,omitempty" yaml:"high,omitempty"`
	// Untestable says why nothing here measures what the claim is about; empty: something does.
	Untestable string `json:"untestable,omitempty" yaml:"untestable,omitempty"`
	// Published is the study's own number; 0: none.
	Published float64 `json:"published,omitempty" yaml:"published,omitempty"`
}
