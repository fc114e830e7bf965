package audit

import (
	"testing"
	"time"
)

// TestReadsAreNoOlderThanPromised: a page shows the price of product 1 at some time after 95 ns of the
// client's clock, when its price changed from 100 to 150 cents.
func TestReadsAreNoOlderThanPromised(t *testing.T) {
	const (
		page    = "I12: order A: its page showed product 1 for "
		stale   = page + "100 cents, which was 150 cents for more than "
		foreign = page + "99 cents, which it never cost"
	)
	for name, c := range map[string]struct {
		cents, after int64
		reads        *Reads
		apart        time.Duration
		problem      string // none: it is valid
	}{
		"the new price from its owner":       {150, 1, nil, 0, ""},
		"the old price from its owner":       {100, 1, nil, 0, stale + "0s"},
		"the old price before the answer":    {100, 0, nil, 0, ""},
		"by another clock":                   {100, 5, nil, 5, ""},
		"a cache in time":                    {100, 20, &Reads{Lag: 20}, 0, ""},
		"a cache that keeps what is old":     {100, 21, &Reads{Lag: 20}, 0, stale + "20ns"},
		"a cache that takes one for other":   {99, 1, &Reads{Lag: 20}, 0, foreign},
		"a replica that does not know yet":   {100, 27_000, &Reads{Replica: true}, 0, ""},
		"a replica that has it shows it":     {100, 28_000, &Reads{Replica: true}, 0, stale + "0s"},
		"a replica that takes one for other": {99, 1, &Reads{Replica: true}, 0, foreign},
	} {
		t.Run(name, func(t *testing.T) {
			in := repricedGood()
			in.Reads = c.reads
			in.ClocksApart = c.apart
			in.History = append(in.History, Attempt{Operation: OperationRead, Outcome: OutcomeOK, Order: "A",
				ActualNS: 95 + c.after, CompleteNS: 99 + c.after, Price: &Price{Product: 1, Cents: c.cents}})
			if judged := Judge(in).Counts["prices_read"]; judged != 1 {
				t.Errorf("%d reads were judged, want 1", judged)
			}
			expectVerdict(t, in, verdictWith(c.problem), c.problem)
		})
	}
}
