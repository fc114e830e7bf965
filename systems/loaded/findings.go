package loaded

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// Findings collects the findings of an audit.
type Findings struct {
	// Counts holds the number of events by their name, and the number of breaches by the name of their rule.
	// It must not be nil.
	Counts   map[string]int64
	Problems []string
}

// shownPerRule is the number of breaches of one rule that are listed.
const shownPerRule = 5

// Breach counts a breach of a rule, and lists it if it is among the first ones.
func (f *Findings) Breach(rule, format string, args ...any) {
	f.Counts[rule]++
	if f.Counts[rule] <= shownPerRule {
		f.Problems = append(f.Problems, rule+": "+fmt.Sprintf(format, args...))
	}
}

// Counts of attempts by their outcome for the client.
const (
	CountRefused   = "refused"   // the client knows that nothing happened
	CountUnknown   = "unknown"   // the client does not know
	CountRecovered = "recovered" // the client does not know, but the audit found that it happened
)

// CheckTable returns the table of a check with these columns. Trials with faults also have the columns faults
// and the longest time without a right answer.
func CheckTable(columns []lab.CheckColumn, faults ...lab.CheckColumn) lab.CheckTable {
	return lab.CheckTable{Most: MaxCount, Columns: columns, Faults: append(faults,
		lab.CheckColumn{Title: "longest without an answer, s", Metric: lab.Outage, Digits: 2})}
}

// OutcomeColumns returns the columns for attempts that did not succeed, in trials with faults.
func OutcomeColumns() []lab.CheckColumn {
	return []lab.CheckColumn{{Title: "refused", Count: CountRefused},
		{Title: "of unknown outcome", Count: CountUnknown}, {Title: "found done", Count: CountRecovered}}
}

// Ended counts an attempt by its end. right is the name of the count for successful attempts.
func (f *Findings) Ended(end, right string) {
	switch end {
	case EndedOK:
		f.Counts[right]++
	case EndedFail:
		f.Counts[CountRefused]++
	default:
		f.Counts[CountUnknown]++
	}
}

// Audit returns the verdict: a breach of any of the rules makes a trial invalid. If there is none, and the
// count named tested is 0, the verdict is unknown. The parameter nothing is the reason, such as "no post was
// acknowledged".
func (f *Findings) Audit(rules []string, tested, nothing string) lab.Audit {
	slices.Sort(f.Problems)
	audit := lab.Audit{Verdict: lab.AuditValid, Counts: f.Counts, Problems: f.Problems}
	for _, rule := range rules {
		if more := f.Counts[rule] - shownPerRule; more > 0 {
			audit.Problems = append(audit.Problems, fmt.Sprintf("%s: and %d more", rule, more))
		}
		if f.Counts[rule] > 0 {
			audit.Verdict = lab.AuditInvalid
		}
	}
	if f.Counts[tested] == 0 && audit.Verdict == lab.AuditValid {
		audit.Verdict = lab.AuditUnknown
		audit.Problems = append(audit.Problems, nothing+": nothing was tested")
	}
	return audit
}

// Unknown returns the audit of a trial that cannot be judged because of an error.
func Unknown(err error) lab.Audit {
	return lab.Audit{Verdict: lab.AuditUnknown, Problems: []string{err.Error()}}
}

// Unplayed implements the Audit of lab.System for systems that are audited while their databases run (see
// lab.LiveAuditor). It is called only for trials that ended early: their verdict is unknown.
type Unplayed struct{}

// Audit implements lab.System.
func (Unplayed) Audit(lab.Variant, lab.Point, []lab.UnitReport) lab.Audit {
	return Unknown(errors.New("the trial was not played to its end"))
}
