package analysis

import (
	"maps"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/stats"
)

// spectra are the distributions of every quantity, per variant and point. The
// median is taken over the trials at each share: percentiles are never averaged
// and trials never pooled, because trials are the sample.
func (e *experiment) spectra() []lab.Spectrum {
	var all []lab.Spectrum
	for _, v := range e.variants() {
		for _, point := range e.study.Points {
			trials := e.counted(v.Name, point.Name)
			for _, quantity := range quantitiesOf(trials) {
				s := lab.Spectrum{Variant: v.Name, Point: point, Quantity: quantity}
				for _, trial := range trials {
					if quantiles := rounded(trial.Spectra[quantity]); len(quantiles) > 0 {
						s.Trials = append(s.Trials, quantiles)
					}
				}
				if s.Median = medianSpectrum(s.Trials); len(s.Median) > 0 {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

// quantitiesOf are the quantities whose distributions any of the trials has.
func quantitiesOf(trials []lab.Trial) []string {
	names := map[string]bool{}
	for _, trial := range trials {
		for name := range trial.Spectra {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// rounded keeps finite quantiles to four significant digits, one more than the
// histograms behind them have: whole floats would make the document half as
// large again.
func rounded(quantiles []lab.Quantile) []lab.Quantile {
	kept := make([]lab.Quantile, 0, len(quantiles))
	for _, q := range quantiles {
		if finite(q.Value) && finite(q.Share) {
			kept = append(kept, lab.Quantile{Share: q.Share, Value: significant(q.Value)})
		}
	}
	return kept
}

// significant rounds to four significant digits.
func significant(value float64) float64 {
	if value == 0 {
		return 0
	}
	digits := 3 - int(math.Floor(math.Log10(math.Abs(value))))
	if digits > 300 {
		return value // a power of ten beyond the floats
	}
	if digits < 0 {
		step := math.Pow10(-digits)
		return math.Round(value/step) * step
	}
	step := math.Pow10(digits) // a whole number: dividing by it rounds once
	return math.Round(value*step) / step
}

// medianSpectrum is the median over the trials at each share that more than half
// of them have.
func medianSpectrum(trials [][]lab.Quantile) []lab.Quantile {
	byShare := map[float64][]float64{}
	for _, quantiles := range trials {
		for _, q := range quantiles {
			byShare[q.Share] = append(byShare[q.Share], q.Value)
		}
	}
	var middle []lab.Quantile
	for _, share := range slices.Sorted(maps.Keys(byShare)) {
		if values := byShare[share]; 2*len(values) > len(trials) {
			middle = append(middle, lab.Quantile{Share: share, Value: stats.Median(values)})
		}
	}
	return middle
}
