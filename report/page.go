package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// document holds the data of the page template.
type document struct {
	Study, Title, Subtitle string
	Policy                 string
	Style, Script, Data    template.HTML
	Answer                 answer
	Sections               []section
	Variants               []entry
	Drawn                  bool // the script was built
}

// answer is the first section of the page.
type answer struct {
	Sentence                  string
	Lead                      *plot // the bars of the headline; nil: none
	Findings                  []finding
	Withheld, Sure, NotTested string
}

// finding is a finding of the answer. Link is the id of the section with its figures, "" if there is none.
type finding struct{ Text, Link string }

// entry explains one variant.
type entry struct{ Name, Summary, Traits string }

// HTML writes the report as one file that needs no network. Text and tables
// are in the markup; the plots are drawn by an inline script from the analysis
// that is embedded as data. A content security policy allows that script and
// the inline style by their hashes, and nothing else.
func HTML(w io.Writer, a lab.Analysis) error {
	d, err := newDocument(a)
	if err != nil {
		return err
	}
	if err := pages().ExecuteTemplate(w, "page.html", d); err != nil {
		return fmt.Errorf("write the HTML report of %q: %w", a.Study, err)
	}
	return nil
}

// newDocument returns the data of the page of an analysis.
func newDocument(a lab.Analysis) (document, error) {
	code, err := script()
	if err != nil {
		return document{}, err
	}
	data, err := embedded(a)
	if err != nil {
		return document{}, fmt.Errorf("encode the analysis of %q for the page: %w", a.Study, err)
	}
	v := newView(a)
	sections := v.sections()
	return document{
		Study: clean(a.Study), Title: clean(a.Title), Policy: policy(code),
		Subtitle: clean(fmt.Sprintf("Profile %s · scale %s · seed %d", v.Profile, plainNumber(v.Scale), v.Seed)),
		Style:    template.HTML("<style>" + Style + "</style>"),
		Script:   template.HTML("<script>" + code + "</script>"),
		Data: template.HTML(`<script type="application/json" id="analysis">` + escapeMarks(data) +
			"</script>"),
		Answer:   newAnswer(a.Answer, sections),
		Sections: sections, Variants: glossary(a.Variants), Drawn: code != "",
	}, nil
}

// newAnswer returns the answer for the page. Findings have links to those sections that the page has.
func newAnswer(c lab.Conclusion, sections []section) answer {
	a := answer{Sentence: clean(c.Sentence), Withheld: clean(strings.Join(c.Withheld, " ")),
		Sure: clean(strings.Join(c.Sure, " ")), NotTested: clean(notTested(c))}
	if c.Headline != nil && len(c.Headline.Bars) > 0 {
		a.Lead = barsPlot("plot-lead", *c.Headline)
	}
	for _, f := range c.Findings {
		link := ""
		if slices.ContainsFunc(sections, func(s section) bool { return s.ID == f.Section }) {
			link = f.Section
		}
		a.Findings = append(a.Findings, finding{clean(f.Text), link})
	}
	return a
}

// barsPlot returns a plot of bars, or nil if they hold a number that is not finite.
func barsPlot(id string, h lab.Headline) *plot {
	data, err := json.Marshal(h)
	if err != nil {
		return nil
	}
	var bars []string
	for _, b := range h.Bars {
		bars = append(bars, b.Label+" "+times(b.Ratio))
	}
	title := figure.Capital(clean(h.Title))
	return &plot{ID: id, Kind: "headline", Bars: escapeMarks(data), Title: title,
		Label: clean(title + ": " + strings.Join(bars, "; "))}
}

// largestData is the size of the data of a page, in bytes, above which the page leaves out the single trials
// of distributions and the courses at points that are not shown first. With script and tables the page then
// stays under 2 MiB.
const largestData = 1_250_000

// embedded returns the analysis as JSON for the page. json.Marshal writes <, > and & as
// \u003c, \u003e and \u0026, so that no text of the analysis can end the element around it.
func embedded(a lab.Analysis) ([]byte, error) {
	data, err := json.Marshal(a)
	if err != nil || len(data) <= largestData {
		return data, err
	}
	v := newView(a)
	a.Spectra = v.lightSpectra()
	a.Courses = v.lightCourses()
	return json.Marshal(a)
}

// glossary returns an explanation of every variant: summary, system, architecture, deployment and knobs.
func glossary(variants []lab.Variant) []entry {
	entries := make([]entry, len(variants))
	for i, x := range variants {
		traits := []string{x.System, x.Architecture, x.Deployment}
		for _, knob := range slices.Sorted(maps.Keys(x.Knobs)) {
			traits = append(traits, knob+": "+x.Knobs[knob])
		}
		if x.TwinOf != "" {
			traits = append(traits, "twin of "+x.TwinOf)
		}
		entries[i] = entry{clean(x.Name), clean(x.Summary), strings.Join(cleanAll(traits), ", ")}
	}
	return entries
}

// policy allows one script and the style by their hashes, data: images (the
// empty icon) and nothing else: no network, no frames, no forms.
func policy(code string) string {
	return strings.Join([]string{"default-src 'none'", "script-src " + hash(code), "style-src " + hash(Style),
		"img-src data: blob:", "base-uri 'none'", "form-action 'none'"}, "; ")
}

// hash returns a CSP source that allows exactly this inline text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
