package ci

import (
	"encoding/xml"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// suite is the part of JUnit's XML that all readers of it support. Errors is always 0: no case is an error.
type suite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testCase `xml:"testcase"`
}

// testCase is a test that passed, unless it has a failure or was skipped.
type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Failure *message `xml:"failure"`
	Skipped *message `xml:"skipped"`
}

// message is the reason for a failure or for skipping a test.
type message struct {
	Message string `xml:"message,attr"`
}

// junit returns a test case for the audit of each variant, for each claim and each gate. A case
// that is undecided or cannot be tested is skipped, with the reason.
func junit(r Run) (string, error) {
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
	return suiteText(r.Analysis.Study, append(cases, gateCases(r.Gates, r.MustKnow)...))
}

// standingWithReason returns the standing of a claim with the reason, or the reason alone if it contains the
// standing.
func standingWithReason(claim lab.Judgement) string {
	if strings.Contains(claim.Reason, claim.Standing()) {
		return claim.Reason
	}
	return claim.Standing() + ": " + claim.Reason
}

// gateCases returns a test case for each gate. An open gate is skipped, or fails if a verdict
// was required.
func gateCases(gates []lab.GateVerdict, mustKnow bool) []testCase {
	var cases []testCase
	for _, g := range gates {
		c := newCase("gate", g.Gate)
		switch g.Standing() {
		case lab.GateFailed:
			c.Failure = newMessage("beyond the limit: " + figure.Changes(g.Failed))
		case lab.GateOpen:
			open := newMessage("it may be beyond the limit: " + figure.Changes(g.Open))
			if mustKnow {
				c.Failure = open
			} else {
				c.Skipped = open
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// newCase returns a test case that passes.
func newCase(kind, name string) testCase {
	return testCase{Class: "cleave." + kind, Name: oneLine(name)}
}

func newMessage(text string) *message { return &message{oneLine(text)} }

// suiteText returns a suite of test cases as an XML document.
func suiteText(name string, cases []testCase) (string, error) {
	s := suite{Name: oneLine(name), Tests: len(cases), Cases: cases}
	for _, c := range cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	return xml.Header + string(text) + "\n", err
}
