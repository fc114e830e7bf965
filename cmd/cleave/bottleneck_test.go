package main

import (
	"fmt"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestNoArchitectureToScaleSaysWhy: if the system refuses its architectures, the error has the reasons.
func TestNoArchitectureToScaleSaysWhy(t *testing.T) {
	info := lab.SystemInfo{Name: "stand", Architectures: []lab.Architecture{{Name: "one"}, {Name: "two"}},
		Check: func(v lab.Variant) error { return fmt.Errorf("%s needs a broker", v.Architecture) }}
	_, _, err := (&bottleneckFlags{}).base(lab.Study{}, info)
	if err == nil {
		t.Fatal("an architecture was chosen")
	}
	expectTexts(t, "the error", err.Error(), "no architecture of stand has several units that can be scaled",
		"one needs a broker", "two needs a broker")
}
