package main

import (
	"regexp"
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

// failures holds the failed packages of one run.
type failures []failure

// areFew reports whether at most maxRepeated top-level tests have failed.
func (all failures) areFew() bool {
	n := 0
	for _, f := range all {
		n += len(f.roots())
	}
	return n <= maxRepeated
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

// byTest returns a failure for each failed top-level test with its subtests, to repeat them one by one: a
// broken test may leave something behind, or slow the others down so that they fail again.
func (f failure) byTest() []failure {
	var all []failure
	for _, root := range f.roots() {
		within := func(test string) bool { // "" is the package itself
			return test == "" || test == root || strings.HasPrefix(test, root+"/")
		}
		one := &suite{output: f.output}
		for _, test := range f.order {
			if within(test) {
				one.order = append(one.order, test)
			}
		}
		for _, test := range f.failed {
			if within(test) {
				one.failed = append(one.failed, test)
			}
		}
		all = append(all, failure{f.name, f.how, one})
	}
	return all
}

// alone returns a group that runs the failed top-level test of f, which is one of the failures of byTest.
func (f failure) alone(flags []string) group {
	pattern := "-run=^" + regexp.QuoteMeta(f.roots()[0]) + "$"
	return group{append(slices.Clone(flags), "-count=1", pattern), []string{f.name}}
}

// show prints a failure with its output.
func (t *tally) show(f failure) {
	t.print("%s", f.printed())
	t.print("FAIL %s %s\n", f.name, f.how)
}

// markUnsteady counts failed tests, which passed when they were repeated, as unsteady, and prints their
// output.
func (t *tally) markUnsteady(f failure) {
	t.failed -= len(f.failed)
	t.unsteady += len(f.failed)
	t.print("unsteady %s %s: this failed, and passed when repeated alone\n", f.name, strings.Join(f.failed, " "))
	for line := range strings.Lines(f.printed()) {
		t.print("| %s", line)
	}
}

// printed returns the kept output of the failed tests of a package and of the package itself.
func (s *suite) printed() string {
	var all strings.Builder
	for _, test := range s.order {
		if kept, there := s.output[test]; there {
			all.WriteString(kept.String())
		}
	}
	return all.String()
}
