package report

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// terminal returns the report of an analysis as the terminal shows it.
func terminal(t *testing.T, a lab.Analysis, o Options) string {
	t.Helper()
	var out bytes.Buffer
	testset.Must(t, Terminal(&out, a, o))
	return out.String()
}

func TestTerminalLooksAsAgreed(t *testing.T) {
	a := fixture(t, "three-variants.json")
	golden(t, "terminal.golden", []byte(terminal(t, a, Options{})))
	golden(t, "terminal-full.golden", []byte(terminal(t, a, Options{Full: true})))
}

func TestTerminalStaysWithinAHundredColumns(t *testing.T) {
	for name, a := range fixtures(t) {
		for _, full := range []bool{false, true} {
			for i, l := range strings.Split(terminal(t, a, Options{Full: full}), "\n") {
				if n := utf8.RuneCountInString(l); n > pageWidth {
					t.Errorf("%s: line %d has %d characters, want at most %d: %q", name, i+1, n, pageWidth, l)
				}
				if strings.TrimRight(l, " ") != l {
					t.Errorf("%s: line %d ends with spaces: %q", name, i+1, l)
				}
			}
		}
	}
}

func TestTerminalPassesNoControlCharactersOn(t *testing.T) {
	for name, a := range fixtures(t) {
		for _, r := range terminal(t, a, Options{Full: true}) {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%s: the report holds %U", name, r)
			}
		}
	}
}

// TestTerminalColoursOnlyOnRequest: colours add nothing but their codes.
func TestTerminalColoursOnlyOnRequest(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name, a := range fixtures(t) {
		plain := terminal(t, a, Options{Full: true})
		coloured := terminal(t, a, Options{Full: true, Colour: true})
		if !codes.MatchString(coloured) {
			t.Errorf("%s: no colour where it was asked for", name)
		}
		if stripped := codes.ReplaceAllString(coloured, ""); stripped != plain {
			t.Errorf("%s: colours change the text", name)
		}
	}
}

// TestMetricsWithTrendsHaveTheirMeans, which are the large dots of their plots, in the page and with --full.
func TestMetricsWithTrendsHaveTheirMeans(t *testing.T) {
	v := newView(fixture(t, "analysis.json"))
	for place, tables := range map[string][]table{"page": v.trendsSection().Folded, "terminal": v.fullTables()} {
		for _, l := range v.Trends {
			means, shown := find(tables, func(t table) bool { return t.ID == "means-"+l.Metric })
			if !shown || means.empty() {
				t.Errorf("%s: there are no means of %s, which has a trend line", place, l.Metric)
			}
		}
	}
	if len(v.Trends) == 0 {
		t.Error("the fixture has no trends")
	}
}

func TestTerminalSaysTheAnswerFirst(t *testing.T) {
	a := fixture(t, "analysis.json")
	out := terminal(t, a, Options{})
	answer := strings.Index(out, "\nAnswer\n")
	if answer < 0 {
		t.Fatalf("no answer in:\n%s", out)
	}
	for _, later := range []string{"\nVerdicts at", "\nLadder", "\nClaims", "\nTrust"} {
		if at := strings.Index(out, later); at >= 0 && at < answer {
			t.Errorf("%q stands before the answer", later)
		}
	}
}

// failing fails on every write.
type failing struct{}

var errDisk = errors.New("no space left")

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestWriteErrorsComeBack(t *testing.T) {
	a := fixture(t, "three-variants.json")
	for name, err := range map[string]error{
		"terminal": Terminal(failing{}, a, Options{}), "json": JSON(failing{}, a), "csv": CSV(failing{}, a),
		"html": HTML(failing{}, a),
	} {
		if !errors.Is(err, errDisk) {
			t.Errorf("%s: error %v, want one that wraps %v", name, err, errDisk)
		}
	}
}

func TestClaimsGiveACommonReasonOnce(t *testing.T) {
	none := lab.Judgement{Text: "a claim", Verdict: lab.ClaimUntestable, Reason: "no Docker"}
	other := lab.Judgement{Text: "another", Verdict: lab.ClaimUntestable, Reason: "no room"}
	a := lab.Analysis{Claims: []lab.Judgement{none, none, other, none}}
	said := fmt.Sprint(newView(a).claimsTable().Rows)
	if strings.Count(said, "no Docker") != 1 || strings.Count(said, "for the same reason as above") != 2 {
		t.Errorf("%s: want the reason once, and that two are untestable for the same one", said)
	}
}

// TestOnlyTheNotesNameAMissingPart: claims and published figures do not repeat it, nor do the notes if they
// were shown before.
func TestOnlyTheNotesNameAMissingPart(t *testing.T) {
	ha := lab.AbsentVariant{Name: "ha", Reason: "no balancer"}
	claim := lab.Judgement{Text: "a claim", Verdict: lab.ClaimUntestable, Reason: ha.Untestable()}
	a := fixture(t, "analysis.json")
	a.Absent = []lab.AbsentVariant{ha}
	a.Claims = []lab.Judgement{claim, claim}
	a.Published = []lab.PublishedFigure{{Source: "table 1", Reason: ha.Untestable()}}
	a.Notes = append(a.Notes, ha.Untestable())
	for _, full := range []bool{false, true} {
		again := terminal(t, a, Options{Full: full, NotesShown: a.Notes[len(a.Notes)-1:]})
		first := terminal(t, a, Options{Full: full})
		if strings.Count(first, "no balancer") != 1 || strings.Count(first, "ha is untestable here") < 2 ||
			strings.Contains(again, "no balancer") {
			t.Errorf("full %t: the notes do not name the part once, or do so although they were shown before:\n%s\n%s",
				full, first, again)
		}
	}
}

// TestAGateMayBeLongerThanALine: its limit may have any number of digits.
func TestAGateMayBeLongerThanALine(t *testing.T) {
	gate := lab.GateVerdict{Gate: "p99>1." + strings.Repeat("0", pageWidth) + "1x"}
	var out bytes.Buffer
	testset.Must(t, GatesTerminal(&out, []lab.GateVerdict{gate}, Options{}))
	if want := "  gate " + gate.Gate + ": kept\n"; out.String() != want {
		t.Errorf("it is shown as %q, want %q", out.String(), want)
	}
}

// TestTablesWithSeveralTextsFitThePage: the texts share the width that numbers leave.
func TestTablesWithSeveralTextsFitThePage(t *testing.T) {
	a := factorial()
	words := strings.TrimSpace(strings.Repeat("it changes within the trial ", 4))
	a.FactorEffects[0].Effects[0].Words = words
	a.FactorEffects[0].Effects[1].Label = words
	a.Steadiness = []lab.Steadiness{{Variant: "monolith", Point: lab.Point{Name: "calm"}, Quantity: "median",
		Words: words, Courses: map[string]int{"flat": 3, "no steady state": 2, "slowdown": 1, "warm-up": 1}}}
	out := terminal(t, a, Options{})
	for _, l := range strings.Split(out, "\n") {
		if utf8.RuneCountInString(l) > pageWidth {
			t.Errorf("a line has more than %d characters: %q", pageWidth, l)
		}
	}
	for _, head := range []string{"  effect", "  variant   point  followed  what was found"} {
		if strings.Count(out, "\n"+head) != 1 {
			t.Errorf("%q does not stand once, in an undivided table:\n%s", head, out)
		}
	}
}
