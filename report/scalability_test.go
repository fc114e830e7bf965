package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

func TestScalabilityLawsAreShown(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	if s := newView(a).scalabilitySection(); len(filled(s.Shown...)) > 0 || len(s.Plots) > 0 {
		t.Errorf("where nothing was fitted there is %v", s.Shown)
	}
	estimate := func(value, low, high float64) *lab.Estimate {
		e := figure.Between(value, low, high)
		return &e
	}
	open := estimate(40, 35, 0)
	open.High = nil
	a.ScalingFits = []lab.ScalingFit{
		{Metric: "goodput", Unit: "1/s", Variant: "async", Factor: "cart.replicas", X: make([]float64, 4),
			Blocks: 6, Variants: []string{"async", "two", "three", "four"}, Points: []string{"p", "p", "p", "p"},
			Refused: "a reason", Words: "None."},
		{Metric: "goodput", Unit: "1/s", Variant: "monolith", Factor: "users", X: make([]float64, 6), Blocks: 6,
			Lambda: estimate(95, 90, 100), Sigma: estimate(0.05, 0.04, 0.06), Kappa: estimate(0.002, 0.001, 0.003),
			Peak: estimate(21.8, 20.1, 23.6), Curve: []lab.ScalingPoint{{Level: 64}}, Words: "It scales."},
		{Metric: "goodput", Unit: "1/s", Variant: "sync", Factor: "users", X: make([]float64, 6), Blocks: 6,
			Lambda: estimate(95, 90, 100), Sigma: estimate(0.05, 0.04, 0.06), Kappa: estimate(0, 0, 0.0001),
			Peak: open, Curve: []lab.ScalingPoint{{Level: 64}}, Words: "It scales, too."},
		{Metric: "goodput", Unit: "1/s", Variant: "sync", Factor: "cores", X: make([]float64, 6), Blocks: 6,
			Lambda: estimate(95, 90, 100), Sigma: estimate(0.05, 0.04, 0.06), Kappa: estimate(0, 0, 0.0001),
			Curve: []lab.ScalingPoint{{Level: 16}}, Words: "It scales still."},
	}
	v := newView(a)
	rows := v.scalingTable().Rows
	for i, wants := range [][]string{{"async to four at p", "4 variants", "a reason", absent},
		{"monolith", "5.0 % [4.0, 6.0]",
			"0.20 % [0.10, 0.30]", "21.8 [20.1, 23.6]"}, {"40.0 or more"}, {"cores", "none up to 16"}} {
		for _, want := range wants {
			if shown := fmt.Sprint(rows[i]); !strings.Contains(shown, want) {
				t.Errorf("row %d has no %q: %s", i, want, shown)
			}
		}
	}
	s := v.scalabilitySection()
	if len(s.Plots) != 3 || s.Plots[0].Index != 1 || s.Plots[0].Kind != "scaling" ||
		fmt.Sprint(s.Notes) != "[It scales. It scales, too. It scales still.]" {
		t.Errorf("plots %+v, notes %q", s.Plots, s.Notes)
	}
	var printed bytes.Buffer
	if err := Terminal(&printed, a, Options{Full: true}); err != nil ||
		!strings.Contains(printed.String(), "Scalability law") {
		t.Errorf("it is not printed (%v)", err)
	}
}
