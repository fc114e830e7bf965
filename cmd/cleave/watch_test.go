package main

import (
	"bufio"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// shownStudy has one trial, with a load of three seconds.
const shownStudy = `schema: cleave-study/1
name: shown
title: Shown while it is played
system: shop
baseline: calls
variants:
  calls: {architecture: monolith}
points: {orders: {orders: 40, over: 3}}
load: {duration: 10s}
design: {blocks: 1, gates: {steal: 99%, calibration: 99%}}
`

// TestARunShowsItselfUntilItsEnd: the page whose address --serve prints shows the run as it proceeds, and is
// gone after it.
func TestARunShowsItselfUntilItsEnd(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"shown.yaml": shownStudy})
	command := program(dir, "run", "shown.yaml", "--serve=127.0.0.1:0")
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	errOut := bufio.NewReader(stderr)
	first, err := errOut.ReadString('\n')
	page := regexp.MustCompile(`watch it at (http://127\.0\.0\.1:\d+)/run/(shown/\S+)`).FindStringSubmatch(first)
	if err != nil || page == nil {
		t.Fatalf("standard error begins with %q, %v", first, err)
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Get(page[1] + "/live/" + page[2])
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events, err := io.ReadAll(answer.Body)
	for _, order := range [][]string{
		{"data: playing", `"loaded":{"end":1,`, `"cores":{"generator":`, "event: bye"},
		{"data: playing", `"event":"end"`, "data: reported"},
	} {
		left := string(events)
		for _, want := range order {
			_, after, has := strings.Cut(left, want)
			if !has {
				t.Fatalf("%q is not where it is due (%v), but %s", want, err, left)
			}
			left = after
		}
	}
	if _, err := io.Copy(io.Discard, errOut); err != nil {
		t.Error(err)
	}
	if err := command.Wait(); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "results", "*", "*", "seconds.jsonl"))
	if err != nil || len(left) > 0 {
		t.Errorf("the run leaves %v, %v", left, err)
	}
	if answer, err := client.Get(page[1]); err == nil {
		t.Errorf("the page is there after the run: %s, %v", answer.Status, answer.Body.Close())
	}
}
