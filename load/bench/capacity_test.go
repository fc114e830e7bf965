//go:build linux

package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestCleaveIsFoundByItsName, wherever it is in the list of tools: only it is watched for the whole time, and
// searches for capacities.
func TestCleaveIsFoundByItsName(t *testing.T) {
	p := plan{memory: 10 * time.Minute, others: 20 * time.Second, scratch: "scratch",
		tools: []tool{{name: "floor", path: "bench"}, {name: "cleave", path: "scratch/cleave"}, {name: "wrk"}}}
	for i, want := range []time.Duration{p.others, p.memory, p.others} {
		if got := p.lengthOf(sceneMemory, p.tools[i]); got != want {
			t.Errorf("%s is watched for %v, want %v", p.tools[i].name, got, want)
		}
	}
	if got := p.searchCommand("1")[0]; got != "scratch/cleave" {
		t.Errorf("%s searches for capacities, want scratch/cleave", got)
	}
	if _, err := p.read([]string{"load", "http://127.0.0.1/"}); err == nil {
		t.Error("arguments that are no flags are accepted")
	}
	if _, err := p.read([]string{"-tools", "cleave,wrkk"}); err == nil ||
		!strings.Contains(err.Error(), `"wrkk" is unknown`) {
		t.Errorf("error %v, want that wrkk is unknown", err)
	}
	for _, own := range []tool{{name: "floor"}, {name: "cleave"}, {name: "cleave-grid"}, {name: "cleave-spin"}} {
		if _, err := p.read([]string{"-tools", own.name}); err != nil {
			t.Error(err)
		}
	}
}

func TestMemoryThatGrowsIsSeen(t *testing.T) {
	var flat, growing []float64
	for i := range 100 {
		flat = append(flat, 10e6)
		growing = append(growing, 10e6+1e5*float64(i))
	}
	s := samples{}
	for name, values := range map[string][]float64{"flat": flat, "growing": growing} {
		if err := s.addMemory(name, append(values, 25e6)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s["memory growth"]["flat"][0]; got != 0 {
		t.Errorf("flat memory grows by %g MB", got)
	}
	// from the 25th to the 95th of a hundred
	if got := s["memory growth"]["growing"][0]; math.Abs(got-7) > 1e-9 {
		t.Errorf("memory grows by %g MB, want 7", got)
	}
	if got := s["memory peak"]["growing"][0]; got != 25 {
		t.Errorf("the peak is %g MB, want 25", got)
	}
	if s.addMemory("short", flat[:10]) == nil {
		t.Error("ten values of the memory are enough")
	}
}
