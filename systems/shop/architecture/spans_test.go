package architecture

import (
	"strings"
	"testing"
)

func TestShareOfTracedOrders(t *testing.T) {
	for text, want := range map[string]float64{"": tracedShare, "on": tracedShare, "off": 0, "0": 0, "0.5": 0.5,
		"1": 1} {
		turned := map[string]string{}
		if text != "" {
			turned[KnobSpans] = text
		}
		if d, err := New(Async, turned); err != nil || d.Spans != want {
			t.Errorf("spans %q: %g (%v), want %g", text, d.Spans, err, want)
		}
	}
	for _, text := range []string{"2", "-0.1", "NaN", "some"} {
		if _, err := New(Monolith, map[string]string{KnobSpans: text}); err == nil ||
			!strings.Contains(err.Error(), "a share from 0 to 1") {
			t.Errorf("spans %q: %v", text, err)
		}
	}
}
