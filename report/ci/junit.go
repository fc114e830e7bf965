package ci

import (
	"encoding/xml"
	"io"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// suite is the part of JUnit's XML that all of its readers know.
type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testCase `xml:"testcase"`
}

// testCase has passed where it has neither a failure nor a reason to be skipped.
type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
}

type message struct {
	Message string `xml:"message,attr"`
}

// junit writes a test case for the audit of each variant, for each claim and each gate. What
// is undecided or cannot be tested is skipped, with the reason.
func junit(w io.Writer, r Run) error {
	var cases []testCase
	for _, v := range r.Analysis.Variants {
		sum, audited := r.Analysis.Audit[v.Name]
		if !audited {
			continue
		}
		c := newCase("audit", v.Name)
		switch problems := strings.Join(sum.Problems, "; "); sum.Verdict {
		case lab.AuditValid:
		case lab.AuditInvalid:
			c.Failure = newMessage("broke a rule of the system: " + problems)
		default:
			c.Skipped = newMessage("the audit came to no verdict: " + problems)
		}
		cases = append(cases, c)
	}
	for _, claim := range r.Analysis.Claims {
		c := newCase("claim", claim.ID+": "+claim.Text)
		switch claim.Verdict {
		case lab.ClaimSupported:
		case lab.ClaimContradicted:
			c.Failure = newMessage("contradicted: " + claim.Reason)
		default:
			c.Skipped = newMessage(standingWithReason(claim))
		}
		cases = append(cases, c)
	}
	return writeSuite(w, r.Analysis.Study, append(cases, gateCases(r.Gates, r.MustKnow)...))
}

// standingWithReason names the standing of a claim once: the reason of a part that is absent names it too.
func standingWithReason(claim lab.Judgement) string {
	if strings.Contains(claim.Reason, claim.Standing()) {
		return claim.Reason
	}
	return claim.Standing() + ": " + claim.Reason
}

// gateCases has a test case for each gate; an open one is skipped, or fails if a verdict
// was required.
func gateCases(gates []lab.GateVerdict, mustKnow bool) []testCase {
	var cases []testCase
	for _, g := range gates {
		c := newCase("gate", g.Gate)
		switch gateStanding(g) {
		case failed:
			c.Failure = newMessage("beyond the limit: " + figure.Changes(g.Failed))
		case open:
			if message := newMessage("it may be beyond the limit: " + figure.Changes(g.Open)); mustKnow {
				c.Failure = message
			} else {
				c.Skipped = message
			}
		}
		cases = append(cases, c)
	}
	return cases
}

func newCase(kind, name string) testCase {
	return testCase{Class: "cleave." + kind, Name: oneLine(name)}
}

func newMessage(text string) *message { return &message{oneLine(text)} }

func writeSuite(w io.Writer, name string, cases []testCase) error {
	s := suite{Name: oneLine(name), Tests: len(cases), Cases: cases}
	for _, c := range cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// The standings of a gate.
const (
	kept   = "kept"
	failed = "failed"
	open   = "open"
)

func gateStanding(g lab.GateVerdict) string {
	switch {
	case len(g.Failed) > 0:
		return failed
	case len(g.Open) > 0:
		return open
	}
	return kept
}
