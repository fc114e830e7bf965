package report

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// pageFiles holds the template and the style sheet of the HTML report.
//
//go:embed page
var pageFiles embed.FS

// drawings holds the script that draws the plots, built from report/web by
// `make web`. The folder always exists; without the script the page has its
// text and tables and says what is missing.
//
//go:embed all:web/dist
var drawings embed.FS

// script returns the built script of the report, empty where it was not built.
func script() (string, error) { return built("report.js") }

// ServeScript returns the script of the pages of `cleave serve`, empty where it was not built.
func ServeScript() (string, error) { return built("serve.js") }

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

// Style returns the style sheet of all pages.
func Style() (string, error) {
	data, err := fs.ReadFile(pageFiles, "page/report.css")
	if err != nil {
		return "", fmt.Errorf("read the style sheet: %w", err)
	}
	return string(data), nil
}
