package analysis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// traced returns a set of traces of an operation: 4 ms in front and the given time in cart, with noise.
func traced(random *rand.Rand, name string, cart float64) lab.TraceSet {
	o := lab.TracedOperation{Service: "front", Operation: "GET /cart", Traces: 20 * TraceBatches}
	for range TraceBatches {
		front, slow := 0.0, 0.0
		for range 20 {
			front += 0.004 * random.ExpFloat64() / 20
			slow += cart * random.ExpFloat64() / 20
		}
		o.Batches = append(o.Batches, lab.TraceBatch{Seconds: front + slow, Parts: []lab.PartCost{
			{TracePart: lab.TracePart{Service: "front", Operation: "GET /cart"}, Calls: 1, Self: front, Path: front},
			{TracePart: lab.TracePart{Service: "cart", Operation: "get"}, Calls: 1, Self: slow, Path: slow}}})
	}
	return lab.TraceSet{Name: name, Traces: o.Traces, Operations: []lab.TracedOperation{o}}
}

// TestTracesHoldTheTruth: intervals miss a known change, or exclude 0 without a change, about as often as
// their level allows.
func TestTracesHoldTheTruth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rounds = 400
	missed, false95 := 0, 0
	for range rounds {
		c, err := CompareTraces(traced(random, "before", 0.006), traced(random, "after", 0.012))
		testset.Must(t, err)
		if c.Services[0].Service != "cart" {
			t.Errorf("the largest change is in %s", c.Services[0].Service)
		}
		if p := c.Services[0].Path; p.Low > 0.006 || p.High < 0.006 {
			missed++
		}
		if p := c.Services[1].Path; p.Low > 0 || p.High < 0 {
			false95++
		}
		sum := 0.0
		for _, part := range c.Parts {
			sum += part.Path.Difference
		}
		if math.Abs(sum-c.Seconds.Difference) > 1e-12 {
			t.Fatalf("the parts changed by %v s, the operation by %v s", sum, c.Seconds.Difference)
		}
	}
	if most := rounds * 8 / 100; missed > most || false95 > most {
		t.Errorf("of %d intervals of 95 %% %d miss the truth and %d call equal different: want at most %d", rounds,
			missed, false95, most)
	}
}

// TestVariantsAreComparedByTheirSpans with the baseline, unless that is struck out. Their intervals may reach
// to infinity.
func TestVariantsAreComparedByTheirSpans(t *testing.T) {
	in := loaded()
	for i := range in.Trials {
		in.Trials[i].Traced = &lab.TraceSet{Operations: []lab.TracedOperation{{Service: "front", Traces: 5,
			Batches: []lab.TraceBatch{{Seconds: 1 + float64(i%7)/10}}}}}
	}
	if a := Analyse(in); len(a.Traced) != 2 {
		t.Errorf("%d comparisons by spans, want those of b at two points", len(a.Traced))
	}
	two := in.only(func(trial lab.Trial) bool { return trial.Block <= 2 })
	two.Plan.Study.Design.Confidence = 1 - 1e-12
	a := Analyse(two)
	encode(t, a) // fails for an infinite number
	if len(a.Traced) != 2 || a.Traced[0].Ratio.High != nil {
		t.Errorf("comparisons by spans %+v, want two without finite intervals", a.Traced)
	}
	broken := slices.IndexFunc(in.Trials, func(t lab.Trial) bool { return t.Variant == "a" })
	in.Trials[broken].Valid = false
	in.Trials[broken].Audit.Verdict = lab.AuditInvalid
	if a := Analyse(in); len(a.Traced) != 0 {
		t.Errorf("the baseline broke an invariant, and %d comparisons have it", len(a.Traced))
	}
}

// TestAnotherMixIsNoChange: a larger share of a slow operation is not a change of the operations.
func TestAnotherMixIsNoChange(t *testing.T) {
	set := func(name string, slow int) lab.TraceSet {
		s := lab.TraceSet{Name: name}
		for i, traces := range []int{100, slow, 30} {
			o := lab.TracedOperation{Service: "front", Operation: fmt.Sprint("op", i), Traces: traces}
			for range TraceBatches {
				o.Batches = append(o.Batches, lab.TraceBatch{Seconds: float64(1 + 9*i)})
			}
			s.Operations = append(s.Operations, o)
		}
		return s
	}
	before := set("before", 100)
	after := set("after", 900)
	before.Operations[2].Batches = nil
	after.Operations[2].Operation = "op3"
	c, err := CompareTraces(before, after)
	testset.Must(t, err)
	if c.Seconds.Before != 5.5 || c.Seconds.Difference != 0 || c.Compared[1].Weight != 0.5 {
		t.Errorf("an operation takes %+v, and weighs %+v", c.Seconds, c.Compared)
	}
	if left := strings.Join(c.Left, "; "); left != "front op2 of before (traces: 30): after does not have it; "+
		"front op3 of after (traces: 30): before does not have it" {
		t.Errorf("left out: %s", left)
	}
	before.Operations = before.Operations[2:]
	if _, err := CompareTraces(before, after); err == nil ||
		!strings.Contains(err.Error(), "no operation in common") {
		t.Errorf("without a common operation: %v", err)
	}
}
