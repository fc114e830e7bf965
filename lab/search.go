package lab

// Search records how a trial looked for the capacity.
type Search struct {
	Loads []SearchLoad `json:"loads"` // in the order in which they were played
	// Reason says what the capacity leaves open; empty: nothing.
	Reason string `json:"reason,omitempty"`
}

// SearchLoad is one load of a search.
type SearchLoad struct {
	Rate float64 `json:"rate"` // offered, flows per second
	Pass bool    `json:"pass"`
	// Longer: it confirms the rate that the others had found.
	Longer bool   `json:"longer,omitempty"`
	Why    string `json:"why,omitempty"` // it failed
	// Disturbed says how the host disturbed a load that failed, each time that it was
	// played; empty: at least once it did not.
	Disturbed string `json:"disturbed,omitempty"`
	// Response times in seconds; null: there were none.
	Median  *float64 `json:"p50"`
	P99     *float64 `json:"p99"`
	Longest *float64 `json:"max"`
}

// Ends returns the two loads between which the capacity lies: the last that passed at the
// capacity, which is the longer one where there was one, and the last that failed at the
// lowest rate above it. Nil: there was none. A capacity of 0 is that of a search in which
// no rate passed.
func (s Search) Ends(capacity float64) (passed, failed *SearchLoad) {
	for i, load := range s.Loads {
		switch {
		case load.Pass && load.Rate == capacity:
			passed = &s.Loads[i]
		case !load.Pass && load.Rate > capacity && (failed == nil || load.Rate <= failed.Rate):
			failed = &s.Loads[i]
		}
	}
	return passed, failed
}

// Width returns how far the ends lie apart, as a share of the capacity: it is not known any
// better. 0: one of them is missing.
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
	Loads   int    `json:"loads"` // that were played
	// Passed is a load at the capacity and Failed one at the lowest rate above it that
	// failed; null: there was none. See Search.Ends.
	Passed *SearchLoad `json:"passed"`
	Failed *SearchLoad `json:"failed"`
	Reason string      `json:"reason,omitempty"` // as in Search
}
