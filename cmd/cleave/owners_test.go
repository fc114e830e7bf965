package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
)

// TestEveryHostHasItsTimeToProveConsent: many slow hosts are asked one after the other, each with a limit of
// its own.
func TestEveryHostHasItsTimeToProveConsent(t *testing.T) {
	const token = "0123456789abcdef"
	allowed, err := consent.ReadList(strings.NewReader(`allow:
- {host: 203.0.113.7, ports: [22], owner: me, max_rate: 100/s, hours: always, expires: 2027-01-01, token: `+
		token+`}
`), "list")
	testset.Must(t, err)
	var limits []time.Time
	asked := consent.Guard{Allowed: allowed,
		Now: func() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) },
		Fetch: func(ctx context.Context, _ consent.Proof) ([]byte, error) {
			limit, _ := ctx.Deadline()
			limits = append(limits, limit)
			return []byte(token), nil
		}}
	const target = "ssh://203.0.113.7:22"
	plan := lab.Plan{Study: lab.Study{Points: []lab.Point{{Levels: map[string]float64{lab.FactorRate: 10}}}}}
	two := owned{name: "two hosts", targets: []string{target, target}}
	testset.Must(t, two.checkConsent(t.Context(), asked, plan))
	if len(limits) != 2 || limits[0].IsZero() || !limits[1].After(limits[0]) {
		t.Errorf("the limits are %v, want a later one for the second host", limits)
	}
}
