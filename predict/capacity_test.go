package predict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

// saturatedShop asks about a shop whose capacity was measured: users who never paused got 2,000 operations a
// second. An operation, and a hop, took half of the CPU time that it takes at low load. By its CPU time alone
// the shop would do more operations, in both placements: the simulation does not know what else limits it.
func saturatedShop() Question {
	q := splitStock()
	front := &q.Model.Operations[0].Call
	front.CPU.Quantiles = model.Quantiles{"min": 50 * time.Microsecond, "max": 950 * time.Microsecond}
	front.Calls[0].Visits = nil
	q.Model.Measured[0].Time = of(1600 * time.Microsecond)
	idle := HopSample{CPU: q.Hop.CPU, Elapsed: q.Hop.CPU + q.Hop.Wait, Used: 0.1}
	busy := HopSample{CPU: q.Hop.CPU / 2, Used: 0.7, Closed: true}
	q.Hop = MeasuredHop([]HopSample{idle, idle, busy, busy}, "a test")
	q.Model.Measured = append(q.Model.Measured,
		model.Measurement{Rate: 1500, Users: 64, CPU: of(800 * time.Microsecond)},
		model.Measurement{Rate: 2500, Users: 64, CPU: of(800 * time.Microsecond)})
	q.Objective = Objective{Text: "a test", Limits: []Limit{{Share: 0.5, Seconds: 1}}}
	return q
}

func TestTheCapacityFollowsWhatWasMeasured(t *testing.T) {
	a := predicted(t, saturatedShop())
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

// TestStoresAreScaledToTheMeasuredCapacity: a store with one worker, visited for 1 ms at low load, lets 1,000
// operations a second through. 1,250 were measured, so that it takes 0.8 ms then. The cores do 2,500 with
// what the load generator takes beside the system, and 1,000 with a call that takes a core for 2.4 ms: then
// the store limits nobody.
func TestStoresAreScaledToTheMeasuredCapacity(t *testing.T) {
	q := saturatedShop()
	q.Model.Stores = []model.Store{{Name: "disk", Kind: "sqlite", Workers: 1}}
	q.Model.Operations[0].Call.Visits = []model.Visit{{Store: "disk", Statements: 1, Commits: 1,
		Wait: of(time.Millisecond)}}
	q.Model.Measured = append(q.Model.Measured[:1],
		model.Measurement{Rate: 1250, Users: 64, CPU: of(800 * time.Microsecond),
			Generator: of(800 * time.Microsecond)})
	q.Hop = MeasuredHop([]HopSample{{CPU: 1e-4, Elapsed: 1e-4}, {CPU: 2.4e-3, Closed: true}}, "a test")
	q.Model.Measured[0].Time = of(2600 * time.Microsecond)
	a := predicted(t, q)
	near(t, "factor of the store", a.StoreFactor, 0.8, 0.03)
	near(t, "simulated as it is", a.Capacity.Predicted, 1250, 0.02)
	near(t, "capacity as it is", a.AsIs.Capacity.Value, 1250, 0.01)
	byStores := 4 / (1.6e-3 + a.Changed.Hops*2.4e-3)
	byCPU := 1250 * 1.6e-3 / 4 * byStores // it was half of what the cores do
	near(t, "capacity with a call more", a.Changed.Capacity.Value, math.Sqrt(byStores*byCPU), 0.05)
	if c := a.Changed.Capacity; c.Low > 1.05*byCPU || c.High < 0.95*byStores {
		t.Errorf("the interval %+v lacks one of %g and %g", c, byCPU, byStores)
	}
	if a.AsIs.CapacityBy != "the workers of disk or the 4 cores of the host" ||
		a.Changed.CapacityBy != "the 4 cores of the host" {
		t.Errorf("limited by %s, and with a call more by %s", a.AsIs.CapacityBy, a.Changed.CapacityBy)
	}
	if used := a.Changed.Cores.Value / q.Rate; used > 3e-3 {
		t.Errorf("an operation uses %g s of the cores: the load generator is not part of the system", used)
	}
	var text strings.Builder
	if err := a.Write(&text); err != nil || !strings.Contains(text.String(),
		" with stores that take 0.80 times as long as at low load, measured 1250/s") {
		t.Errorf("%v: no word on the store in\n%s", err, text.String())
	}
	if d := a.Document(); math.Abs(d.StoreFactor-a.StoreFactor) > 1e-9 {
		t.Errorf("the document has the factor %g, want %g", d.StoreFactor, a.StoreFactor)
	}
}

// TestACapacityOfAnotherPlacementIsACheck: the stock apart would do 1,778 operations a second.
func TestACapacityOfAnotherPlacementIsACheck(t *testing.T) {
	for measured, want := range map[float64]string{1650: "%, margin 15 %)",
		1300: " % off, beyond the margin of 15 %)"} {
		q := saturatedShop()
		q.Model.Measured[1].Rate = 2000
		q.Model.Measured[2].Rate = 2000
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
		d := a.Document()
		wrong := measured == 1300
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
