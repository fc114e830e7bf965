package lab

// Slice is what a generator saw in one second of a load. A trial is a sample of one;
// its slices tell whether it would have been another had it lasted longer.
type Slice struct {
	End float64 `json:"end"` // seconds since the beginning of the load
	OK  int64   `json:"ok"`  // operations that were answered rightly
	// Response times of the operations that ended in it, in seconds; null without any.
	Median *float64 `json:"p50"`
	P99    *float64 `json:"p99"`
}

// Steadiness says how the trials of a variant at a point went on: what is measured of
// a system that is not steady depends on when, and for how long.
type Steadiness struct {
	Variant string `json:"variant"`
	Point   Point  `json:"point"`
	// Quantity is what was followed: "median", "p99" (of the response time) or "rate" (of
	// right answers).
	Quantity string `json:"quantity"`
	// Courses counts the trials by how they went on: "flat", "warm-up", "slowdown", "no
	// steady state", "too short".
	Courses map[string]int `json:"courses"`
	// Halves is the second half of the trials over their first, times or the time between
	// right answers; null without an interval.
	Halves *Ratio `json:"halves"`
	// Steady: most trials are level, and their halves do not differ by more than the margin.
	Steady bool `json:"steady"`
	// Factor is how far levels of one trial lie apart, the median over trials, or what the
	// halves differ by; 1 where steady.
	Factor float64 `json:"factor"`
	Words  string  `json:"words,omitempty"` // why it is not steady
}
