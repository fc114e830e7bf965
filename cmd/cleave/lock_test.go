package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOnlyOneCleavePlaysIntoAFolder: a resume is refused while a run or a resume writes into
// the folder, and possible after that was killed. A report is possible at any time.
func TestOnlyOneCleavePlaysIntoAFolder(t *testing.T) {
	const forever = 2_000_000 // pings: no trial ends within the test
	first := begin(t, forever)
	file := filepath.Join(first.dir, "long.yaml")
	folder := filepath.Join(first.results, "long", "latest")
	expectAlone := func(player *experiment) { // kills it at the end
		t.Helper()
		player.awaitWorkers(player.label())
		second := &experiment{t: t, dir: first.dir, results: first.results}
		second.start("run", file, "--resume", folder)
		// If it plays, too, it is killed, and the test fails.
		giveUp := time.AfterFunc(patience, func() { _ = second.Process.Kill() })
		defer giveUp.Stop()
		code := second.code()
		errOut := second.errOut.String()
		if code != exitFailed || !strings.Contains(errOut,
			"process "+strconv.Itoa(player.Process.Pid)+" is playing into") {
			t.Errorf("a second cleave ended with %d, want %d, and said:\n%s", code, exitFailed, errOut)
		}
		report := &experiment{t: t}
		report.start("report", folder)
		if code := report.code(); code != exitFine {
			t.Errorf("the report of a running experiment ended with %d:\n%s", code, report.errOut.String())
		}
		if err := player.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		player.code()
	}
	expectAlone(first)
	resumed := &experiment{t: t, dir: first.dir, results: first.results}
	resumed.start("run", file, "--resume", folder)
	expectAlone(resumed)
}
