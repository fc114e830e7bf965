package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// profiled returns the shop under load with layers. The database of the second variant was not
// profiled, nor was the third variant.
func profiled(t *testing.T) lab.Analysis {
	a := fixture(t, "shop-under-load.json")
	at := a.Points[slices.IndexFunc(a.Points, func(p lab.Point) bool { return p.Name == "at-80" })]
	a.Environment = lab.Environment{"hardware_counters": {Unavailable: "perf_event_open: no such device"}}
	a.Layers = []lab.LayerShare{
		{Variant: "monolith", Point: at, Runtimes: []string{"java"}, Trials: 3, Samples: 900, CPUPerOperation: 2e-3,
			ProfiledCPUPerOperation: 2.2e-3, Libraries: 1e-3,
			Layers: []lab.LayerTime{{Layer: lab.LayerApplication, Share: 0.25, PerOperation: 5e-4},
				{Layer: lab.LayerHTTP, Share: 0.5, PerOperation: 1e-3},
				{Layer: lab.LayerKernel, Share: 0.25, PerOperation: 5e-4}}},
		{Variant: "sync", Point: at, Runtimes: []string{"java"}, Trials: 3, Samples: 800, CPUPerOperation: 4e-3,
			ProfiledCPUPerOperation: 4e-3, Libraries: 3e-3,
			Layers: []lab.LayerTime{{Layer: lab.LayerHTTP, Share: 0.75, PerOperation: 3e-3},
				{Layer: lab.LayerUnseen, Share: 0.25, PerOperation: 1e-3}}},
		{Variant: "async", Point: at, Trials: 3, CPUPerOperation: 5e-3,
			Layers: []lab.LayerTime{{Layer: lab.LayerUnseen, Share: 1, PerOperation: 5e-3}}},
	}
	return a
}

func TestLayersAreShown(t *testing.T) {
	var b strings.Builder
	testset.Must(t, Terminal(&b, profiled(t), Options{}))
	for _, want := range []string{
		"CPU time of one order by layer at", "500 us (25 %)", "3.00 ms (75 %)", "not profiled",
		"in libraries, to monolith", "3.00x", "+10 %", "java, 900 samples",
		"in its place: perf_event_open",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the terminal report lacks %q", want)
		}
	}
	if strings.Contains(b.String(), "cycles per instruction") {
		t.Error("cycles are shown where nothing was counted")
	}
	counting := profiled(t)
	counting.Layers[0].Instructions = 4e6
	counting.Layers[0].Cycles = 6e6
	b.Reset()
	testset.Must(t, Terminal(&b, counting, Options{}))
	for _, want := range []string{"million instructions ", "4.00", "cycles per instruction", "1.50",
		"in the kernel too, are those that"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the terminal report lacks %q where instructions were counted:\n%s", want, b.String())
		}
	}
	page := html(t, profiled(t))
	for _, want := range []string{`data-plot="layers"`,
		"Libraries and runtime take ",
		"1.00 ms (50 %) with monolith, 3.00 ms (75 %) with sync"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	b.Reset()
	if err := Terminal(&b, fixture(t, "shop-under-load.json"), Options{Full: true}); err != nil ||
		strings.Contains(b.String(), "by layer") {
		t.Errorf("layers are shown where nothing was profiled (%v)", err)
	}
}
