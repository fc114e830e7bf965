package stats

import (
	"math"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

func TestJudge(t *testing.T) {
	times := Wording{"slower", "faster"}
	tests := []struct {
		name             string
		value, low, high float64
		kind             lab.ComparisonVerdict
		words            string
		more             int
	}{
		{"beyond the margin", 1.1, 1.0719, 1.13, lab.Slower, "slower by at least 7.1 %", 0},
		{"many times", 3.4, 3.29, 3.5, lab.Slower, "slower by at least a factor of 3.2", 0},
		{"many more times", 976, 904.4, 1055, lab.Slower, "slower by at least a factor of 900", 0},
		{"a factor with a fraction", 5.3, 5.11, 5.5, lab.Slower, "slower by at least a factor of 5.1", 0},
		{"just beyond the margin", 1.06, 1.0529, 1.07, lab.Slower, "slower by at least 5.2 %", 0},
		{"below the margin", 0.9, 0.88, 0.929, lab.Faster, "faster by at least 7.1 %", 0},
		{"many times below", 0.01, 0.009, 0.0111, lab.Faster, "faster by at least a factor of 90", 0},
		{"into the margin", 1.06, 1.01, 1.12, lab.Slower, "slower by 1 % to 12 %", 0},
		{"into the margin below", 0.94, 0.89, 0.99, lab.Faster, "faster by 1 % to 11 %", 0},
		{"up to a factor", 1.7, 1.01, 3, lab.Slower, "slower by 1 % to a factor of 3", 0},
		{"within the margin", 1, 0.97, 1.03, lab.Equivalent, "equivalent within 5 %", 0},
		{"within, without 1", 1.02, 1.01, 1.03, lab.Equivalent, "equivalent within 5 %", 0},
		// Half-width ln 1.1 = .0953, target ln 1.05 = .0488: 5 * (.0953/.0488)^2 - 5 = 14.1.
		{"around 1", 1, 1 / 1.1, 1.1, lab.Undecided, "undecided: about 15 more blocks needed", 15},
		// Half-width .0976, target ln 1.09 = .0862: 5 * 1.284 - 5 = 1.4.
		{"nearly off 1", 1.09, 1.09 / 1.1025, 1.09 * 1.1025, lab.Undecided, "undecided: about 2 more blocks needed",
			2},
		{"almost excludes 1", 1.1, 0.999, 1.21, lab.Undecided, "undecided: about 1 more block needed", 1},
		{"hopeless", 1, 0.001, 1000, lab.Undecided, "undecided: more than 10000 more blocks needed", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Judge(Estimate{test.value, test.low, test.high, 5}, Gates{Margin: 0.05}, times)
			if got.Kind != test.kind || got.Words != test.words || got.MoreBlocks != test.more {
				t.Errorf("Judge = %s, %q, %d more; want %s, %q, %d", got.Kind, got.Words, got.MoreBlocks, test.kind,
					test.words, test.more)
			}
		})
	}
}

func TestJudgeIsFairToBothSides(t *testing.T) {
	flip := map[lab.ComparisonVerdict]lab.ComparisonVerdict{
		lab.Slower: lab.Faster, lab.Faster: lab.Slower, lab.Equivalent: lab.Equivalent,
		lab.Undecided: lab.Undecided,
	}
	words := Wording{"slower", "faster"}
	gates := Gates{0.05, 0.03}
	for _, e := range []Estimate{{1.3, 1.2, 1.4, 5}, {1.04, 1.01, 1.07, 5},
		{1.02, 0.9, 1.15, 5}, {1, 0.99, 1.01, 5}} {
		back := Estimate{1 / e.Value, 1 / e.High, 1 / e.Low, e.N}
		there := Judge(e, gates, words)
		here := Judge(back, gates, words)
		if here.Kind != flip[there.Kind] || here.MoreBlocks != there.MoreBlocks {
			t.Errorf("%v is %v, its inverse is %v", e, there, here)
		}
	}
}

func TestJudgeWithoutMargin(t *testing.T) {
	got := Judge(Estimate{1, 0.9, 1 / 0.9, 5}, Gates{}, Wording{"slower", "faster"})
	if got.Kind != lab.Undecided || got.MoreBlocks != 0 {
		t.Errorf("Judge = %+v, want undecided without a number of blocks", got)
	}
}

func TestJudgeUnderABias(t *testing.T) {
	gates := Gates{Margin: 0.05, Bias: 0.2}
	tests := []struct {
		name      string
		low, high float64
		kind      lab.ComparisonVerdict
		words     string
	}{
		{"beyond the margin, within the bias", 1.08, 1.12, lab.Undecided,
			"undecided: within the bias of 20 % that a twin shows"},
		{"from within the bias to beyond", 1.08, 1.32, lab.Slower, "slower by 8 % to 32 %"},
		{"beyond the bias", 1.28, 1.32, lab.Slower, "slower by at least 28 %"},
		{"within the margin", 0.98, 1.02, lab.Equivalent, "equivalent within 20 %"},
		{"around 1, hidden by the bias", 0.93, 1.25, lab.Undecided,
			"undecided: hidden by the bias of 20 % that a twin shows"},
		{"around 1, beyond half the bias", 0.95, 1.3, lab.Undecided, "undecided: about 7 more blocks needed"},
		{"around 1, within the bias", 0.9, 1.1, lab.Undecided,
			"undecided: within the bias of 20 % that a twin shows"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Judge(Estimate{math.Sqrt(test.low * test.high), test.low, test.high, 5}, gates,
				Wording{"slower", "faster"})
			if got.Kind != test.kind || got.Words != test.words {
				t.Errorf("Judge = %s, %q; want %s, %q", got.Kind, got.Words, test.kind, test.words)
			}
		})
	}
}
