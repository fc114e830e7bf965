package lab

// Slice holds the observations of a generator in one second of a load, or a quarter of a second of a warm-up.
// A trial is one sample. Its slices show whether a longer trial would have had another result.
type Slice struct {
	End float64 `json:"end"` // seconds since the beginning of the load
	OK  int64   `json:"ok"`  // operations with a right answer
	// Median and P99 are response times of the operations that ended in the slice, in seconds; null: there were
	// none.
	Median *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
}

// TrialCourse is the course of one trial, rounded to four significant digits. Its lists have an element for
// each slice that was long enough.
type TrialCourse struct {
	Variant string     `json:"variant"`
	Point   string     `json:"point"`
	Trial   int        `json:"trial"`
	Block   int        `json:"block"`
	End     []float64  `json:"end"`    // seconds since the beginning of the load
	Rate    []float64  `json:"rate"`   // right answers per second
	Median  []*float64 `json:"median"` // of the response times, in seconds; null: there were none
	P99     []*float64 `json:"p99"`    // 99th percentile of the response times, likewise
	// Used holds the usage of the system during the trial, at other times than the slices; nil: it was not
	// metered.
	Used *UsageCourse `json:"used,omitempty"`
}

// WarmUp describes a warm-up with a limit: unrecorded load that went on until it was steady, or until the
// limit.
type WarmUp struct {
	Seconds float64 `json:"seconds"`
	// Steady is set if the rate of right answers and the median response time were level in the last half of
	// the warm-up. Otherwise the warm-up ended at its limit.
	Steady   bool   `json:"steady"`
	Course   string `json:"course"`             // one of the courses in Steadiness.Courses
	Quantity string `json:"quantity,omitempty"` // with this course: "median" or "rate"
	// Factor is the highest level of the quantity over its lowest, or the factor of a swing or trend if that
	// is larger; 1: there was one level.
	Factor float64 `json:"factor"`
	Left   float64 `json:"left"` // change of the quantity in the last half, as a factor; 1: none
	// Slices holds the observations of the generator in each quarter of a second.
	Slices []Slice `json:"slices"`
}

// The shortest and the longest limit, in seconds, of a warm-up that lasts until the load is steady. A shorter
// one has too few slices to judge, and a change that lasts for more than an hour is not a warm-up.
const (
	LeastWarmUpLimit   = 5.0
	LongestWarmUpLimit = 3600.0
)

// WarmUps summarizes the warm-ups of a variant at a point.
type WarmUps struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	Trials  int    `json:"trials"`
	Steady  int    `json:"steady"` // the number of trials whose warm-up became steady
	// Seconds is the median length of the warm-ups, and Longest is the length of the longest one.
	Seconds float64 `json:"seconds"`
	Longest float64 `json:"longest"` // in seconds
	Factor  float64 `json:"factor"`  // the median of WarmUp.Factor over the trials
	// Courses holds the number of trials by the course of their warm-up, with the names of Steadiness.Courses.
	Courses map[string]int `json:"courses"`
}

// Steadiness describes how steady the trials of a variant at a point were. If they were not, results depend
// on when a measurement begins and how long it lasts.
type Steadiness struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	// Quantity is "median", "p99" (of the response time; "p95" or "p90" if there are too few operations) or
	// "rate" (of right answers). It is "warm-up" if at least half of the warm-ups were not steady at their
	// end.
	Quantity string `json:"quantity"`
	// Courses holds the number of trials by their course: "flat", "warm-up", "slowdown", "no
	// steady state", "swings", "too short".
	Courses map[string]int `json:"courses"`
	// Halves is the ratio of the second half of the trials to their first half: of response times, or of the
	// times between right answers. Null: the trials have too few operations for halves.
	Halves *Ratio `json:"halves"`
	// Steady is not set if the halves of the trials differ by more than the margin, or if at least half of
	// the trials (and two, if there are several) change while they run.
	Steady bool `json:"steady"`
	// Factor is the ratio of the levels of a trial (the median over the trials that change) or of its halves;
	// 1: steady. For "warm-up" it is the median of WarmUp.Left over the warm-ups that were not steady.
	Factor float64 `json:"factor"`
	Words  string  `json:"words,omitempty"` // why it is not steady
}
