package report

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/figure"
)

// TestNumbersReadTheSameEverywhere checks report/figure with the examples with which
// web/src/number.test.ts checks number.ts.
func TestNumbersReadTheSameEverywhere(t *testing.T) {
	data, err := os.ReadFile("testdata/numbers.json")
	testset.Must(t, err)
	var examples []struct {
		Why       string
		Value     float64
		Low, High *float64
		Unit      string
		Text      string
	}
	testset.Must(t, json.Unmarshal(data, &examples))
	for _, x := range examples {
		e := lab.Estimate{Value: x.Value, Low: x.Low, High: x.High}
		got := figure.Quantity(e, x.Unit)
		if x.Unit == "x" {
			got = figure.Times(e)
		}
		if got != x.Text {
			t.Errorf("%s: %v %s reads %q, want %q", x.Why, x.Value, x.Unit, got, x.Text)
		}
	}
	if len(examples) < 10 {
		t.Errorf("only %d examples", len(examples))
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for name, got := range map[string]string{
			"quantity": figure.Amount(value, "s"), "times": figure.Multiple(value),
			"number":    figure.Rounded(value),
			"plusMinus": plusMinus(value, 1, "s"), "sixDigits": sixDigits(&value),
		} {
			if got != absent {
				t.Errorf("%s of %v reads %q, want %q", name, value, got, absent)
			}
		}
	}
}

func TestPlusMinusIsRoundedByItsError(t *testing.T) {
	for _, x := range []struct {
		value, se float64
		unit      string
		want      string
	}{
		{1.17234, 0.0193, "1", "1.17 ± 0.02"},
		{-16.4075, 5.733, "s", "-16.4 ± 5.7 s"},
		{0.0071565, 0.000111, "s", "7.16 ± 0.11 ms"},
		{0.748, 0, "1", "0.748"},
		{7.1565, math.NaN(), "s", "7.16 s"},
		{7.1565, 0.00042, "s", "7.16 ± 0.0004 s"},
		{0, 0.003, "s", "0.0 ± 3.0 ms"},
		{1e-12, 0.003, "s", "0.0 ± 3.0 ms"},
	} {
		if got := plusMinus(x.value, x.se, x.unit); got != x.want {
			t.Errorf("plusMinus(%v, %v) = %q, want %q", x.value, x.se, got, x.want)
		}
	}
}

func TestSettingsAreNotRounded(t *testing.T) {
	for share, want := range map[float64]string{0.05: "5 %", 0.95: "95 %", 0.999: "99.9 %"} {
		if got := figure.Setting(share); got != want {
			t.Errorf("figure.Setting(%v) = %q, want %q", share, got, want)
		}
	}
}
