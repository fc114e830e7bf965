package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestWhatThePlatformItselfCostsIsShown(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	if s := newView(a).platformSection(); len(filled(s.Shown...)) > 0 {
		t.Errorf("where nothing is known of platforms there is %v", s.Shown)
	}
	v := newView(a)
	var at lab.Point
	for _, p := range a.Points {
		if p.Name == v.reference() {
			at = p
		}
	}
	a.Platforms = []lab.PlatformTake{
		{Variant: "sync", Point: at, Deployment: lab.Kubernetes, Trials: 4, MadeSeconds: 4.1, ImagesSeconds: 0.9,
			ReadySeconds: 5, NothingSeconds: 10,
			Images: []lab.ProgramImage{{Program: "shop", Bytes: 25e6}}, CPUShare: 0.31, BackSeconds: 1.25,
			NoticedSeconds: 47.5, MeanMemory: 900e6, PeakMemory: 1.1e9,
			Starts: []lab.UnitStart{{Unit: "orders", Seconds: 2.5}},
			Processes: []lab.PlatformProgram{{Name: "kubernetes apiserver", Processes: 1, CPUShare: 0.12,
				PeakMemory: 3e8}}},
		{Variant: "monolith", Point: at, Deployment: lab.Process, Trials: 4, ReadySeconds: 0.2, NothingSeconds: 0.2,
			Unmetered: "a reason"},
	}
	v = newView(a)
	rows := v.platformCostTable().Rows
	if len(rows) != 2 {
		t.Fatalf("there are %d rows, want 2: %v", len(rows), rows)
	}
	for i, wants := range [][]string{{"kubernetes", "10.0 s", "4.10 s", "31 %", "1.02 GiB", "1.25 s", "47.5 s"},
		{"process", "200 ms", absent}} {
		for _, want := range wants {
			if shown := fmt.Sprint(rows[i]); !strings.Contains(shown, want) {
				t.Errorf("row %d has no %q: %s", i, want, shown)
			}
		}
	}
	s := v.platformSection()
	if shown := fmt.Sprint(s.Folded); !strings.Contains(shown, "not metered: a reason") ||
		!strings.Contains(shown, "kubernetes apiserver") || !strings.Contains(shown, "orders") {
		t.Errorf("folded are %s", shown)
	}
	for i, source := range []string{"one", "two"} {
		a.Platforms[i].Source = source
	}
	if note := newView(a).programsTable().Note; !strings.HasSuffix(note, "source: one; two") {
		t.Errorf("the note has not the sources of both platforms: %s", note)
	}
	var printed bytes.Buffer
	if err := Terminal(&printed, a, Options{}); err != nil ||
		!strings.Contains(printed.String(), "What the platform itself costs") {
		t.Errorf("it is not printed (%v)", err)
	}
}
