package serve

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/report/plain"
)

// files holds the templates of the pages.
//
//go:embed pages/*.html
var files embed.FS

// ownStyle holds the style rules that the pages need in addition to those of reports.
//
//go:embed pages/serve.css
var ownStyle string

// pages holds the templates and the script of all pages.
type pages struct {
	templates *template.Template
	script    string
}

// readPages reads the embedded pages and their script.
func readPages() (p pages, err error) {
	p.templates = template.Must(template.New("").Funcs(template.FuncMap{
		"plain": plain.Text, "bar": barText, "at": at, "link": link, "list": list, "json": jsonText,
		"follow": follow, "change": changeText, "count": lab.Count,
		"estimate": estimate, "tone": tone, "amount": figure.Amount, "second": second,
		"ratio": func(r *lab.Ratio) string { return figure.Times(r.Estimate()) },
	}).ParseFS(files, "pages/*.html"))
	p.script, err = report.ServeScript()
	return p, err
}

// show sends a page.
func (p pages) show(w http.ResponseWriter, name string, shown data) {
	var page bytes.Buffer
	if err := p.templates.ExecuteTemplate(&page, name, shown); err != nil {
		refuse(w, fmt.Errorf("make the page: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // the browser may have closed the connection
}

// barText formats a bar of a headline: "sync 1.52x [1.44, 1.61]".
func barText(b lab.Bar) string {
	return plain.Text(b.Label + " " + figure.Times(b.Ratio.Estimate()))
}

// jsonText returns a value as JSON for the script of a page.
func jsonText(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

// at formats a time in UTC, to the minute.
func at(moment time.Time) string { return moment.UTC().Format("2006-01-02 15:04") }

// second formats a time in UTC, to the second.
func second(moment time.Time) string { return moment.UTC().Format(time.DateTime) }

// link returns the path of a page about a run.
func link(page, run string) string { return (&url.URL{Path: "/" + page + "/" + run}).EscapedPath() }

// list formats names with commas between them, as tags are typed in the form.
func list(names []string) string { return plain.Text(strings.Join(names, ", ")) }

// drawnCourse holds the data of a plot of a history.
type drawnCourse struct {
	Runs   []lab.HistoryRun  `json:"runs"`
	Course lab.HistoryCourse `json:"course"`
}

// follow returns a course of a history with its runs.
func follow(h lab.History, course lab.HistoryCourse) drawnCourse { return drawnCourse{h.Runs, course} }

// changeText describes a change in a history: "from 2026-01-02 03:04 on 1.2x the level before (p < 0.0001)".
func changeText(h lab.History, c lab.HistoryChange) string {
	text := fmt.Sprintf("from %s on %s the level before (p %s)", at(h.Runs[c.Run].Created),
		figure.Multiple(c.Factor), probability(c.P))
	if c.Elsewhere {
		text += "; the environment is another from then on, too"
	}
	return text
}

// probability formats a p-value with its sign: "= 0.003" or "< 0.0001".
func probability(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return "= " + strconv.FormatFloat(p, 'g', 1, 64)
}
