package predict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/model"
)

func ranked(t *testing.T, q Question) Ranking {
	t.Helper()
	r, err := Rank(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPartitionsAreCounted: as many as Bell's numbers say, and none twice.
func TestPartitionsAreCounted(t *testing.T) {
	for n, want := range []int{1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975} {
		seen := map[string]bool{}
		eachPartition(n, func(group []int, groups int) {
			seen[fmt.Sprint(group)] = true
			if n > 0 && slices.Max(group)+1 != groups {
				t.Errorf("%v is counted as %d groups", group, groups)
			}
		})
		if len(seen) != want {
			t.Errorf("%d things have %d partitions, want %d", n, len(seen), want)
		}
	}
}

// TestPartitionsCostWhatIsSimulated: the CPU times are those of simulations, and what separates two of them
// adds up to the difference.
func TestPartitionsCostWhatIsSimulated(t *testing.T) {
	q := splitStock()
	q.Change = Change{}
	r := ranked(t, q)
	var order []string
	for i, p := range r.Partitions {
		order = append(order, p.Placement())
		asked := q
		asked.Change = Change{Split: p.Groups}
		near(t, "CPU time of "+p.Placement(), p.CPU.Value, predicted(t, asked).Changed.CPU.Value, 1e-3)
		if !(p.CPU.Low < p.CPU.Value && p.CPU.Value < p.CPU.High) || p.Median.Value < 3e-3 {
			t.Errorf("%s: %+v", p.Placement(), p)
		}
		if i == 0 {
			continue
		}
		difference := p.CPU.Value - r.Partitions[i-1].CPU.Value
		for _, c := range p.Added {
			difference -= c.CPU
		}
		for _, c := range p.Removed {
			difference += c.CPU
		}
		if math.Abs(difference) > 1e-9 {
			t.Errorf("what separates %s from the one before leaves %g s", p.Placement(), difference)
		}
	}
	want := []string{"front+orders+stock", "front,orders+stock", "front+orders,stock", "front+stock,orders",
		"front,orders,stock"}
	if !slices.Equal(order, want) || r.All != 5 || !r.Partitions[0].AsIs {
		t.Errorf("%d partitions, of them %q, want %q with the first as it is", r.All, order, want)
	}
	text, err := json.Marshal(r.Document())
	if err != nil || !strings.Contains(string(text), `"added":[{"from":"front","to":"orders","calls":1`) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestTheSystemAsItIsIsRanked, even where others with as many units are cheaper.
func TestTheSystemAsItIsIsRanked(t *testing.T) {
	q := splitStock()
	q.Change = Change{}
	q.Model.Units = nil
	last := &q.Model.Operations[0].Call
	for _, name := range []string{"a", "b", "c", "d"} {
		last.Calls = append(last.Calls, model.Call{Component: name, Name: name, Count: 1, Source: model.Trace,
			N: 100, CPU: of(time.Microsecond)})
	}
	for _, group := range []string{"front", "orders", "stock+a+b+c+d"} {
		q.Model.Units = append(q.Model.Units, model.Unit{Name: group, Components: strings.Split(group, "+"),
			Replicas: 2, Workers: 64})
	}
	q.Model.Measured[0].CPU = of(2304 * time.Microsecond) // seven of its calls cross units
	q.Model.Measured[0].Time = of(4700 * time.Microsecond)
	r := ranked(t, q)
	if len(r.Withheld) > 0 || r.All != 877 || len(r.Partitions) != 1+3*5+1+1 {
		t.Fatalf("%d of %d partitions are listed; withheld: %q", len(r.Partitions), r.All, r.Withheld)
	}
	i := slices.IndexFunc(r.Partitions, func(p Partition) bool { return p.AsIs })
	if i < 0 || r.Partitions[i].Ratio.Value != 1 {
		t.Errorf("the system as it is is not among %+v", r.Partitions)
	}
}

// TestRankingsAreRefusedAndWithheld as answers to changes are.
func TestRankingsAreRefusedAndWithheld(t *testing.T) {
	q := splitStock()
	q.Change = Change{}
	q.Hop = nil
	if _, err := Rank(t.Context(), q); err == nil || !strings.Contains(err.Error(), "--hop") {
		t.Errorf("%v, want that the cost of a hop is missing", err)
	}
	for i := range 8 {
		q.Model.Units[0].Components = append(q.Model.Units[0].Components, fmt.Sprint("more", i))
	}
	if _, err := Rank(t.Context(), q); err == nil || !strings.Contains(err.Error(), "11 components") {
		t.Errorf("%v, want that these are too many", err)
	}
	q = splitStock()
	q.Change = Change{}
	q.Model.Measured = nil
	r := ranked(t, q)
	if len(r.Withheld) == 0 || len(r.Partitions) > 0 {
		t.Errorf("nothing was measured, and the ranking is %+v", r)
	}
	var text strings.Builder
	err := r.Write(&text)
	if err != nil || !strings.Contains(text.String(), ": all partitions of 3 components\n") {
		t.Errorf("%v: it counts what it has not ranked:\n%s", err, text.String())
	}
}

// TestTheHighestRateIsThatOfTheory: of M/M/1 the response times are exponential with the mean 1/(mu-lambda).
func TestTheHighestRateIsThatOfTheory(t *testing.T) {
	shape := model.Quantiles{}
	for i := range 1000 {
		share := float64(i) / 1000
		shape[fmt.Sprintf("p%g", 100*share)] = time.Duration(-math.Log(1-share) * 1e6)
	}
	shape["max"] = 9 * time.Millisecond
	service := model.Distribution{Mean: time.Millisecond, Source: model.Meter, N: 1e6, Quantiles: shape}
	call := model.Call{Component: "a", Count: 1, CPU: of(10 * time.Microsecond),
		Visits: []model.Visit{{Store: "db", Wait: service}}}
	took := model.Distribution{Mean: 2010 * time.Microsecond, Source: model.Meter, N: 1e6,
		Quantiles: model.Quantiles{"p50": 1396 * time.Microsecond, "p99": 9220 * time.Microsecond}}
	q := Question{Rate: 500, Cores: 64, MeasuredCores: 64, Seed: 1, Operations: 100_000,
		Change: Change{Replicas: map[string]int{"a": 2}}}
	q.Model = model.Model{Units: []model.Unit{{Name: "a", Components: []string{"a"}, Replicas: 1}},
		Stores:     []model.Store{{Name: "db", Workers: 1}},
		Operations: []model.Operation{{Weight: 1, Call: call}},
		Measured:   []model.Measurement{{Rate: 500, CPU: of(10 * time.Microsecond), Time: took}}}
	for text, c := range map[string]struct {
		limit Limit
		want  float64
		note  string
	}{
		"p99":     {Limit{0.99, 0.015}, 1000 - math.Log(100)/0.015, ""},
		"p50":     {Limit{0.5, 0.002}, 1000 - math.Log(2)/0.002, ""},
		"beyond":  {Limit{0.99, 1}, 800, "over 7"},
		"nowhere": {Limit{0.99, 0.001}, 0, "not even at 12."},
	} {
		q.Objective = Objective{text, []Limit{c.limit}}
		a := predicted(t, q)
		if len(a.Withheld) > 0 {
			t.Fatalf("%s: withheld: %q", text, a.Withheld)
		}
		held := a.AsIs.Held
		near(t, text, held.Value, c.want, 0.04)
		inside := held.Low < held.Value && held.Value < held.High || c.want == 0
		if !inside || !strings.HasPrefix(held.text(), c.note) {
			t.Errorf("%s: %s [%g, %g], want %q", text, held.text(), held.Low, held.High, c.note)
		}
	}
	q.Model.Measured[0].Time.Quantiles["p99"] = time.Second
	q.Objective.Limits = []Limit{{0.99, 0.015}}
	if a := predicted(t, q); a.AsIs.Held.Withheld != "withheld" {
		t.Errorf("a wrong 99th percentile leaves %+v", a.AsIs.Held)
	}
}

// TestAnOverloadedPartitionIsShown without a share of use, which nobody knows.
func TestAnOverloadedPartitionIsShown(t *testing.T) {
	var out strings.Builder
	Ranking{Partitions: []Partition{{Groups: [][]string{{"a"}}, Withheld: "overloaded"}}}.writePartitions(&out)
	if text := out.String(); !strings.Contains(text, "withheld: overloaded") || strings.Contains(text, ": 0") {
		t.Errorf("it is shown as\n%s", text)
	}
}
