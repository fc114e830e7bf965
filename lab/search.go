package lab

// Search records the search of a trial for the capacity.
type Search struct {
	Loads []SearchLoad `json:"loads"` // in the order in which they were played
	// Reason says what is uncertain about the capacity; empty: nothing.
	Reason string `json:"reason,omitempty"`
}

// SearchLoad is one load of a search.
type SearchLoad struct {
	Rate float64 `json:"rate"` // offered, flows per second
	Pass bool    `json:"pass"` // it met the objective
	// Longer is set if this is a longer load that confirms the rate found by the others.
	Longer bool   `json:"longer,omitempty"`
	Why    string `json:"why,omitempty"` // the reason of a failure
	// Disturbed says how the host disturbed a failed load every time it was played. Empty: at
	// least once it was not disturbed.
	Disturbed string `json:"disturbed,omitempty"`
	// Median, P99 and Longest are response times in seconds; null: there were none.
	Median  *float64 `json:"p50"`
	P99     *float64 `json:"p99"`
	Longest *float64 `json:"max"`
}

// Ends returns the two loads between which the capacity is: the last load at the capacity
// that passed, which is the longer one if there is one, and the last load that failed at the
// lowest rate above it; nil if there is no such load. A capacity of 0 means that no rate
// passed.
func (s Search) Ends(capacity float64) (passed, failed *SearchLoad) {
	for i, load := range s.Loads {
		switch {
		case load.Pass && load.Rate == capacity:
			passed = &s.Loads[i]
		case load.Pass || load.Rate <= capacity:
		case failed == nil || load.Rate <= failed.Rate:
			failed = &s.Loads[i]
		}
	}
	return passed, failed
}

// Width returns the difference of the rates of both ends, as a share of the capacity: the precision of the
// capacity. It returns 0 if an end is missing.
func (s Search) Width(capacity float64) float64 {
	if passed, failed := s.Ends(capacity); passed != nil && failed != nil {
		return failed.Rate/passed.Rate - 1
	}
	return 0
}

// TrialSearch holds the result of a trial's search.
type TrialSearch struct {
	Variant string `json:"variant"`
	Point   string `json:"point"`
	Trial   int    `json:"trial"`
	Block   int    `json:"block"`
	Loads   int    `json:"loads"` // how many the search played
	// Passed is the last load at the capacity that passed; null: no rate passed.
	Passed *SearchLoad `json:"passed"`
	// Failed is the last load that failed at the lowest rate above the capacity; null: none failed there.
	Failed *SearchLoad `json:"failed"`
	Reason string      `json:"reason,omitempty"` // what is uncertain about the capacity; absent: nothing
}
