package report

import (
	"fmt"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// claimsSection shows what the data say of each claim.
func (v view) claimsSection() section {
	t := v.claimsTable()
	return section{ID: "claims", Title: "Claims", Caption: t.Note,
		Shown: []table{t},
		HowTo: "Supported and contradicted need the whole interval on one side of what the claim says. Undecided " +
			"is an answer: more blocks might tell. Untestable claims say what this host lacks; what was not asked " +
			"for may well be possible here."}
}

// claimsTable shows every claim with its verdict, published beside measured.
func (v view) claimsTable() table {
	t := table{ID: "claims", Title: "Claims", Keys: 1,
		Note: fmt.Sprintf("measured with its %s interval; the study's own number beside it",
			figure.Setting(v.Confidence)),
		Columns: []column{textCol("verdict"), numberCol("published"), numberCol("measured"),
			proseCol("claim, and why")}}
	seen := map[string]bool{}
	for _, c := range v.Claims {
		claim := clean(c.Text)
		if c.Source != "" {
			claim += " (" + clean(c.Source) + ")"
		}
		reason := v.shortly(c.Reason)
		if c.Verdict == lab.ClaimUntestable && seen[c.Reason] && reason == c.Reason {
			reason = "for the same reason as above"
		}
		seen[c.Reason] = true
		claim += " - " + clean(reason)
		t.add(toned(c.Standing(), toneOf(c.Verdict)), unlessNil(c.Published, plainNumber),
			measured(c.Measured, c.Low, c.High), claim)
	}
	return t
}

// shortly returns a reason without the parts that this host lacks, which the notes name.
func (v view) shortly(reason string) string {
	for _, a := range v.Absent {
		if reason == a.Untestable() {
			return a.Name + " is untestable here"
		}
	}
	return reason
}

// measured shows a figure that has no unit of its own for the eye.
func measured(value, low, high *float64) string {
	if value == nil {
		return absent
	}
	return figure.Number(lab.Estimate{Value: *value, Low: low, High: high})
}
