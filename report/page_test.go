package report

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

const largestPage = 2 << 20 // bytes

// html returns the report of an analysis as HTML.
func html(t *testing.T, a lab.Analysis) string {
	t.Helper()
	var out bytes.Buffer
	testset.Must(t, HTML(&out, a))
	return out.String()
}

// TestTextAlternativesAreSentences: a label that ends with a full stop gets no second one.
func TestTextAlternativesAreSentences(t *testing.T) {
	all := fixtures(t)
	fitted := all["loaded"]
	estimate := &lab.Estimate{Value: 1}
	fitted.ScalingFits = []lab.ScalingFit{{Metric: "goodput", Variant: "monolith", Points: []string{"a"},
		X: []float64{1}, Lambda: estimate, Sigma: estimate, Kappa: estimate,
		Curve: []lab.ScalingPoint{{Level: 1}}, Words: "It scales."}}
	all["fitted"] = fitted
	for name, a := range all {
		for _, s := range newView(a).sections() {
			for _, p := range s.Plots {
				if strings.Contains(p.Label, "..") || strings.Contains(p.Label, ". .") {
					t.Errorf("%s: the label of %s is %q", name, p.ID, p.Label)
				}
			}
		}
	}
}

// TestTheFirstScreenComesFirst, with the sentence, the chart, the confidence and what was not tested.
func TestTheFirstScreenComesFirst(t *testing.T) {
	page := html(t, fixture(t, "shop-under-load.json"))
	at := 0
	for _, part := range []string{`<section id="answer">`, `<p class="lead">`, `id="plot-lead"`, `<ul class="answer">`,
		"How sure.", "Not tested.", `<section id="verdicts">`} {
		i := strings.Index(page, part)
		if i < at {
			t.Errorf("%s is at %d, after what follows it at %d", part, i, at)
		}
		at = i
	}
}

func TestPageIsSmallAndLoadsNothing(t *testing.T) {
	loads := regexp.MustCompile(`(?i)<(link[^>]+href="[^d]|script[^>]+src|img|iframe|object|embed|base)|@import|url\(`)
	for name, a := range fixtures(t) {
		page := html(t, a)
		if len(page) > largestPage {
			t.Errorf("%s: %d bytes, want at most %d", name, len(page), largestPage)
		}
		markup := withoutScript(t, page)
		if found := loads.FindString(markup); found != "" {
			t.Errorf("%s: the page loads something: %q", name, found)
		}
	}
}

// withoutScript removes the drawing script from a page.
func withoutScript(t *testing.T, page string) string {
	t.Helper()
	code, err := script()
	testset.Must(t, err)
	if code == "" {
		return page
	}
	if strings.Count(page, code) != 1 {
		t.Fatal("the page does not hold the script exactly once, as it was built")
	}
	return strings.Replace(page, code, "", 1)
}

func TestScriptFitsIntoAPage(t *testing.T) {
	code := needScript(t)
	for _, trap := range []string{"</script", "<!--", "\r"} {
		if strings.Contains(strings.ToLower(code), trap) {
			t.Errorf("the built script holds %q, which would end or change it inside a page", trap)
		}
	}
}

// needScript returns the built script, and fails the test if it was not built.
func needScript(t *testing.T) string {
	t.Helper()
	code, err := script()
	testset.Must(t, err)
	if code == "" {
		t.Fatal("report/web/dist/report.js is missing; build it with: make web")
	}
	return code
}

// TestNoTextBecomesMarkup puts markup into every text field: it must be escaped
// in the text and in the embedded data.
func TestNoTextBecomesMarkup(t *testing.T) {
	for _, a := range []lab.Analysis{hostile(t), hostileLoaded(t)} {
		testNoMarkup(t, a)
	}
}

func testNoMarkup(t *testing.T, a lab.Analysis) {
	page := withoutScript(t, html(t, a))
	for _, live := range []string{"<img", "<script>alert", "<svg/onload", "\x1b", "\u202e", "\x07"} {
		if at := strings.Index(page, live); at >= 0 {
			t.Errorf("%q is live: ...%q", live, page[max(0, at-60):min(len(page), at+60)])
		}
	}
	if n := strings.Count(page, "</script"); n != 2 {
		t.Errorf("%d script ends, want 2: the data's and the drawing script's", n)
	}
	if !strings.Contains(page, "&lt;img src=x onerror=alert(1)&gt;") {
		t.Error("the hostile names are not shown as text at all")
	}
}

func TestEmbeddedDataIsTheAnalysis(t *testing.T) {
	a := fixture(t, "analysis.json")
	_, rest, ok := strings.Cut(html(t, a), `<script type="application/json" id="analysis">`)
	if !ok {
		t.Fatal("no embedded data")
	}
	data, _, _ := strings.Cut(rest, "</script>")
	var back lab.Analysis
	testset.Must(t, json.Unmarshal([]byte(data), &back))
	if !reflect.DeepEqual(a, back) {
		t.Error("the embedded analysis differs from the given one")
	}
}

func TestPolicyAllowsTheInlineScriptAndStyleByHash(t *testing.T) {
	page := html(t, fixture(t, "three-variants.json"))
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	code, err := script()
	testset.Must(t, err)
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("no policy")
	}
	said := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(policy[1])
	for _, want := range []string{"default-src 'none'", "script-src " + hash(code) + ";",
		"style-src " + hash(style) + ";"} {
		if !strings.Contains(said, want) {
			t.Errorf("policy %q lacks %q", said, want)
		}
	}
	if strings.Contains(said, "unsafe") {
		t.Errorf("policy %q allows something unsafe", said)
	}
}

func TestPageIdsAreUniqueAndLinksLead(t *testing.T) {
	ids := regexp.MustCompile(` id="([^"]*)"`)
	links := regexp.MustCompile(` href="#([^"]*)"`)
	for _, name := range []string{"whole", "small", "loaded"} {
		page := withoutScript(t, html(t, fixtures(t)[name]))
		seen := make(map[string]bool)
		for _, m := range ids.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: the id %q is used twice", name, m[1])
			}
			seen[m[1]] = true
		}
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			if !seen[m[1]] {
				t.Errorf("%s: the link #%s leads nowhere", name, m[1])
			}
		}
	}
}

// TestThePageSaysWhichSpansItShows: a page shows no captions of sections without plots.
func TestThePageSaysWhichSpansItShows(t *testing.T) {
	a := fixture(t, "three-variants.json")
	a.Traced = []lab.TracedVariant{{Variant: "http-json", Baseline: a.Baseline, Point: "s1",
		Before: lab.TraceSet{Name: a.Baseline, Traces: 9, Broken: 1}}}
	a.Traced = append(a.Traced, a.Traced[0])
	page := withoutScript(t, html(t, a))
	if !strings.Contains(page, "of the flows that were sampled") {
		t.Error("the page does not say that the spans are those of sampled flows")
	}
	if n := strings.Count(page, "1 of 10 traces of "+a.Baseline+" do not count"); n != 1 {
		t.Errorf("the page says %d times that a trace of the baseline does not count, want once", n)
	}
}

// TestTheRestOfThePartsHasASign: as the changes above it.
func TestTheRestOfThePartsHasASign(t *testing.T) {
	parts := make([]lab.PartChange, briefParts+2)
	parts[briefParts].Path.After = 0.002
	rows := partsTable(lab.TraceContrast{Parts: parts}, [2]string{"before", "after"}, false).Rows
	if got := rows[briefParts]; got[0].Text != "2 others" || got[len(got)-1].Text != "+2.00 ms" {
		t.Errorf("the last row is %v", got)
	}
}

func TestEveryPlotHasATextAlternativeAndItsNumbers(t *testing.T) {
	sections := newView(fixture(t, "analysis.json")).sections()
	for _, s := range append(sections, newView(fixture(t, "shop-under-load.json")).sections()...) {
		if s.Title == "" || s.HowTo == "" {
			t.Errorf("%s lacks a heading or how to read it: %+v", s.ID, s)
		}
		if len(s.Plots) > 0 && (s.Caption == "" || len(s.Shown)+len(s.Folded) == 0) {
			t.Errorf("%s: plots without a caption or a table", s.ID)
		}
		for _, p := range s.Plots {
			if len(p.Label) < 20 {
				t.Errorf("%s: the text alternative is %q", p.ID, p.Label)
			}
		}
	}
}
