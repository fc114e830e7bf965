package predict

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// crowdedShop asks about a shop of which users who never paused got 2,000 operations a second, for half of
// the CPU time that an operation takes at low load. The simulation lacks what else slowed them down, in both
// placements alike. Among them a call takes half the CPU time that it takes of an idle host.
func crowdedShop() Question {
	q := splitStock()
	front := &q.Model.Operations[0].Call
	front.CPU.Quantiles = model.Quantiles{"min": 50 * time.Microsecond, "max": 950 * time.Microsecond}
	front.Calls[0].Visits = nil
	q.Model.Measured[0].Time = of(1600 * time.Microsecond)
	idle, busy := HopSample{CPU: q.Hop.CPU, Elapsed: q.Hop.CPU + q.Hop.Wait, Used: 0.1},
		HopSample{CPU: q.Hop.CPU / 2, Used: 0.7, Closed: true}
	q.Hop = MeasuredHop([]HopSample{idle, idle, busy, busy}, "a test")
	q.Model.Measured = append(q.Model.Measured,
		model.Measurement{Rate: 1500, Users: 64, CPU: of(800 * time.Microsecond)},
		model.Measurement{Rate: 2500, Users: 64, CPU: of(800 * time.Microsecond)})
	q.Objective = Objective{Text: "a test", Limits: []Limit{{Share: 0.5, Seconds: 1}}}
	return q
}

func TestTheCapacityFollowsWhatWasMeasured(t *testing.T) {
	a := predicted(t, crowdedShop())
	if len(a.Withheld) > 0 || a.AsIs.CapacityBy != "the 4 cores of the host" {
		t.Fatalf("withheld: %v; limited by %s", a.Withheld, a.AsIs.CapacityBy)
	}
	near(t, "simulated as it is", a.Capacity.Predicted, 4/0.8e-3, 0.03)
	near(t, "capacity as it is", a.AsIs.Capacity.Value, 2000, 0.03)
	near(t, "capacity with a call more", a.Changed.Capacity.Value, 2000*0.8/(0.8+0.05*a.Changed.Hops), 0.03)
	if c := a.AsIs.Capacity; c.Low > 1700 || c.High < 2300 {
		t.Errorf("the interval [%g, %g] does not show that 1500 and 2500 were measured", c.Low, c.High)
	}
	if !a.AsIs.Held.Beyond || !a.Changed.Held.Beyond {
		t.Errorf("an easy objective holds up to %+v and %+v", a.AsIs.Held, a.Changed.Held)
	}
	near(t, "held as it is", a.AsIs.Held.Value, MostUsed*a.AsIs.Capacity.Value, 1e-9)
	near(t, "held with a call more", a.Changed.Held.Value, MostUsed*a.Changed.Capacity.Value, 1e-9)
	var text strings.Builder
	err := a.Write(&text)
	for _, want := range []string{"measured 2000/s",
		"a new hop takes 100 us of CPU, at the capacity 50.0 us, and "} {
		if err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v: no %q in\n%s", err, want, text.String())
		}
	}
}

// TestACapacityOfAnotherPlacementIsACheck: the stock apart would do 1,778 operations a second.
func TestACapacityOfAnotherPlacementIsACheck(t *testing.T) {
	for measured, want := range map[float64]string{1650: "%, margin 15 %)",
		1300: " % off, beyond the margin of 15 %)"} {
		q := crowdedShop()
		q.Model.Measured[1].Rate, q.Model.Measured[2].Rate = 2000, 2000
		q.Model.Measured = append(q.Model.Measured, model.Measurement{Placement: "stock", Rate: measured, Users: 64,
			CPU: of(900 * time.Microsecond)})
		a := predicted(t, q)
		if len(a.Withheld) > 0 || len(a.CapacityChecks) != 1 {
			t.Fatalf("withheld: %v; checks of the capacity: %+v", a.Withheld, a.CapacityChecks)
		}
		near(t, "of the stock apart", a.CapacityChecks[0].Capacity.Predicted, 1778, 0.03)
		var text strings.Builder
		if err := a.Write(&text); err != nil || !strings.Contains(text.String(), want) {
			t.Errorf("%v: no %q in\n%s", err, want, text.String())
		}
		d, wrong := a.Document(), measured == 1300
		said := strings.Contains(text.String(), "The capacity is withheld")
		if noRate := d.Changed.HeldRate == nil; a.CapacityWithheld != wrong || noRate != wrong || said != wrong ||
			(d.Changed.Capacity == nil) != wrong || len(d.CapacityChecks) != 1 {
			t.Errorf("measured %g/s: withheld %v, %+v in\n%s", measured, a.CapacityWithheld, d.Changed,
				text.String())
		}
		if !wrong && a.Changed.Capacity.Low > measured {
			t.Errorf("the interval %+v does not hold the measured %g/s", a.Changed.Capacity, measured)
		}
	}
}
