package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/store"
)

// TestOldResultFoldersGiveTheSameViews reads a small result folder that was written
// before metrics had fields for what they are.
func TestOldResultFoldersGiveTheSameViews(t *testing.T) {
	text, err := os.ReadFile("testdata/old-plan/plan.json")
	if err != nil || bytes.Contains(text, []byte(`"quantity"`)) {
		t.Fatalf("the plan is not an old one (%v)", err)
	}
	folder, err := store.Open("testdata/old-plan")
	if err != nil {
		t.Fatal(err)
	}
	concluded, err := analyse(folder)
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	if err := report.Terminal(&shown, concluded, report.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"To complete one order at 20 orders/s",                         // a quantile of a quantity
		"1.86 ms CPU, 14.0 statements with monolith",                   // phrases, per operation
		"8.05 messages with async",                                     //
		"Not all was begun in time: async took 99 %",                   // a share
		"Accepted, and not done when the load ended",                   //
		"the highest rate of completed orders is: monolith 60.5/s",     // a rate that is no answer to one
		"Over the offered rate: orders per second that became",         // one that is
		"Over the offered rate: median lag of read models",             //
		"What one order costs at calm (20/s)",                          // what the system has counted
		"messages delivered per completed order           -      10.1", //
		"peak memory of shop and backing servi...  35.1 MiB",           // memory
	} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("no %q in the report of an old folder", want)
		}
	}
	if t.Failed() {
		t.Log(shown.String())
	}
}
