package study

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// The fewest and the most factors of a factorial design.
const (
	LeastFactors = 2
	MostFactors  = 6
)

// word is a set of factors: bit i is factor i. It stands for the product of their levels.
type word uint

// fraction is a fractional design. It has all combinations of the first factors; the level of each further
// factor is the product of the levels in its generator.
type fraction struct {
	generators        []word
	words             []word // whose products are the same in all runs, the shortest first
	written, relation string // the generators, separated by commas, and the defining relation
}

// fractions returns the fractional designs by the number of factors. Up to three factors the design is full.
// The design for six factors is a quarter: 16 runs in place of the 32 of a half.
//
// Generators of an even number of factors have a minus sign. This chooses, among the fractions with the same
// aliases, the one that contains the run with all factors at their low level (section 5.3.3.4.3).
//
// Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 5.3.3.4.7 (after Box,
// Hunter and Hunter), https://www.itl.nist.gov/div898/handbook/pri/section3/pri3347.htm.
func fractions() map[int]fraction {
	return map[int]fraction{
		4: {[]word{0b0111}, []word{0b1111}, "D = ABC", "I = ABCD"},
		5: {[]word{0b01111}, []word{0b11111}, "E = -ABCD", "I = -ABCDE"},
		6: {[]word{0b000111, 0b001110}, []word{0b010111, 0b101110, 0b111001}, "E = ABC, F = BCD",
			"I = ABCE = BCDF = ADEF"},
	}
}

// Factorial returns the two-level design for two to six factors. The first run is called base and has every
// factor at its low level; the others are named after the factors that they have at the high one, or after
// their letters if that would be too long.
func Factorial(base string, factors []lab.Factor) (lab.Factorial, error) {
	n := len(factors)
	if n < LeastFactors || n > MostFactors {
		return lab.Factorial{}, fmt.Errorf("expected %d to %d factors, not %d", LeastFactors, MostFactors, n)
	}
	d := lab.Factorial{Notation: fmt.Sprintf("2^%d", n), Factors: factors}
	f, fractional := fractions()[n]
	basic := n - len(f.generators)
	if fractional {
		d.Notation = fmt.Sprintf("2^(%d-%d)", n, len(f.generators))
		d.Resolution = bits.OnesCount(uint(f.words[0]))
		d.Generators = strings.Split(f.written, ", ")
		d.Relation = f.relation
	}
	for levels := range word(1) << basic {
		for i, w := range f.generators {
			if w.high(levels) {
				levels |= 1 << (basic + i)
			}
		}
		d.Runs = append(d.Runs, runOf(base, factors, levels))
	}
	d.Effects = effectGroups(factors, f.words)
	return d, nil
}

// isEven reports whether a word has an even number of factors: as a generator it then has a minus sign.
func (w word) isEven() bool { return bits.OnesCount(uint(w))%2 == 0 }

// high reports whether a generator gives the high level. levels has the bits of the factors at their high
// level. Without the minus sign, the product is high if an even number of its factors is low.
func (w word) high(levels word) bool { return (w &^ levels).isEven() != w.isEven() }

// letters returns the factors of a word by their letters: "ABD".
func letters(w word) string {
	text := ""
	for i := range MostFactors {
		if w&(1<<i) != 0 {
			text += string(rune('A' + i))
		}
	}
	return text
}

// runOf returns the run in which the factors of levels are at their high level.
func runOf(base string, factors []lab.Factor, levels word) lab.FactorialRun {
	run := lab.FactorialRun{Variant: base}
	for i, factor := range factors {
		high := levels&(1<<i) != 0
		run.High = append(run.High, high)
		if high {
			run.Variant += "-" + strings.ReplaceAll(factor.Knob, "_", "-")
		}
	}
	if len(run.Variant) > yamlfile.MaxName {
		run.Variant = base + "-" + strings.ToLower(letters(levels))
	}
	return run
}

// effectGroups returns the effects of single factors, then those of pairs. Effects that the defining words
// make aliases of each other are in one group.
func effectGroups(factors []lab.Factor, words []word) []lab.FactorialGroup {
	var terms []word
	for i := range factors {
		terms = append(terms, 1<<i)
	}
	for i := range factors {
		for j := i + 1; j < len(factors); j++ {
			terms = append(terms, 1<<i|1<<j)
		}
	}
	var groups []lab.FactorialGroup
	grouped := map[word]int{} // index of the group, by each alias of its first term
	for _, t := range terms {
		at, known := grouped[t]
		if !known {
			at = len(groups)
			groups = append(groups, lab.FactorialGroup{})
			for _, w := range words {
				grouped[t^w] = at
			}
		}
		groups[at].Terms = append(groups[at].Terms, termOf(factors, t))
	}
	return groups
}

// termOf returns the knobs of a word.
func termOf(factors []lab.Factor, w word) lab.Term {
	var term lab.Term
	for i, factor := range factors {
		if w&(1<<i) != 0 {
			term = append(term, factor.Knob)
		}
	}
	return term
}

// checkFactorial refuses a stored design that is not the one that its factors give, and runs that are no
// variants of the study.
func (f *File) checkFactorial(r *yamlfile.Reader) {
	stored := f.Study.Factorial
	if stored == nil {
		return
	}
	design, err := Factorial(f.Study.Baseline, stored.Factors)
	if err != nil || !reflect.DeepEqual(design, *stored) {
		r.Problem(0, "the factorial design of the plan is not the one that its factors make")
		return
	}
	for _, run := range design.Runs {
		if _, found := f.Study.Variant(run.Variant); !found {
			r.Problem(0, "the factorial design has the run %q, which is no variant of the study", run.Variant)
		}
	}
}
