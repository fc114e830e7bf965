// Package ci writes results in formats for tools of continuous integration: Markdown for
// summaries of jobs and pull requests, JUnit's XML, and the files of github-action-benchmark,
// Bencher and Apache Otava. It computes no figures: they come from report/analysis.
//
// Entry points: Formats, Known and Write for a run; FormatsAgainst and WriteAgainst for one run against
// another; Decision for a page of a decision record.
package ci

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/plain"
)

// The formats.
const (
	Markdown        = "markdown"
	JUnit           = "junit"
	BenchmarkAction = "benchmark-action"
	Bencher         = "bencher"
	Otava           = "otava"
)

// Formats lists the formats of Write.
func Formats() []string { return []string{Markdown, JUnit, BenchmarkAction, Bencher, Otava} }

// FormatsAgainst lists the formats of WriteAgainst. The other formats can only hold a single run.
func FormatsAgainst() []string { return []string{Markdown, JUnit} }

// Known returns nil if the format is in known or empty, else an error that lists the known formats.
func Known(format string, known []string) error {
	if format == "" || slices.Contains(known, format) {
		return nil
	}
	return fmt.Errorf("--format cannot be %q here: use one of %s", format, strings.Join(known, ", "))
}

// Run is a run with the verdicts of its gates.
type Run struct {
	Name     string    // name of its folder
	Began    time.Time // when its plan was created
	Analysis lab.Analysis
	Gates    []lab.GateVerdict
	// MustKnow makes an open gate count as failed (--require-verdict). A gate is open if its limit may be
	// exceeded.
	MustKnow bool
}

// Write writes a run in one of the Formats. It panics for other formats, and for the empty one, which Known
// accepts.
func Write(w io.Writer, format string, r Run) error {
	texts := map[string]func(Run) (string, error){Markdown: markdown, JUnit: junit,
		BenchmarkAction: benchmarkAction, Bencher: bencher, Otava: otava}
	text, err := texts[format](r)
	return write(w, format, text, err)
}

// WriteAgainst writes one run against another in one of the FormatsAgainst. With mustKnow an open gate
// counts as failed.
func WriteAgainst(w io.Writer, format string, a lab.Against, mustKnow bool) error {
	if format == JUnit {
		text, err := suiteText(a.After.Study, gateCases(a.Gates, mustKnow))
		return write(w, format, text, err)
	}
	return write(w, format, againstMarkdown(a, mustKnow), nil)
}

// oneLine returns a text from outside on one line, with its control characters escaped.
func oneLine(text string) string {
	words := strings.Fields(plain.Text(text))
	return strings.Join(words, " ")
}

// write writes a document, or returns the error that prevented the document.
func write(w io.Writer, format, document string, err error) error {
	if err == nil {
		_, err = io.WriteString(w, document)
	}
	if err != nil {
		return fmt.Errorf("write the results as %s: %w", format, err)
	}
	return nil
}
