package serve

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/figure"
	"github.com/cleave-lab/cleave/report/plain"
)

// files holds the templates of the pages and what they add to the style of reports.
//
//go:embed pages
var files embed.FS

// pages holds the templates, the script and the style of all pages.
type pages struct {
	templates     *template.Template
	script, style string
}

func readPages() (p pages, err error) {
	p.templates, err = template.New("").Funcs(template.FuncMap{
		"plain": plain.Text, "bar": barText, "at": at, "link": link, "list": list,
	}).ParseFS(files, "pages/*.html")
	if err != nil {
		return p, fmt.Errorf("read the page templates: %w", err)
	}
	own, err := files.ReadFile("pages/serve.css")
	if err != nil {
		return p, fmt.Errorf("read the style sheet: %w", err)
	}
	if p.style, err = report.Style(); err != nil {
		return p, err
	}
	p.style += string(own)
	p.script, err = report.ServeScript()
	return p, err
}

// show sends a page.
func (p pages) show(w http.ResponseWriter, name string, data map[string]any) {
	var page bytes.Buffer
	if err := p.templates.ExecuteTemplate(&page, name, data); err != nil {
		refuse(w, fmt.Errorf("make the page: %w", err))
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // a browser that has gone away needs no answer
}

// barText writes a bar of a headline: "sync: cpu_per_operation 1.52x [1.44, 1.61]".
func barText(b lab.Bar) string {
	return plain.Text(fmt.Sprintf("%s: %s %s", b.Label, b.Metric, figure.Times(b.Ratio.Estimate())))
}

// at writes a moment as a table does, in UTC.
func at(moment time.Time) string { return moment.UTC().Format("2006-01-02 15:04") }

// link returns the path of a page of a run.
func link(page, run string) string { return (&url.URL{Path: "/" + page + "/" + run}).EscapedPath() }

// list writes names with commas between them, as the form has tags.
func list(names []string) string { return plain.Text(strings.Join(names, ", ")) }
