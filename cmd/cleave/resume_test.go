package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// shopStudy has trials of about two seconds, some with a broker.
const shopStudy = `
schema: cleave-study/1
name: long
title: A shop whose study is killed
system: shop
baseline: one
variants:
  one: {architecture: monolith}
  events: {architecture: async}
points:
  p: {orders: 100, over: 1}
load: {duration: 10s}
steps: {variants: [one, events], metrics: [cpu_per_operation]}
design: {blocks: 2, max_repeats: 0, gates: {steal: 99%, calibration: 99%}}
`

// TestAStudyOfTheShopGoesOnAfterAKill kills cleave in the middle of a load. Its units then
// end by themselves, and their files are removed. The resumed study leaves finished trials
// as they are, plays each of the others once, and reports on all of them.
func TestAStudyOfTheShopGoesOnAfterAKill(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	e := &experiment{t: t, dir: t.TempDir()}
	e.results = filepath.Join(e.dir, "results")
	file := filepath.Join(e.dir, "shop.yaml")
	folder := filepath.Join(e.results, "long", "latest")
	writeFiles(t, e.dir, map[string]string{"shop.yaml": shopStudy})
	e.start("run", file, "--results", e.results)
	label := e.label()
	await(t, "two trials are done", func() bool { return len(e.trials()) == 2 })
	await(t, "orders come in again", func() bool { return len(labelled(label, "generator")) > 0 })
	if err := e.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	e.code()
	e.awaitNothingLeft(label)
	before := contents(t, filepath.Join(folder, "trials"))

	e.errOut.Reset()
	e.start("run", file, "--resume", folder)
	resumed := e.label()
	if code := e.code(); code != exitFine {
		t.Fatalf("resume ended with %d:\n%s", code, e.errOut.String())
	}
	e.awaitNothingLeft(resumed)
	after := contents(t, filepath.Join(folder, "trials"))
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if !bytes.Equal(before[path], after[path]) {
			t.Errorf("%s was there and is another after resume", path)
		}
	}
	var attempts []int
	for _, trial := range e.trials() {
		attempts = append(attempts, 10*trial.Number+trial.Attempt)
	}
	if slices.Sort(attempts); !slices.Equal(attempts, []int{11, 21, 31, 41}) {
		t.Errorf("trials and attempts %v, want each of four trials once", attempts)
	}
	expectWhole(t, folder)
	events := regexp.MustCompile(`"event":"(\w+)"`).FindAllStringSubmatch(
		string(contents(t, folder)["progress.jsonl"]), -1)
	var names []string
	for _, event := range events {
		names = append(names, event[1])
	}
	if got := strings.Join(names, " "); got != "begin start trial start trial start "+
		"begin start trial start trial end" {
		t.Errorf("the progress has the events %s", got)
	}
}

// TestCommandsToTypeQuoteFolders: the suggested commands can be typed if the name of the folder has a space.
func TestCommandsToTypeQuoteFolders(t *testing.T) {
	folder := createRun(t, filepath.Join(t.TempDir(), "my runs"), "compare", "a=http://127.0.0.1:1",
		"b=http://127.0.0.1:2", "--rate", "10", "--blocks", "3")
	var out bytes.Buffer
	a := app{out: &out, errOut: &out}
	_, err := a.conclude(folder, documentFlags{})
	err = errors.Join(err, a.adviseResume(&cobra.Command{Use: "compare"}, folder))
	if err != nil {
		t.Fatal(err)
	}
	quoted := "'" + folder.Dir() + "'"
	expectTexts(t, "what it prints", out.String(), "again   cleave report "+quoted+" --full\n",
		"go on with: cleave compare --resume "+quoted+"\n")
}

// expectWhole checks that the report of a study covers all of its trials.
func expectWhole(t *testing.T, folder string) {
	t.Helper()
	var analysis lab.Analysis
	if err := json.Unmarshal(contents(t, folder)["analysis.json"], &analysis); err != nil {
		t.Fatal(err)
	}
	if analysis.Trials.Planned != 4 || analysis.Trials.Valid != 4 || len(analysis.Trials.Invalid) != 0 {
		t.Errorf("the report is over %+v, want four trials that all count", analysis.Trials)
	}
	if len(analysis.Waterfalls) != 1 || analysis.Waterfalls[0].Whole.N != 2 {
		t.Errorf("waterfalls %+v, want one over both blocks", analysis.Waterfalls)
	}
	if info, err := os.Stat(filepath.Join(folder, "report.html")); err != nil || info.Size() == 0 {
		t.Errorf("there is no report: %v", err)
	}
}
