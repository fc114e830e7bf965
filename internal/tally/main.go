// Command tally runs `go test` and prints a summary of the results: a line per package,
// the output of failed tests, and at the end the slowest packages and tests and the
// numbers of passed and failed tests. The exit code is 1 if a test or a package failed
// or if no test passed.
//
// Several runs, separated by --, run in parallel. If a run has only a few failed tests,
// they are repeated once, after all runs and one by one. A test that passes then is
// unsteady: it is listed with the output of its failure, and counted neither as passed
// nor as failed. See isRepeatable for failures that are not repeated.
//
//	go run ./internal/tally -p=1 ./a ./b -- -p=2 -race ./c
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

func main() {
	t, err := runAll(goTest, groups(os.Args[1:]), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	fmt.Printf("%s%v\n", t.slowest(), t)
	if t.failed > 0 || t.passed == 0 {
		os.Exit(1)
	}
}

// group holds the arguments of one run.
type group struct {
	flags    []string // as -flag=value, in one word
	packages []string
}

// groups parses the command line.
func groups(words []string) []group {
	all := []group{{}}
	for _, word := range words {
		last := &all[len(all)-1]
		switch {
		case word == "--":
			all = append(all, group{})
		case strings.HasPrefix(word, "-"):
			last.flags = append(last.flags, word)
		default:
			last.packages = append(last.packages, word)
		}
	}
	return all
}

// tester runs the tests of a group and calls events with the stream of their events, as JSON. It returns the
// error of events, and an *exec.ExitError if a test has failed.
type tester func(g group, events func(io.Reader) error) error

// goTest is the tester of the Go toolchain. Only the race detector needs cgo. Without it cgo is off, as for
// the programs that tests build, so that packages of both are compiled only once.
func goTest(g group, events func(io.Reader) error) error {
	command := exec.Command("go", slices.Concat([]string{"test", "-json"}, g.flags, g.packages)...)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if slices.Contains(g.flags, "-race") {
		command.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	// events reads to the end before Wait closes the pipe.
	return errors.Join(events(out), command.Wait())
}

// runAll runs all groups in parallel, then repeats failed tests one by one, and returns the sum of the
// results.
func runAll(test tester, all []group, to io.Writer) (*tally, error) {
	shared := &lockedWriter{to: to}
	counted := make([]*tally, len(all))
	problems := make([]error, len(all))
	var running sync.WaitGroup
	for i, g := range all {
		running.Go(func() { counted[i], problems[i] = runOnce(test, g, shared) })
	}
	running.Wait()
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	sum := newTally(to)
	for i, t := range counted {
		if err := t.repeatFailed(test, all[i], to); err != nil {
			return nil, err
		}
		sum.add(t)
	}
	return sum, nil
}

// lockedWriter is a writer for several goroutines: each Write is written as a whole.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (l *lockedWriter) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(text)
}

// repeatFailed repeats the failed tests that may be repeated, and prints the failures that remain. It returns
// an error if a test cannot be run again, or if the output could not be written at any time.
func (t *tally) repeatFailed(test tester, g group, to io.Writer) error {
	failed := 0 // top-level tests
	for _, b := range t.broken {
		failed += len(b.roots())
	}
	for _, b := range t.broken {
		if failed > maxRepeated || !b.isRepeatable() {
			t.show(b, "")
			continue
		}
		// One by one: a broken test may leave something behind, or slow the others down so that they fail again.
		for _, root := range b.roots() {
			pattern := "-run=^" + regexp.QuoteMeta(root) + "$"
			alone := group{append(slices.Clone(g.flags), "-count=1", pattern), []string{b.name}}
			again, err := runOnce(test, alone, to)
			if err != nil {
				return err
			}
			if again.failed == 0 && again.passed > 0 {
				t.markUnsteady(b, root)
			} else {
				t.show(b, root)
			}
		}
	}
	return t.err
}

// runOnce runs a group once and returns its results. Failed tests are not an error. It returns an error if
// the tests could not be run, or if the output could not be written.
func runOnce(test tester, g group, to io.Writer) (*tally, error) {
	t := newTally(to)
	t.flags = g.flags
	err := test(g, t.read)
	var exit *exec.ExitError
	testsFailed := errors.As(err, &exit) && t.failed > 0
	if err != nil && !testsFailed {
		return nil, fmt.Errorf("run the tests of %s: %w", strings.Join(g.packages, " "), err)
	}
	return t, t.err
}
