package architecture

import (
	"testing"

	"github.com/cleave-lab/cleave/systems/kit"
)

// TestOrdersAreTracedUnlessTurnedOff: as always, one in 32.
func TestOrdersAreTracedUnlessTurnedOff(t *testing.T) {
	for text, want := range map[string]float64{"": 1.0 / 32, kit.SpansOff: 0, "0.5": 0.5} {
		turned := map[string]string{}
		if text != "" {
			turned[kit.KnobSpans] = text
		}
		if d, err := New(Async, turned); err != nil || d.Spans != want {
			t.Errorf("spans %q: %g (%v), want %g", text, d.Spans, err, want)
		}
	}
	if _, err := New(Monolith, map[string]string{kit.KnobSpans: "2"}); err == nil {
		t.Error("twice as many orders as there are can be traced")
	}
}
