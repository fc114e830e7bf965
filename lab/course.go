package lab

// Slice holds the observations of a generator in one second of a load, or less of a warm-up. A trial is one
// sample; its slices tell whether a longer trial would have given another.
type Slice struct {
	End float64 `json:"end"` // seconds since the beginning of the load
	OK  int64   `json:"ok"`  // operations that were answered rightly
	// Response times of the operations that ended in it, in seconds; null without any.
	Median *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
}

// TrialCourse is the course of one trial, by slices, in four digits: when each ended, right
// answers per second, and response times in seconds, null without any.
type TrialCourse struct {
	Variant string     `json:"variant"`
	Point   string     `json:"point"`
	Trial   int        `json:"trial"`
	Block   int        `json:"block"`
	End     []float64  `json:"end"`
	Rate    []float64  `json:"rate"`
	Median  []*float64 `json:"median"`
	P99     []*float64 `json:"p99"`
	// Used holds the usage of the system meanwhile, at points of its own; nil: it was not metered.
	Used *UsageCourse `json:"used,omitempty"`
}

// WarmUp says how the unrecorded load before the measured one went, where that went on
// until it was steady.
type WarmUp struct {
	Seconds float64 `json:"seconds"`
	// Steady: the load was level in its last half, in the rate of right answers and in the
	// median response time; else its limit came first.
	Steady bool `json:"steady"`
	// Course is one of those that Steadiness counts, and Quantity the one in which it was found: "median" or
	// "rate".
	Course   string `json:"course"`
	Quantity string `json:"quantity,omitempty"`
	// Factor is the ratio of its levels. Left is the factor by which it still changed in its last half: 1
	// where steady.
	Factor float64 `json:"factor"`
	Left   float64 `json:"left"`
	// Slices are the load as the generator saw it, a quarter of a second each.
	Slices []Slice `json:"slices"`
}

// The shortest and the longest limit, in seconds, of a warm-up that goes on until the load
// is steady. In less nothing is shown; what takes longer than an hour is not warming up.
const (
	LeastWarmUpLimit   = 5.0
	LongestWarmUpLimit = 3600.0
)

// WarmUps are those of a variant at a point.
type WarmUps struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	Trials  int    `json:"trials"`
	Steady  int    `json:"steady"` // of them
	// Seconds and Factor are medians over the trials; see WarmUp.
	Seconds float64 `json:"seconds"`
	Longest float64 `json:"longest"`
	Factor  float64 `json:"factor"`
	// Courses counts the trials by how their warm-up went.
	Courses map[string]int `json:"courses"`
}

// Steadiness says how the trials of a variant at a point went on: what is measured of
// a system that is not steady depends on when, and for how long.
type Steadiness struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	// Quantity is "median", "p99" (of the response time; "p95" or "p90" where operations are too few) or
	// "rate" (of right answers); "warm-up" where the load before was not steady when it ended.
	Quantity string `json:"quantity"`
	// Courses counts the trials by how they went on: "flat", "warm-up", "slowdown", "no
	// steady state", "swings", "too short".
	Courses map[string]int `json:"courses"`
	// Halves is the second half of the trials over their first, times or the time between
	// right answers; null without an interval.
	Halves *Ratio `json:"halves"`
	// Steady: most trials are level, and their halves do not differ by more than the margin.
	Steady bool `json:"steady"`
	// Factor is the ratio of the levels of one trial, the median over trials, or the ratio of its halves; 1
	// where steady.
	Factor float64 `json:"factor"`
	Words  string  `json:"words,omitempty"` // why it is not steady
}
