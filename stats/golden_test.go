package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// golden is the shape of testdata/golden.json: samples of a published table, with estimates that numpy and
// scipy computed (see the README there).
type golden struct {
	Cases []struct {
		Set           string     `json:"set"`
		A             []float64  `json:"a_values"`
		B             []float64  `json:"b_values"`
		MeanA         float64    `json:"mean_a"`
		SDB           float64    `json:"sd_b"`
		RatioOfMeans  float64    `json:"ratio_of_means"`
		KaliberaJones [2]float64 `json:"kalibera_jones_ci95"`
		LogWelch      float64    `json:"log_welch_geomean_ratio"`
		LogWelchCI    [2]float64 `json:"log_welch_ci95"`
		Paired        [2]float64 `json:"paired_log_t_ci95_by_run_index"`
	} `json:"cases"`
}

func readGolden(t *testing.T) golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	testset.Must(t, err)
	var g golden
	testset.Must(t, json.Unmarshal(data, &g))
	return g
}

// near fails unless both numbers agree to 1e-9 of their size.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	within(t, what, got, want, 1e-9*math.Abs(want))
}

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func nearInterval(t *testing.T, what string, got Estimate, want [2]float64) {
	t.Helper()
	near(t, what+" low", got.Low, want[0])
	near(t, what+" high", got.High, want[1])
}

func TestGoldenRatios(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		t.Run(c.Set, func(t *testing.T) {
			near(t, "mean a", Mean(c.A), c.MeanA)
			near(t, "sd b", math.Sqrt(Variance(c.B)), c.SDB)
			kj, err := KaliberaJones(c.A, c.B, 0.95)
			testset.Must(t, err)
			near(t, "ratio of means", kj.Value, c.RatioOfMeans)
			nearInterval(t, "Kalibera-Jones", kj, c.KaliberaJones)
			welch, err := LogWelch(c.A, c.B, 0.95)
			testset.Must(t, err)
			near(t, "log-Welch", welch.Value, c.LogWelch)
			nearInterval(t, "log-Welch", welch.Estimate, c.LogWelchCI)
			paired, err := PairedRatio(c.A, c.B, 0.95)
			testset.Must(t, err)
			near(t, "paired", paired.Value, c.LogWelch) // equal n: same geometric means
			nearInterval(t, "paired", paired.Estimate, c.Paired)
		})
	}
}
