package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// document is what the page template shows.
type document struct {
	Study, Title, Subtitle string
	Policy                 string
	Style, Script, Data    template.HTML
	Summary                lab.Summary
	Lead                   *plot // the picture of the first screen; nil: none
	Answer                 []sentence
	Sections               []section
	Variants               []entry
	Drawn                  bool // the script is there
}

// sentence is one of the answer; Link is the id of the section that shows it,
// empty where there is none.
type sentence struct{ Text, Link string }

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
	t, err := template.New("page.html").Funcs(template.FuncMap{"clean": clean}).ParseFS(pageFiles,
		"page/page.html")
	if err != nil {
		return fmt.Errorf("read the page template: %w", err)
	}
	if err := t.Execute(w, d); err != nil {
		return fmt.Errorf("write the HTML report of %q: %w", a.Study, err)
	}
	return nil
}

func newDocument(a lab.Analysis) (document, error) {
	style, err := fs.ReadFile(pageFiles, "page/report.css")
	if err != nil {
		return document{}, fmt.Errorf("read the style sheet: %w", err)
	}
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
		Study: clean(a.Study), Title: clean(a.Title), Subtitle: v.subtitle(), Policy: policy(code, string(style)),
		Style:  template.HTML("<style>" + string(style) + "</style>"),
		Script: template.HTML("<script>" + code + "</script>"),
		Data: template.HTML(`<script type="application/json" id="analysis">` + string(escapeMarks(data)) +
			"</script>"),
		Summary: lab.Summary{Sentence: clean(a.Summary.Sentence), Sure: clean(a.Summary.Sure),
			NotTested: clean(a.Summary.NotTested)},
		Lead:     v.lead(sections),
		Answer:   linked(a.Answer, sections),
		Sections: sections, Variants: glossary(a.Variants), Drawn: code != "",
	}, nil
}

// lead is the picture that answers the study's question: the way where it explains one, the
// time over the rate under load, else the ratios.
func (v view) lead(sections []section) *plot {
	for _, id := range []string{"waterfall", "curves", "ratios"} {
		i := slices.IndexFunc(sections, func(s section) bool { return s.ID == id && len(s.Plots) > 0 })
		if i < 0 || id == "waterfall" && !v.explains() {
			continue
		}
		first := sections[i].Plots[0]
		decided := slices.IndexFunc(sections[i].Plots, func(p plot) bool {
			return id == "waterfall" && v.Waterfalls[p.Index].Verdict != lab.Undecided
		})
		if decided > 0 {
			first = sections[i].Plots[decided] // the one that the sentence is about
		}
		first.ID = "plot-lead"
		if first.Title == "" {
			first.Title = sections[i].Finding
		}
		return &first
	}
	return nil
}

// largestData is how much data a page holds before single trials of distributions
// and courses at other points give way: in bytes, so that with script and tables it stays under 2 MiB.
const largestData = 1_250_000

// embedded is the analysis as the page holds it. json.Marshal writes <, > and & as
// \u003c, \u003e and \u0026: no text of the analysis can end the element around it.
func embedded(a lab.Analysis) ([]byte, error) {
	data, err := json.Marshal(withLists(a))
	if err != nil || len(data) <= largestData {
		return data, err
	}
	a.Spectra = newView(a).lightSpectra()
	a.Courses = newView(a).lightCourses()
	return json.Marshal(withLists(a))
}

// linked joins every sentence of the answer with the section that shows it.
func linked(answer []lab.Sentence, sections []section) []sentence {
	joined := make([]sentence, len(answer))
	for i, s := range answer {
		joined[i].Text = clean(s.Text)
		if slices.ContainsFunc(sections, func(x section) bool { return x.ID == s.Figure }) {
			joined[i].Link = s.Figure
		}
	}
	return joined
}

// glossary says of every variant what it stands for.
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

// policy allows one script and one style by their hashes, data: images (the
// empty icon) and nothing else: no network, no frames, no forms.
func policy(code, style string) string {
	return strings.Join([]string{"default-src 'none'", "script-src " + hash(code), "style-src " + hash(style),
		"img-src data: blob:", "base-uri 'none'", "form-action 'none'"}, "; ")
}

// hash is a CSP source that allows exactly this inline text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// subtitle says what sample the page stands on.
func (v view) subtitle() string {
	return clean(fmt.Sprintf("Profile %s · scale %s · %s · %d of %d trials counted · %s intervals · margin %s "+
		"· seed %d",
		v.Profile, plainNumber(v.Scale), counted(v.Blocks, "block"), v.Trials.Valid, v.played(),
		setting(v.Confidence), setting(v.Margin), v.Seed))
}
