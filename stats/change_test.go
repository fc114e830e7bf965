package stats

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestChangesAreThoseOfOtava: series whose changes Apache Otava has found (testdata/changes.py).
func TestChangesAreThoseOfOtava(t *testing.T) {
	data, err := os.ReadFile("testdata/changes.json")
	testset.Must(t, err)
	var cases []struct {
		Name   string    `json:"name"`
		Values []float64 `json:"values"`
		Least  float64   `json:"least"`
		Found  []int     `json:"found"`
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		changes, err := Changes(c.Values, c.Least)
		found := []int{}
		for _, change := range changes {
			found = append(found, change.Index)
		}
		if err != nil || !slices.Equal(found, c.Found) {
			t.Errorf("%s: changes at %v, %v; Otava finds %v", c.Name, found, err, c.Found)
		}
	}
}

// TestAChangeOfLevelIsFound where it is, with its size.
func TestAChangeOfLevelIsFound(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var series []float64
	for i := range 90 {
		level := 1.0
		if i >= 60 {
			level = 1.25
		}
		series = append(series, level*math.Exp(0.03*random.NormFloat64()))
	}
	changes, err := Changes(series, 1.05)
	if err != nil || len(changes) != 1 || changes[0].Index != 60 || math.Abs(changes[0].Ratio-1.25) > 0.03 ||
		changes[0].P > 1e-9 {
		t.Errorf("changes are %+v, %v; want one of 1.25 at 60", changes, err)
	}
	if changes, err := Changes(series, 1.3); err != nil || len(changes) != 0 {
		t.Errorf("changes above 1.3 are %+v, %v", changes, err)
	}
}

// TestNoiseHasFewChanges: less than one in a thousand values, in series of any length.
func TestNoiseHasFewChanges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{ShortestSeries, 30, 120} {
		const rounds = 1000
		wrong := 0
		for range rounds {
			series := make([]float64, n)
			for i := range series {
				series[i] = math.Exp(0.05 * random.NormFloat64())
			}
			changes, err := Changes(series, 1)
			testset.Must(t, err)
			if len(changes) > 0 {
				wrong++
			}
		}
		if t.Logf("%d values: %d of %d series of noise have changes", n, wrong, rounds); wrong > rounds*n/1000 {
			t.Errorf("of %d values, %d of %d series of noise have changes", n, wrong, rounds)
		}
	}
}

func TestChangesOfSeriesWithoutNoise(t *testing.T) {
	if changes, err := Changes(slices.Repeat([]float64{2}, 40), 1.05); err != nil || len(changes) != 0 {
		t.Errorf("a constant has changes %+v, %v", changes, err)
	}
	step := append(slices.Repeat([]float64{2}, 20), slices.Repeat([]float64{3}, 20)...)
	if changes, err := Changes(step, 1.05); err != nil || len(changes) != 1 || changes[0].P != 0 {
		t.Errorf("a step without noise has changes %+v, %v", changes, err)
	}
}

func TestChangesRefusesZerosAndShortSeries(t *testing.T) {
	var few *TooFewError
	_, err := Changes(make([]float64, ShortestSeries), 1.05)
	if err == nil || !strings.Contains(err.Error(), "value 0 is 0, it must be positive") {
		t.Errorf("of zeros: %v", err)
	}
	if _, err := Changes([]float64{1, 2, 3}, 1.05); !errors.As(err, &few) {
		t.Errorf("of three values: %v", err)
	}
}
