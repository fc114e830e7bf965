package study_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/yamlfile"
)

// factors returns the first n of the factors a to f.
func factors(n int) []lab.Factor {
	var all []lab.Factor
	for _, knob := range strings.Split("abcdef", "")[:n] {
		all = append(all, lab.Factor{Knob: knob, Low: "off", High: "on"})
	}
	return all
}

func factorial(t *testing.T, n int) lab.Factorial {
	t.Helper()
	d, err := study.Factorial("base", factors(n))
	testset.Must(t, err)
	return d
}

// TestDesignsAreThePublishedOnes compares them with Box, Hunter and Hunter 2005, chapter 6, and the
// NIST/SEMATECH e-Handbook, section 5.3.3.4.7. For five factors ours is the other half, which contains the
// first run.
func TestDesignsAreThePublishedOnes(t *testing.T) {
	clear := []string{"a x b", "a x c", "a x d", "a x e", "b x c", "b x d", "b x e", "c x d", "c x e", "d x e"}
	for n, want := range map[int]struct {
		notation, generators, relation string
		resolution, runs               int
		pairs                          []string // groups of interactions
	}{
		2: {"2^2", "", "", 0, 4, []string{"a x b"}},
		3: {"2^3", "", "", 0, 8, []string{"a x b", "a x c", "b x c"}},
		4: {"2^(4-1)", "D = ABC", "I = ABCD", 4, 8,
			[]string{"a x b or c x d", "a x c or b x d", "a x d or b x c"}},
		5: {"2^(5-1)", "E = -ABCD", "I = -ABCDE", 5, 16, clear},
		6: {"2^(6-2)", "E = ABC, F = BCD", "I = ABCE = BCDF = ADEF", 4, 16,
			[]string{"a x b or c x e", "a x c or b x e", "a x d or e x f", "a x e or b x c or d x f",
				"a x f or d x e", "b x d or c x f", "b x f or c x d"}},
	} {
		d := factorial(t, n)
		if d.Notation != want.notation || strings.Join(d.Generators, ", ") != want.generators ||
			d.Relation != want.relation || d.Resolution != want.resolution || len(d.Runs) != want.runs {
			t.Errorf("%d factors: %s with %q, %q, resolution %d, %d runs; want %+v", n, d.Notation, d.Generators,
				d.Relation, d.Resolution, len(d.Runs), want)
		}
		var groups []string
		for _, g := range d.Effects {
			groups = append(groups, g.String())
		}
		if all := append(strings.Split("abcdef", "")[:n:n], want.pairs...); !slices.Equal(groups, all) {
			t.Errorf("%d factors: groups %q, want %q", n, groups, all)
		}
	}
	for _, n := range []int{1, 0} {
		if _, err := study.Factorial("base", factors(n)); err == nil {
			t.Errorf("%d factors make a design", n)
		}
	}
	if _, err := study.Factorial("base", append(factors(6), lab.Factor{Knob: "g"})); err == nil {
		t.Error("7 factors make a design")
	}
}

// TestEffectsAreOrthogonal: over all runs, terms of one group have the same signs, and the products of terms
// of different groups add up to 0. The first run has all factors at the low level, and all names differ.
func TestEffectsAreOrthogonal(t *testing.T) {
	for n := study.LeastFactors; n <= study.MostFactors; n++ {
		d := factorial(t, n)
		if first := d.Runs[0]; first.Variant != "base" || slices.Contains(first.High, true) {
			t.Errorf("%d factors: the first run is %+v", n, first)
		}
		names := map[string]bool{}
		for _, run := range d.Runs {
			names[run.Variant] = true
		}
		if len(names) != len(d.Runs) {
			t.Errorf("%d factors: %d names of %d runs", n, len(names), len(d.Runs))
		}
		for i, g := range d.Effects {
			for j, h := range d.Effects {
				for _, term := range h.Terms {
					sum, want := 0.0, 0.0 // of the products of signs
					for _, run := range d.Runs {
						sum += d.Sign(run, g.Terms[0]) * d.Sign(run, term)
					}
					if i == j {
						want = float64(len(d.Runs))
					}
					if sum != want {
						t.Errorf("%d factors: %v and %v have the product %g, want %g", n, g.Terms[0], term, sum, want)
					}
				}
			}
		}
	}
}

// TestRunsWithLongNamesHaveLetters: if the names of the factors make the name of a run too long, their
// letters replace them. Every run has a name that a plan may have, and a name of its own.
func TestRunsWithLongNamesHaveLetters(t *testing.T) {
	all := factors(6)
	for i := range all {
		all[i].Knob += "-whose-name-is-long"
	}
	d, err := study.Factorial("base", all)
	testset.Must(t, err)
	seen := map[string]bool{}
	for _, run := range d.Runs {
		if len(run.Variant) > yamlfile.MaxName || seen[run.Variant] {
			t.Errorf("a run is called %s", run.Variant)
		}
		seen[run.Variant] = true
	}
}

// TestStoredDesignsMustFollowFromTheirFactors: a plan from a stranger cannot bring another design.
func TestStoredDesignsMustFollowFromTheirFactors(t *testing.T) {
	s := stallStudy(t)
	s.Steps = nil
	s.Claims = nil
	d, err := study.Factorial(s.Baseline, factors(2))
	testset.Must(t, err)
	base, _ := s.Variant(s.Baseline)
	for _, run := range d.Runs[1:] {
		v := base
		v.Name = run.Variant
		s.Variants = append(s.Variants, v)
	}
	for name, c := range map[string]struct {
		change func(*lab.Study)
		want   string
	}{
		"as it was made": {func(*lab.Study) {}, ""},
		"without a run": {func(s *lab.Study) {
			s.Variants = slices.DeleteFunc(slices.Clone(s.Variants),
				func(v lab.Variant) bool { return v.Name == "a-b" })
		}, `the factorial design has the run "a-b", which is no variant of the study`},
		"no runs":     {func(s *lab.Study) { s.Factorial.Runs = nil }, "not the one that its factors make"},
		"one factor":  {func(s *lab.Study) { s.Factorial.Factors = factors(1) }, "not the one"},
		"other terms": {func(s *lab.Study) { s.Factorial.Effects[0].Terms[0][0] = "b" }, "not the one"},
	} {
		changed := s
		again, _ := study.Factorial(s.Baseline, factors(2))
		changed.Factorial = &again
		c.change(&changed)
		plan, err := study.Expand(changed, "full", time.Unix(0, 0))
		testset.Must(t, err)
		err = study.CheckPlan("plan.json", plan, kiosk())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
