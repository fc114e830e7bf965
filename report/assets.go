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

// script returns the built script, empty where it was not built.
func script() (string, error) {
	data, err := fs.ReadFile(drawings, "web/dist/report.js")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the embedded report script: %w", err)
	}
	return string(data), nil
}
