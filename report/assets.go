package report

import (
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"sync"
)

// Style is the style sheet of all pages.
//
//go:embed page/report.css
var Style string

// pageFiles holds the templates of the HTML reports.
//
//go:embed page/*.html
var pageFiles embed.FS

// pages returns the templates of the HTML reports.
var pages = sync.OnceValue(func() *template.Template {
	own := template.FuncMap{"clean": clean}
	return template.Must(template.New("").Funcs(own).ParseFS(pageFiles, "page/*.html"))
})

// drawings holds the scripts that draw the plots, built from report/web by
// `make web`. The folder always exists; without a script the page has its
// text and tables and says that the plots are missing.
//
//go:embed all:web/dist
var drawings embed.FS

// script returns the built script of the report, "" if it was not built.
func script() (string, error) { return built("report.js") }

// ServeScript returns the script of the pages of `cleave serve`, "" if it was not built.
func ServeScript() (string, error) { return built("serve.js") }

// built returns a built script by its file name, "" if it was not built.
func built(name string) (string, error) {
	data, err := fs.ReadFile(drawings, "web/dist/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the embedded script %s: %w", name, err)
	}
	return string(data), nil
}
