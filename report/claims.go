package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// claimsSection shows the verdicts on the claims.
func (v view) claimsSection() section {
	return section{ID: "claims", Title: "Claims", Shown: []table{v.claimsTable()},
		HowTo: "Supported and contradicted need the whole interval on one side of what the claim says. Undecided " +
			"is an answer: more blocks might tell. Untestable claims say what this host lacks; what was not asked " +
			"for may well be possible here."}
}

// claimsTable shows every claim with its verdict, its published number and the measured one.
func (v view) claimsTable() table {
	t := table{ID: "claims", Title: "Claims", Keys: 1,
		Note: fmt.Sprintf("measured with its %s interval; the study's own number beside it",
			figure.Setting(v.Confidence)),
		Columns: columns{}.text("verdict").number("published", "measured").prose("claim, and why")}
	seen := map[string]bool{}
	for _, c := range v.Claims {
		claim := clean(c.Text)
		if c.Source != "" {
			claim += " (" + clean(c.Source) + ")"
		}
		reason := v.shortReason(c.Reason)
		isLong := c.Verdict == lab.ClaimUntestable && reason == c.Reason
		if isLong && seen[c.Reason] {
			reason = "for the same reason as above"
		}
		seen[c.Reason] = true
		claim += " - " + clean(reason)
		standing := toned(c.Standing(), toneOf(c.Verdict))
		t.add(standing, unlessNil(c.Published, plainNumber), measured(c.Measured, c.Low, c.High), claim)
	}
	return t
}

// shortReason shortens the reason of an absent variant, since a note already names the parts that this host
// lacks.
func (v view) shortReason(reason string) string {
	for _, a := range v.Absent {
		if reason == a.Untestable() {
			return a.Name + " is untestable here"
		}
	}
	return reason
}

// measured formats a number without a unit, with its interval.
func measured(value, low, high *float64) string {
	if value == nil {
		return absent
	}
	return figure.Number(lab.Estimate{Value: *value, Low: low, High: high})
}
