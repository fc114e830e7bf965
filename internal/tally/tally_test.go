package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// tallyOf counts the concatenated streams of testdata files, and returns the tally and its output.
func tallyOf(t *testing.T, names ...string) (*tally, string) {
	t.Helper()
	var stream, out bytes.Buffer
	for _, name := range names {
		text, err := os.ReadFile("testdata/" + name + ".jsonl")
		testset.Must(t, err)
		stream.Write(text)
	}
	result, err := runAll(once(&stream), []group{{}}, &out)
	testset.Must(t, err)
	return result, out.String()
}

// once returns a tester whose first run has the events of a stream. The stream is empty for further runs, so
// that repeated tests do not pass.
func once(stream io.Reader) tester {
	return func(_ group, events func(io.Reader) error) error { return events(stream) }
}

func TestClosingLine(t *testing.T) {
	cases := []struct {
		name    string
		streams []string
		want    string
	}{
		{"subtests count, their parents do not", []string{"passes"}, "3 passed, 0 failed, 1 skipped"},
		{"a failed parent counts only for itself", []string{"fails"}, "3 passed, 3 failed"},
		{"from Go's cache of results", []string{"cached"}, "1 passed, 0 failed, 1 skipped"},
		{"panic", []string{"panics"}, "0 passed, 1 failed"},
		{"does not compile", []string{"broken"}, "0 passed, 1 failed"},
		{"no tests", []string{"empty"}, "0 passed, 0 failed"},
		{"several runs", []string{"passes", "empty", "fails", "passes"}, "9 passed, 3 failed, 2 skipped"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := tallyOf(t, c.streams...); got.String() != c.want {
				t.Errorf("tally = %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheSlowestAreListed(t *testing.T) {
	sum := newTally(io.Discard)
	for i, flags := range [][]string{nil, {"-race"}} {
		one := newTally(io.Discard)
		one.flags = flags
		for n := range 6 {
			one.count(event{Action: "pass", Package: string(rune('a' + n)), Test: "TestAll/of-it", Elapsed: 99})
			one.count(event{Action: "pass", Package: string(rune('a' + n)), Test: "TestAll", Elapsed: float64(n + i)})
			one.finish(event{Action: "pass", Package: string(rune('a' + n)), Elapsed: float64(10*n + i)})
		}
		sum.add(one)
	}
	lines := strings.Split(strings.TrimRight(sum.slowest(), "\n"), "\n")
	want := map[int]string{0: "the slowest packages:", 1: "   51.0 s  f -race", 2: "   50.0 s  f",
		10: "   10.0 s  b",
		11: "the slowest tests:", 12: "    6.0 s  f -race TestAll", 13: "    5.0 s  f TestAll",
		14: "    5.0 s  e -race TestAll"}
	wrong := len(lines) != 22
	for at, line := range want {
		wrong = wrong || lines[at] != line
	}
	if wrong {
		t.Errorf("the slowest are\n%s", strings.Join(lines, "\n"))
	}
}

func TestOutputOfFailuresOnly(t *testing.T) {
	cases := []struct {
		stream          string
		shown, withheld string
	}{
		{"passes", "ok   example.org/fixture/passes", "seen only on failure"},
		{"passes", "skip example.org/fixture/passes TestSkipped: a_test.go:13: not here\n", "=== RUN"},
		{"fails", "got 1, want 2", "good output"},
		{"fails", "FAIL example.org/fixture/fails", "ok   "},
		{"cached", "ok   example.org/fixture/cached (cached)", "0.0 s"},
		{"panics", "panic: no luck", "ok   "},
		{"broken", "undefined: undefined", "ok   "},
		{"empty", "has no tests", "FAIL"},
	}
	for _, c := range cases {
		t.Run(c.stream+" "+c.shown, func(t *testing.T) {
			_, out := tallyOf(t, c.stream)
			if !strings.Contains(out, c.shown) || strings.Contains(out, c.withheld) {
				t.Errorf("output %q: want %q and not %q", out, c.shown, c.withheld)
			}
		})
	}
}

// TestTheCacheIsNotAmongTheSlowest: packages from the test cache are not in the lists.
func TestTheCacheIsNotAmongTheSlowest(t *testing.T) {
	got, _ := tallyOf(t, "cached")
	if slowest := got.slowest(); strings.Contains(slowest, "fixture") {
		t.Errorf("the slowest are\n%s", slowest)
	}
}

// TestReasonOfASkippedScript: the reason of a skipped script does not contain testscript's log of its
// commands.
func TestReasonOfASkippedScript(t *testing.T) {
	var out bytes.Buffer
	stream := `{"Action":"run","Package":"p","Test":"T/explain"}
{"Action":"output","Package":"p","Test":"T/explain","Output":"    cmd.go:1: it plays whole trials\n"}
{"Action":"output","Package":"p","Test":"T/explain","Output":"    testscript.go:609: WORK=$WORK\n        > exits 0\n"}
{"Action":"skip","Package":"p","Test":"T/explain","Elapsed":0.1}
{"Action":"pass","Package":"p","Elapsed":0.1}
`
	if _, err := runAll(once(strings.NewReader(stream)), []group{{}}, &out); err != nil ||
		!strings.Contains(out.String(), "skip p T/explain: cmd.go:1: it plays whole trials\n") {
		t.Errorf("output = %q, %v", out.String(), err)
	}
}

func TestStreamCutShort(t *testing.T) {
	text, err := os.ReadFile("testdata/passes.jsonl")
	testset.Must(t, err)
	lines := bytes.SplitAfter(text, []byte{'\n'})
	var out bytes.Buffer
	got, err := runAll(once(bytes.NewReader(bytes.Join(lines[:len(lines)-2], nil))), []group{{}}, &out)
	if err != nil || got.failed != 1 || !strings.Contains(out.String(), "did not finish") {
		t.Errorf("tally = %v, %v, output %q", got, err, out.String())
	}
}

func TestOtherLinesPass(t *testing.T) {
	var out bytes.Buffer
	if _, err := runAll(once(strings.NewReader("go: downloading\n")), []group{{}}, &out); err != nil ||
		out.String() != "go: downloading\n" {
		t.Errorf("output = %q, %v", out.String(), err)
	}
}
