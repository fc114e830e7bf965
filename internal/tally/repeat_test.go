package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// testEvents returns a stream of `go test -json` for the package a/b. Each argument is a test with its
// result ("TestA fail") and, after a colon, its output.
func testEvents(tests ...string) string {
	var b strings.Builder
	end := "pass"
	for _, test := range tests {
		what, printed, _ := strings.Cut(test, ": ")
		name, action, _ := strings.Cut(what, " ")
		fmt.Fprintf(&b, `{"Action":"run","Package":"a/b","Test":%q}`+"\n", name)
		fmt.Fprintf(&b, `{"Action":"output","Package":"a/b","Test":%q,"Output":%q}`+"\n", name, printed+"\n")
		fmt.Fprintf(&b, `{"Action":%q,"Package":"a/b","Test":%q}`+"\n", action, name)
		if action == "fail" {
			end = "fail"
		}
	}
	fmt.Fprintf(&b, `{"Action":%q,"Package":"a/b"}`+"\n", end)
	return b.String()
}

func TestFewFailuresAreRepeated(t *testing.T) {
	broken := []string{"TestA pass", "TestB fail: too late"}
	for name, c := range map[string]struct {
		first, second []string
		want          string
	}{
		"it passes": {broken, []string{"TestB pass"},
			"1 passed, 0 failed, 1 unsteady (failed, and passed when repeated alone)"},
		"it fails again": {broken, []string{"TestB fail"}, "1 passed, 1 failed"},
		"it is skipped":  {broken, []string{"TestB skip"}, "1 passed, 1 failed"},
		"it is gone":     {broken, nil, "1 passed, 1 failed"},
		"a race": {[]string{"TestB fail: WARNING: DATA RACE"}, []string{"TestB pass"},
			"0 passed, 1 failed"},
		"a panic": {[]string{"TestB fail: panic: no luck"}, []string{"TestB pass"},
			"0 passed, 1 failed"},
		"a fault of Go": {[]string{"TestB fail: fatal error: all goroutines are asleep"},
			[]string{"TestB pass"}, "0 passed, 1 failed"},
		"as many as the limit": {failing(8), []string{"TestA pass"},
			"0 passed, 0 failed, 8 unsteady (failed, and passed when repeated alone)"},
		"more than the limit": {failing(9), []string{"TestA pass"}, "0 passed, 9 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			stream := testEvents(c.first...)
			got, err := runAll(func(_ group, events func(io.Reader) error) error {
				defer func() { stream = testEvents(c.second...) }()
				return events(strings.NewReader(stream))
			}, []group{{}}, &out)
			if err != nil || got.String() != c.want {
				t.Errorf("tally = %q, %v, want %q; output %q", got, err, c.want, out.String())
			}
			if failed := strings.Contains(out.String(), "\nFAIL a/b"); failed != (got.failed > 0) {
				t.Errorf("%s: output %q", got, out.String())
			}
		})
	}
}

// failing returns n failed tests, as arguments of testEvents.
func failing(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("Test%d fail", i)
	}
	return all
}

// TestFailedTestsAreRepeatedOneByOne: each top-level test with failures is repeated in a run of its own.
func TestFailedTestsAreRepeatedOneByOne(t *testing.T) {
	var asked []group
	flags := []string{"-race"}
	play := func(g group, events func(io.Reader) error) error {
		asked = append(asked, g)
		stream := testEvents("TestA/x fail: too late", "TestB pass", "TestA/y fail: later", "TestAB fail: last")
		switch len(asked) {
		case 2:
			stream = testEvents("TestA/x pass", "TestA/y pass")
		case 3:
			stream = testEvents("TestAB fail: again")
		}
		return events(strings.NewReader(stream))
	}
	var out strings.Builder
	got, err := runAll(play, []group{{flags, []string{"./..."}}}, &out)
	want := []group{{flags, []string{"./..."}}, {[]string{"-race", "-count=1", "-run=^TestA$"}, []string{"a/b"}},
		{[]string{"-race", "-count=1", "-run=^TestAB$"}, []string{"a/b"}}}
	if err != nil || !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %+v, %v, want %+v", asked, err, want)
	}
	if got.unsteady != 2 || got.failed != 1 ||
		!strings.Contains(out.String(), "unsteady a/b TestA/x TestA/y: ") ||
		!strings.Contains(out.String(), "\n| later\n") || !strings.Contains(out.String(), "last\nFAIL a/b") ||
		strings.Contains(out.String(), "| last") {
		t.Errorf("%v, output %q", got, out.String())
	}
}

// TestRunsAddUp: the groups run in parallel, a failed test is repeated after all have ended, and the counts
// are added.
func TestRunsAddUp(t *testing.T) {
	var out strings.Builder
	var both sync.WaitGroup
	both.Add(2)
	play := func(g group, events func(io.Reader) error) error {
		switch {
		case slices.Contains(g.flags, "-count=1"):
			return events(strings.NewReader(testEvents("TestC fail")))
		case slices.Contains(g.flags, "-race"):
			both.Done()
			both.Wait()
			return events(strings.NewReader(testEvents("TestA pass", "TestB skip: not here", "TestC pass")))
		}
		both.Done()
		both.Wait()
		return events(strings.NewReader(testEvents("TestA pass", "TestB skip: not here", "TestC fail")))
	}
	got, err := runAll(play, groups([]string{"-timeout=1m", "./...", "--", "-race", "./x", "./y"}), &out)
	if err != nil || got.String() != "3 passed, 1 failed, 2 skipped" ||
		!strings.Contains(out.String(), "ok   a/b -race ") {
		t.Errorf("tally = %v, %v, output %q", got, err, out.String())
	}
}

func TestGroupsAreRead(t *testing.T) {
	got := groups([]string{"-timeout=1m", "./...", "--", "-race", "-timeout=2m", "./x", "./y"})
	want := []group{{[]string{"-timeout=1m"}, []string{"./..."}},
		{[]string{"-race", "-timeout=2m"}, []string{"./x", "./y"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("groups = %+v, want %+v", got, want)
	}
}

// TestRealToolchain runs tests with the real toolchain.
func TestRealToolchain(t *testing.T) {
	for name, c := range map[string]struct {
		g    group
		want string
	}{
		"passes": {group{[]string{"-run=^TestGroupsAreRead$", "-count=1"}, []string{"."}},
			"1 passed, 0 failed"},
		"no such package": {group{nil, []string{"./nowhere"}}, "0 passed, 1 failed"},
		"no such flag":    {group{[]string{"-nonsense"}, []string{"."}}, "0 passed, 1 failed"},
		"no test at all":  {group{[]string{"-run=^$"}, []string{"."}}, "0 passed, 0 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			got, err := runAll(goTest, []group{c.g}, &out)
			if err != nil || got.String() != c.want {
				t.Errorf("tally = %v, %v, want %q; output %q", got, err, c.want, out.String())
			}
		})
	}
}

func TestTestsThatCannotRunAreAnError(t *testing.T) {
	for _, failure := range []error{errors.New("no toolchain"),
		&exec.ExitError{ProcessState: &os.ProcessState{}}} {
		play := func(group, func(io.Reader) error) error { return failure }
		if got, err := runAll(play, []group{{nil, []string{"./x"}}}, io.Discard); !errors.Is(err, failure) ||
			!strings.Contains(err.Error(), "./x: ") {
			t.Errorf("tally = %v, error %v", got, err)
		}
	}
}

func TestAPackageThatEndsEarlyIsNotRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   int // failures
	}{
		"does not compile": {`{"Action":"fail","Package":"a/b"}`, 1},
		"does not finish": {
			strings.TrimSuffix(testEvents("TestA fail"), `{"Action":"fail","Package":"a/b"}`+"\n"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			played := 0
			got, err := runAll(func(_ group, events func(io.Reader) error) error {
				played++
				return events(strings.NewReader(c.stream))
			}, []group{{}}, io.Discard)
			if err != nil || got.failed != c.want || played != 1 {
				t.Errorf("tally = %v, %v after %d runs, want %d failures after one", got, err, played, c.want)
			}
		})
	}
}
