package predict

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/stats"
)

// Past lists predictions of splits and merges that were measured afterwards. The zero value has none.
type Past []PastPrediction

// PastPrediction compares the predicted figures of one placement at one rate with what was measured.
type PastPrediction struct {
	System string  `json:"system"`
	Change string  `json:"change"`
	Rate   float64 `json:"rate"` // operations per second
	// Beyond holds, by the name of a figure, the distance of the measured value beyond the nearer end of the
	// interval, on the log scale; negative within the interval.
	Beyond map[string]float64 `json:"beyond"`
}

// Names of figures in PastPrediction.
const (
	FigureMedian   = "median"
	FigureP99      = "p99"
	FigureCPU      = "CPU per operation"
	FigureCapacity = "capacity"
)

//go:embed past.json
var pastText []byte

// KnownPast returns what `make bench-predict` has measured of the systems of Cleave (docs/predicting.md).
func KnownPast() (all Past, err error) {
	if err := json.Unmarshal(pastText, &all); err != nil {
		return nil, fmt.Errorf("past.json: %w", err)
	}
	return all, nil
}

// Without returns the past predictions of other systems than these.
func (p Past) Without(systems ...string) Past {
	return slices.DeleteFunc(slices.Clone(p),
		func(m PastPrediction) bool { return slices.Contains(systems, m.System) })
}

// Beyond returns the distance of a value beyond the nearer end of an interval, on the log scale; negative
// within the interval.
func Beyond(e stats.Estimate, value float64) float64 {
	at := math.Log(value)
	return max(math.Log(e.Low)-at, at-math.Log(e.High))
}

// wider returns the factor by which both ends of a figure's intervals have to move away from its value so
// that 90 % of the n past ones would have held the truth. It is 1 if that many did, or if there are none.
//
// This is split conformal prediction with the intervals of the bootstrap as quantiles (Romano, Patterson and
// Candès 2019, "Conformalized quantile regression", section 3). 90 % of the widened intervals hold the truth
// if the next placements miss their intervals as often and as far as those of the past did.
func (p Past) wider(figure string) (factor float64, n int) {
	var beyond []float64
	for _, m := range p {
		if by, known := m.Beyond[figure]; known {
			beyond = append(beyond, by)
		}
	}
	if len(beyond) == 0 {
		return 1, 0
	}
	slices.Sort(beyond)
	n = len(beyond)
	rank := math.Ceil(confidence*float64(n+1) - 1e-9) // 0.9 is not quite nine tenths
	covering := beyond[min(int(rank), n)-1]
	return math.Exp(max(0, covering)), n
}

// Widened returns an interval of a figure, widened by the factor of the past ones.
func (p Past) Widened(figure string, e stats.Estimate) stats.Estimate {
	factor, _ := p.wider(figure)
	e.Low /= factor
	e.High *= factor
	return e
}

// text returns a sentence with the factors by which the past widens intervals; "" without a past.
func (p Past) text() string {
	var parts []string
	for _, figure := range []string{FigureMedian, FigureP99, FigureCPU, FigureCapacity} {
		if factor, n := p.wider(figure); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2fx, of %d", figure, factor, n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("both ends of intervals are moved outwards by factors with which 90 %% of the intervals "+
		"of past predictions of splits and merges hold what was measured then (%s): this one is covered as often "+
		"if it is as far off as those were", strings.Join(parts, "; "))
}

// widen widens the intervals of the changed system and of the ratios, but not those of the system as it is,
// which was measured.
func (a *Answer) widen() {
	past, to := a.Question.Past, &a.Changed
	for _, of := range []struct {
		figure string
		to     *stats.Estimate
	}{{FigureMedian, &a.Median}, {FigureMedian, &to.Median}, {FigureP99, &a.P99}, {FigureP99, &to.P99},
		{FigureCPU, &a.CPU}, {FigureCPU, &to.CPU}, {FigureCPU, &to.Cores}, {FigureCapacity, &to.Capacity},
		{FigureCapacity, &to.Held.Estimate}} {
		*of.to = past.Widened(of.figure, *of.to)
	}
}
