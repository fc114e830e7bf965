package scenario

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// draws returns the first n values that a generator writes.
func draws(t *testing.T, v Value, n int) []string {
	t.Helper()
	start, err := newGenerator(v)
	testset.Must(t, err)
	g := start(Origin{Of: 1})
	r := newRandom(1, 0, 0)
	var all []string
	for range n {
		all = append(all, string(g.appendNext(nil, r)))
	}
	return all
}

func TestValuesHaveTheirForm(t *testing.T) {
	cases := []struct {
		name    string
		value   Value
		pattern string
	}{
		{"uuid", Value{UUID: &struct{}{}}, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"integer", Value{Integer: &Range{-3, 9}}, `^(-[123]|[0-9])$`},
		{"all integers", Value{Integer: &Range{math.MinInt64, math.MaxInt64}}, `^-?\d+$`},
		{"zipf", Value{Zipf: &Zipf{From: 5, To: 7, Exponent: 1}}, `^[567]$`},
		{"name", Value{Name: &struct{}{}}, `^[A-Z][a-z]+ [A-Z][a-z]+$`},
		{"text", Value{Text: &Text{Length: 23}}, `^[A-Za-z0-9]{23}$`},
		{"choice", Value{Choice: []string{"tea", "coffee"}}, `^(tea|coffee)$`},
		{"sequence", Value{Sequence: new(int64(-2))}, `^-?\d+$`},
	}
	for _, c := range cases {
		pattern := regexp.MustCompile(c.pattern)
		seen := map[string]bool{}
		for _, text := range draws(t, c.value, 200) {
			if seen[text] = true; !pattern.MatchString(text) {
				t.Errorf("%s: %q does not match %s", c.name, text, c.pattern)
			}
			if kindOf(c.value) != anyText && !regexp.MustCompile(`^[A-Za-z0-9-]*$`).MatchString(text) {
				t.Errorf("%s: %q is not plain", c.name, text)
			}
		}
		if len(seen) < 2 {
			t.Errorf("%s: always the same", c.name)
		}
	}
}

// chiSquared returns Pearson's statistic of counts against probabilities.
func chiSquared(counts []int, probability []float64) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	sum := 0.0
	for k, c := range counts {
		expected := float64(n) * probability[k]
		sum += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	return sum
}

// TestZipfIsExact compares the generator with the probabilities of the finite distribution. With 19 degrees
// of freedom, one exact sample in a thousand exceeds 43.82; the seed is fixed.
func TestZipfIsExact(t *testing.T) {
	const values, sample, limit = 20, 200_000, 43.82
	for _, exponent := range []float64{0, 0.5, 0.99, 1, 1.0000001, 1.5, 3} {
		weights := make([]float64, values)
		total := 0.0
		for k := range weights {
			weights[k] = math.Pow(float64(k+1), -exponent)
			total += weights[k]
		}
		for k := range weights {
			weights[k] /= total
		}
		g := newZipf(Zipf{From: 1, To: values, Exponent: exponent})
		r := newRandom(3, 0, 0)
		counts := make([]int, values)
		for range sample {
			counts[g.draw(r)-1]++
		}
		if got := chiSquared(counts, weights); got > limit {
			t.Errorf("exponent %g: chi squared %.1f, want at most %g; counts %v", exponent, got, limit, counts)
		}
	}
}

func TestZipfAtItsLimits(t *testing.T) {
	for _, z := range []Zipf{
		{1, 1, 0}, {1, 1, 2}, {1, 2, 50}, {1, maxSpan, 0}, {1, maxSpan, 1}, {1, maxSpan, 0.5}, {1, maxSpan, 1000},
		{1, 3, 1e300},
		{math.MinInt64, math.MinInt64 + maxSpan - 1, 1}, {math.MaxInt64 - 5, math.MaxInt64, 1},
	} {
		if _, err := newGenerator(Value{Zipf: &z}); err != nil {
			t.Errorf("%+v: %v", z, err)
			continue
		}
		g := newZipf(z)
		r := newRandom(1, 0, 0)
		for range 1000 {
			text := string(g.appendNext(nil, r))
			if k, err := strconv.ParseInt(text, 10, 64); err != nil || k < z.From || k > z.To {
				t.Fatalf("%+v: %s, %v", z, text, err)
			}
		}
	}
}

func TestIntegersAndTextsAreEven(t *testing.T) {
	counts := make([]int, len(lettersAndDigits))
	even := slices.Repeat([]float64{1 / float64(len(counts))}, len(counts))
	index := map[rune]int{}
	for i, c := range lettersAndDigits {
		index[c] = i
	}
	for _, text := range draws(t, Value{Text: &Text{Length: 100}}, 2000) {
		for _, c := range text {
			counts[index[c]]++
		}
	}
	const limit = 100.9 // 61 degrees of freedom, one in a thousand
	if got := chiSquared(counts, even); got > limit {
		t.Errorf("letters: chi squared %.1f, want at most %g", got, limit)
	}
}

// TestEveryNumberOnce: the players of all parts together count without gaps.
func TestEveryNumberOnce(t *testing.T) {
	f := Single(Step{Request: "GET /${n}/${rows.name}"})
	f.Values = map[string]Value{"n": {Sequence: new(int64(10))}}
	f.Data = map[string]Data{"rows": {CSV: "customers.csv"}}
	plan := compiled(t, f, "testdata")
	const parts, each = 4, 3
	lines := map[string]bool{}
	for part := range parts {
		p := plan.Player(Origin{Host: "h", Part: part, Of: parts})
		s := new(Session)
		for range each {
			p.Begin(s)
			lines[s.Call().Path] = true
		}
	}
	for i := range parts * each {
		if want := fmt.Sprintf("/%d/%s", 10+i, []string{"Ada%20Berg", "Hugo%20Lin"}[i%2]); !lines[want] {
			t.Errorf("%s is missing in %v", want, lines)
		}
	}
}

func TestSeedsAndParts(t *testing.T) {
	play := func(seed uint64, part int) string {
		f := parsed(t, "shop.yaml")
		f.Seed = seed
		plan := compiled(t, f, "testdata")
		p := plan.Player(Origin{Host: "h", Part: part, Of: 2})
		s := new(Session)
		all := ""
		for range 20 {
			p.Begin(s)
			all += string(s.HTTP1())
		}
		return all
	}
	if first, again := play(1, 0), play(1, 0); first != again {
		t.Error("the same seed and part, but other requests")
	}
	if play(1, 0) == play(2, 0) || play(1, 0) == play(1, 1) || play(1, 1) == play(2, 0) {
		t.Error("other seeds or parts, but the same requests")
	}
}

// TestWeightsOfFirstFlows: over neighbouring seeds, the first flows follow the weights, too.
func TestWeightsOfFirstFlows(t *testing.T) {
	f := Single(Step{Request: "GET /0"})
	f.Flows = append(f.Flows, Flow{Name: "x", Weight: 3, Steps: []Step{{Request: "GET /1"}}})
	plan := compiled(t, f, "")
	s := new(Session)
	const seeds, flows = 5000, 2
	counts := make([]int, 2*flows) // by position in the load and flow
	for plan.seed = range uint64(seeds) {
		p := plan.Player(Origin{Host: "h"})
		for i := range flows {
			p.Begin(s)
			counts[2*i+s.Operation()]++
		}
	}
	const limit = 10.83 // 1 degree of freedom, one in a thousand
	for i := 0; i < len(counts); i += 2 {
		if got := chiSquared(counts[i:i+2], []float64{0.25, 0.75}); got > limit {
			t.Errorf("flow %d: counts %v: chi squared %.1f", i/2, counts[i:i+2], got)
		}
	}
}

func TestWeights(t *testing.T) {
	f := Single(Step{Request: "GET /0"})
	for i, weight := range []float64{2, 7} {
		f.Flows = append(f.Flows, Flow{Name: "x", Weight: weight,
			Steps: []Step{{Request: fmt.Sprintf("GET /%d", i+1)}}})
	}
	p, s := beginFlow(t, f)
	counts := make([]int, 3)
	for range 10_000 {
		p.Begin(s)
		counts[s.Operation()]++
	}
	const limit = 13.82 // 2 degrees of freedom, one in a thousand
	if got := chiSquared(counts, []float64{0.1, 0.2, 0.7}); got > limit {
		t.Errorf("counts %v: chi squared %.1f", counts, got)
	}
}

// TestWeightsHaveAFiniteSum: otherwise the first flow would have no share, and the last one all of it.
func TestWeightsHaveAFiniteSum(t *testing.T) {
	f := Single(Step{Request: "GET /0"})
	f.Flows = append(f.Flows, Flow{Name: "x", Steps: []Step{{Request: "GET /1"}}})
	for weight, want := range map[float64]string{maxWeight: "", 1e308: "weight 1e+308: give a number"} {
		f.Flows[0].Weight = weight
		f.Flows[1].Weight = weight
		plan, err := f.Compile("")
		if want != "" {
			if err == nil || strings.Count(err.Error(), want) != 2 {
				t.Errorf("weight %g: error %v, want twice: %s", weight, err, want)
			}
		} else if err != nil || plan.flows[0].share != 0.5 || plan.flows[1].share != 1 {
			t.Errorf("weight %g: error %v, shares %+v", weight, err, plan)
		}
	}
}
