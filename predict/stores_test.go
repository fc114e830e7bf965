package predict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// diskShop asks about a shop whose disk takes 2 ms for an operation at low load. took is the measured median
// response time at the rate of the question. The mean is far above it, so a test fails if the mean is used.
func diskShop(took time.Duration) Question {
	q := splitStock()
	q.Rate = 100
	q.Operations = 40_000
	q.Model.Measured[0].Time = model.Distribution{Mean: 9 * took, Source: model.Meter,
		Quantiles: model.Quantiles{"p50": took}}
	return q
}

// TestStoresTakeWhatIsMeasured: an operation takes 1.6 ms of CPU, and the rest of the measured time is that
// of the store, unless this would take no time, or more than twice what the model says.
func TestStoresTakeWhatIsMeasured(t *testing.T) {
	for took, want := range map[time.Duration]float64{2100 * time.Microsecond: 0.25, 3600 * time.Microsecond: 1,
		4600 * time.Microsecond: 1.5, 1500 * time.Microsecond: 1, 20 * time.Millisecond: 1} {
		a := predicted(t, diskShop(took))
		near(t, fmt.Sprintf("factor for %v", took), a.StoreFactorAtRate, want, 0.03)
		explained := took > 1600*time.Microsecond && took < 20*time.Millisecond
		if explained != (len(a.Withheld) == 0) {
			t.Errorf("%v: withheld for %q", took, a.Withheld)
		}
		if !explained {
			continue
		}
		near(t, fmt.Sprintf("median as it is for %v", took), a.AsIs.Median.Value, took.Seconds(), 0.03)
		text := strings.Join(a.Limits, "\n")
		if strings.Contains(text, "but at stores: at this rate") != (want != 1) {
			t.Errorf("%v: factor %g, and the limits are\n%s", took, a.StoreFactorAtRate, text)
		}
	}
}

// TestAGapIsNoMedian: where half of the operations take far longer than the others, the mean counts. By
// Pollaczek and Khinchine it is 1.6 ms + s + s*rho/(2*(1-rho)) = 4.6 ms for a store that takes s = 2.56 ms.
func TestAGapIsNoMedian(t *testing.T) {
	q := diskShop(3 * time.Millisecond)
	q.Model.Measured[0].Time.Mean = 4600 * time.Microsecond
	q.Model.Measured[0].Time.Quantiles["p45"] = time.Millisecond
	q.Model.Measured[0].Time.Quantiles["p55"] = 9 * time.Millisecond
	near(t, "factor", predicted(t, q).StoreFactorAtRate, 1.28, 0.03)
}

// TestStoresBetweenTwoRates: the factor is linear in the logarithm of the rate, and a check at one of both
// rates does not know what was measured there.
func TestStoresBetweenTwoRates(t *testing.T) {
	q := diskShop(3600 * time.Microsecond)
	q.Rate = 100
	slow := q.Model.Measured[0]
	q.Model.Measured[0].Rate = 50
	slow.Rate = 200
	slow.Time.Quantiles = model.Quantiles{"p50": 5100 * time.Microsecond}
	q.Model.Measured = append(q.Model.Measured, slow)
	low, high := q, q
	low.Rate = 50
	high.Rate = 200
	a := predicted(t, q)
	atLow := predicted(t, low)
	atHigh := predicted(t, high)
	first, second := atLow.StoreFactorAtRate, atHigh.StoreFactorAtRate
	near(t, "factor between both", a.StoreFactorAtRate, (first+second)/2, 0.01)
	if second < 1.15 {
		t.Fatalf("the factor %g at the higher rate is too near to the one at the lower, %g", second, first)
	}
	if off := a.Checks[1].Time.Error(); off > -0.05 {
		t.Errorf("the check at %g/s is %g off, although what was measured there is left out", a.Checks[1].Rate, off)
	}
	near(t, "check at the rate of the question", atHigh.Checks[1].Time.Predicted, 5.1e-3, 0.05)
}

// TestRatesNearTheCapacityAreWithheld: an answer at over 90 % of the lowest likely capacity is withheld.
func TestRatesNearTheCapacityAreWithheld(t *testing.T) {
	for measured, withheld := range map[float64]bool{260: true, 2000: false} {
		q := splitStock()
		q.Model.Measured = append(q.Model.Measured,
			model.Measurement{Rate: measured, Users: 64, CPU: of(1600 * time.Microsecond)})
		a := predicted(t, q)
		says := strings.Contains(strings.Join(a.Withheld, "\n"), "the capacity may be as low as 2")
		if says != withheld {
			t.Errorf("a capacity of %g/s: withheld for %q", measured, a.Withheld)
		}
	}
}
