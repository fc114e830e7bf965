package main

import (
	"slices"
	"strings"
)

// maxRepeated is the largest number of failed tests of a run that are repeated. If more
// fail, the reason is not a busy machine.
const maxRepeated = 8

// failure is a package that failed.
type failure struct {
	name string
	how  string // its time, or how it ended
	*suite
}

// isRepeatable reports whether the machine could be the reason of a failure: a slow server,
// a port in use. Data races, panics, timeouts and compile errors are bugs even if they
// are rare.
func (f failure) isRepeatable() bool {
	if len(f.failed) == 0 {
		return false // the package itself has failed: it does not compile, or did not finish
	}
	for _, kept := range f.output {
		if text := kept.String(); strings.Contains(text, "WARNING: DATA RACE") ||
			strings.Contains(text, "panic: ") || strings.Contains(text, "fatal error: ") {
			return false
		}
	}
	return true
}

// roots returns the names of the top-level tests that have failed, or of which a subtest has, in alphabetical
// order.
func (f failure) roots() []string {
	var names []string
	for _, test := range f.failed {
		name, _, _ := strings.Cut(test, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// show prints a failure with its output: that of one top-level test and its subtests, or of all for "".
func (t *tally) show(f failure, root string) {
	t.print("%s", f.printed(root))
	t.print("FAIL %s %s\n", f.name, f.how)
}

// markUnsteady counts a failed top-level test, which passed when it was repeated, as unsteady, with its
// failed subtests, and prints their output.
func (t *tally) markUnsteady(f failure, root string) {
	failed := slices.DeleteFunc(slices.Clone(f.failed), func(test string) bool { return !isWithin(test, root) })
	t.failed -= len(failed)
	t.unsteady += len(failed)
	t.print("unsteady %s %s: this failed, and passed when repeated alone\n", f.name, strings.Join(failed, " "))
	for line := range strings.Lines(f.printed(root)) {
		t.print("| %s", line)
	}
}

// printed returns the kept output of the package itself, and of a top-level test with its subtests, or of all
// for "".
func (s *suite) printed(root string) string {
	var all strings.Builder
	for _, test := range s.order {
		kept, there := s.output[test]
		isWanted := root == "" || test == "" || isWithin(test, root)
		if there && isWanted {
			all.WriteString(kept.String())
		}
	}
	return all.String()
}

// isWithin reports whether a test is the top-level test root or one of its subtests.
func isWithin(test, root string) bool { return test == root || strings.HasPrefix(test, root+"/") }
