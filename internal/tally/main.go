// Command tally runs `go test` and prints a summary of the results: a line per package,
// the output of failed tests, and at the end the slowest packages and the numbers of
// passed and failed tests. The exit code is 1 if a test or a package failed or if there
// was no test at all.
//
// Several runs, separated by --, run in parallel. If a run has only a few failed tests,
// they are repeated once, after all runs and one by one. A test that passes then is
// unsteady: it is listed with the output of its failure, and counted neither as passed
// nor as failed. See repeatable for failures that are not repeated.
//
//	go run ./internal/tally -p=1 ./a ./b -- -p=2 -race ./c
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

func main() {
	t, err := runs(goTest, groups(os.Args[1:]), os.Stdout)
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

// tester runs the tests of a group and passes the stream of their events to events.
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

// runs runs all groups in parallel, then repeats failed tests one by one, and returns the sum.
func runs(play tester, all []group, to io.Writer) (*tally, error) {
	shared := &turns{to: to}
	counted, problems := make([]*tally, len(all)), make([]error, len(all))
	var under sync.WaitGroup
	for i, g := range all {
		under.Go(func() { counted[i], problems[i] = count(play, g, shared) })
	}
	under.Wait()
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	sum := newTally(to)
	for i, t := range counted {
		if err := t.settle(play, all[i], to); err != nil {
			return nil, err
		}
		sum.add(t)
	}
	return sum, nil
}

// turns is a writer for several goroutines: each Write is written as a whole.
type turns struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (t *turns) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.to.Write(text)
}

// settle repeats the failed tests that may be repeated, and prints the failures that remain.
func (t *tally) settle(play tester, g group, to io.Writer) error {
	repeat := t.broken.few()
	for _, b := range t.broken {
		if !repeat || !b.repeatable() {
			t.show(b)
			continue
		}
		for _, f := range b.byTest() {
			again, err := count(play, f.alone(g.flags), to)
			if err != nil {
				return err
			}
			if again.failed == 0 && again.passed > 0 {
				t.unsettle(f)
			} else {
				t.show(f)
			}
		}
	}
	return t.err
}

// count runs a group once and returns its results. It fails if the tests could not be run.
func count(play tester, g group, to io.Writer) (*tally, error) {
	t := newTally(to)
	t.flags = g.flags
	failure := play(g, t.read)
	var exit *exec.ExitError
	switch {
	case failure == nil, errors.As(failure, &exit) && t.failed > 0:
		return t, t.err
	}
	return nil, fmt.Errorf("run the tests of %s: %w", strings.Join(g.packages, " "), failure)
}
