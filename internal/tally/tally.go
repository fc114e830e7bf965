package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json` (cmd/test2json, cmd/go build events).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// tally counts the results of tests. Of a test with subtests only the subtests count, unless the test fails
// and none of them does.
type tally struct {
	passed, failed, skipped, unsteady int

	flags        []string // of the run
	out          io.Writer
	err          error             // the first error of writing to out
	running      map[string]*suite // by package
	broken       []failure         // packages that failed, not yet printed
	packageTimes []duration
	testTimes    []duration // of top-level tests
}

// duration is the time that a test or a package took.
type duration struct {
	seconds float64
	what    string
}

// shownSlowest is the length of the lists of the slowest packages and tests.
const shownSlowest = 10

// slowest returns the lists of the slowest packages and tests of all runs.
func (t *tally) slowest() string {
	return "the slowest packages:\n" + listSlowest(t.packageTimes) + "the slowest tests:\n" +
		listSlowest(t.testTimes)
}

// listSlowest returns the longest durations, one a line. It sorts took.
func listSlowest(took []duration) string {
	slices.SortStableFunc(took, func(a, b duration) int { return cmp.Compare(b.seconds, a.seconds) })
	var text strings.Builder
	for _, d := range took[:min(shownSlowest, len(took))] {
		fmt.Fprintf(&text, "%7.1f s  %s\n", d.seconds, d.what)
	}
	return text.String()
}

// suite holds the results of a package while its tests run.
type suite struct {
	output  map[string]*strings.Builder // by test; "" is the package itself
	order   []string                    // the keys of output, in the order of their first line
	parents map[string]bool             // tests with subtests
	blamed  map[string]bool             // tests with failed subtests
	failed  []string                    // failed tests, except the blamed ones
	times   []duration                  // of top-level tests
}

// cached reports whether the results come from Go's test cache.
func (s *suite) cached() bool {
	output, there := s.output[""]
	return there && strings.HasSuffix(output.String(), "\t(cached)\n")
}

// newTally returns a tally that prints to out.
func newTally(out io.Writer) *tally {
	return &tally{out: out, running: make(map[string]*suite)}
}

// String returns the closing line.
func (t *tally) String() string {
	text := fmt.Sprintf("%d passed, %d failed", t.passed, t.failed)
	if t.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.skipped)
	}
	if t.unsteady > 0 {
		text += fmt.Sprintf(", %d unsteady (failed, and passed when repeated alone)", t.unsteady)
	}
	return text
}

// add adds the counts and times of another tally.
func (t *tally) add(o *tally) {
	t.passed += o.passed
	t.failed += o.failed
	t.skipped += o.skipped
	t.unsteady += o.unsteady
	t.packageTimes = append(t.packageTimes, o.packageTimes...)
	t.testTimes = append(t.testTimes, o.testTimes...)
}

// print writes to out. It keeps the first error in t.err.
func (t *tally) print(format string, arguments ...any) {
	if _, err := fmt.Fprintf(t.out, format, arguments...); err != nil && t.err == nil {
		t.err = err
	}
}

// read counts the events of a whole stream. It prints lines that are not JSON.
func (t *tally) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			t.line(line)
		}
		if err == io.EOF {
			t.end()
			return nil
		}
		if err != nil {
			return fmt.Errorf("read test events: %w", err)
		}
	}
}

// line handles one line of the stream.
func (t *tally) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		t.print("%s", line)
		return
	}
	switch e.Action {
	case "build-output":
		t.print("%s", e.Output)
	case "output":
		t.suite(e.Package).keep(e.Test, e.Output)
	case "run":
		markParents(t.suite(e.Package).parents, e.Test)
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.finish(e)
		} else {
			t.count(e)
		}
	}
}

// suite returns the running suite of a package.
func (t *tally) suite(name string) *suite {
	s, known := t.running[name]
	if !known {
		s = &suite{output: make(map[string]*strings.Builder), parents: make(map[string]bool),
			blamed: make(map[string]bool)}
		t.running[name] = s
	}
	return s
}

// markParents marks the parents of a subtest, at all levels.
func markParents(marks map[string]bool, test string) {
	for at := strings.LastIndexByte(test, '/'); at > 0; at = strings.LastIndexByte(test[:at], '/') {
		marks[test[:at]] = true
	}
}

// keep stores output of a test, to print it if the test fails.
func (s *suite) keep(test, text string) {
	builder, known := s.output[test]
	if !known {
		builder = new(strings.Builder)
		s.output[test] = builder
		s.order = append(s.order, test)
	}
	builder.WriteString(text)
}

// reason returns the message of a skipped test: its output without the lines of the test runner and without
// testscript's log of the script.
func (s *suite) reason(test string) string {
	kept, there := s.output[test]
	if !there {
		return "no reason given"
	}
	var message []string
	for line := range strings.Lines(kept.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "testscript.go:") {
			break
		}
		isMark := strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
		if line != "" && !isMark {
			message = append(message, line)
		}
	}
	return strings.Join(message, "; ")
}

// count counts a test that has ended, and drops its output unless it has failed.
func (t *tally) count(e event) {
	s := t.suite(e.Package)
	if !strings.Contains(e.Test, "/") {
		s.times = append(s.times, duration{e.Elapsed, t.label(e.Package) + " " + e.Test})
	}
	if e.Action == "skip" && !s.parents[e.Test] {
		t.print("skip %s %s: %s\n", e.Package, e.Test, s.reason(e.Test))
	}
	if e.Action != "fail" {
		delete(s.output, e.Test)
	}
	failedItself := e.Action == "fail" && !s.blamed[e.Test]
	if s.parents[e.Test] && !failedItself {
		return // its subtests are counted
	}
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
	case "fail":
		t.failed++
		s.failed = append(s.failed, e.Test)
		markParents(s.blamed, e.Test)
	}
}

// label returns the name of a package, followed by -race if the run uses the race detector.
func (t *tally) label(name string) string {
	if slices.Contains(t.flags, "-race") {
		name += " -race"
	}
	return name
}

// finish prints the result of a package whose tests have ended, or keeps it as a failure. A package that
// fails without a failed test (it did not compile, or panicked) counts as one failure.
func (t *tally) finish(e event) {
	s := t.suite(e.Package)
	delete(t.running, e.Package)
	name := t.label(e.Package)
	took := fmt.Sprintf("%.1f s", e.Elapsed)
	if s.cached() {
		took = "(cached)"
	} else {
		t.packageTimes = append(t.packageTimes, duration{e.Elapsed, name})
		t.testTimes = append(t.testTimes, s.times...)
	}
	switch e.Action {
	case "pass":
		t.print("ok   %s %s\n", name, took)
	case "skip":
		t.print("-    %s has no tests\n", e.Package)
	case "fail":
		t.fail(failure{e.Package, took, s})
	}
}

// end handles the end of the stream: a package that did not finish has failed.
func (t *tally) end() {
	for name, s := range t.running {
		s.failed = nil // they are counted already; the package is one more failure
		t.fail(failure{name, "did not finish", s})
	}
	clear(t.running)
}

// fail adds a failed package. Its output is not printed yet, because the tests may be repeated.
func (t *tally) fail(f failure) {
	if len(f.failed) == 0 {
		t.failed++
	}
	t.broken = append(t.broken, f)
}
