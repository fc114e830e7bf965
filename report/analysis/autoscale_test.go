package analysis

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestWhatAPlatformHasAddedIsTold(t *testing.T) {
	trials := []lab.Trial{
		{Arrivals: []lab.Arrival{{Unit: "milk-2", Asked: 14, Ready: 16},
			{Unit: "milk-3", Asked: 30, Ready: 33.04}}},
		{Arrivals: []lab.Arrival{{Unit: "milk-2", Asked: 16, Ready: 17}, {Unit: "bread-2", Asked: 1, Ready: 2}}},
	}
	want := "milk-2 15 s after the load had begun, ready at 16.5 s (medians; 2 of 2 trials), milk-3 30 s " +
		"after the load had begun, ready at 33.0 s (medians; 1 of 2 trials)"
	if got := added("milk", trials); got != want {
		t.Errorf("added %q, want %q", got, want)
	}
	if got := added("till", trials); got != "no replica" {
		t.Errorf("of what was not scaled it says %q", got)
	}
}
