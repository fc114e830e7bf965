package study

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
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

// generators returns the generators of the fractional design for a number of factors. The design has all
// combinations of the first factors; the level of each further factor is the product of the levels in its
// generator. Up to three factors the design is full and has none. The design for six factors is a quarter: 16
// runs in place of the 32 of a half.
//
// Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 5.3.3.4.7 (after Box,
// Hunter and Hunter), https://www.itl.nist.gov/div898/handbook/pri/section3/pri3347.htm.
func generators(factors int) []word {
	switch factors {
	case 4:
		return []word{0b0111} // D = ABC
	case 5:
		return []word{0b01111} // E = ABCD
	case 6:
		return []word{0b000111, 0b001110} // E = ABC, F = BCD
	}
	return nil
}

// Factorial returns the two-level design for two to six factors. The first run is called base and has every
// factor at its low level; the others are named after the factors that they have at the high one, or after
// their letters if that would be too long.
//
// Generators of an even number of factors get a minus sign. This chooses, among the fractions with the same
// aliases, the one that contains the first run (section 5.3.3.4.3 of the same handbook).
func Factorial(base string, factors []lab.Factor) (lab.Factorial, error) {
	n := len(factors)
	if n < LeastFactors || n > MostFactors {
		return lab.Factorial{}, fmt.Errorf("expected %d to %d factors, not %d", LeastFactors, MostFactors, n)
	}
	made := generators(n)
	basic := n - len(made)
	d := lab.Factorial{Notation: fmt.Sprintf("2^%d", n), Factors: factors}
	words := definingWords(basic, made)
	if len(made) > 0 {
		d.Notation = fmt.Sprintf("2^(%d-%d)", n, len(made))
		d.Resolution = bits.OnesCount(uint(words[0]))
		for i, w := range made {
			d.Generators = append(d.Generators, letters(1<<(basic+i))+" = "+sign(w.isEven())+letters(w))
		}
		d.Relation = "I"
		for _, w := range words { // signed so that the first run, with all levels low, is in the design
			d.Relation += " = " + sign(!w.isEven()) + letters(w)
		}
	}
	for levels := range word(1) << basic {
		for i, w := range made {
			if w.high(levels) {
				levels |= 1 << (basic + i)
			}
		}
		d.Runs = append(d.Runs, runOf(base, factors, levels))
	}
	d.Effects = effectGroups(factors, words)
	return d, nil
}

// isEven reports whether a word has an even number of factors: as a generator it then has a minus sign.
func (w word) isEven() bool { return bits.OnesCount(uint(w))%2 == 0 }

// sign returns "-" or "".
func sign(minus bool) string {
	if minus {
		return "-"
	}
	return ""
}

// high reports whether a generator gives the high level. levels has the bits of the factors at their high
// level. Without the minus sign, the product is high if an even number of its factors is low.
func (w word) high(levels word) bool { return (w &^ levels).isEven() != w.isEven() }

// definingWords returns the words whose products are the same in all runs, the shortest first: each generator
// times the factor that it sets, and all products of these. basic is the number of factors without a
// generator.
func definingWords(basic int, made []word) []word {
	words := []word{}
	for subset := word(1); subset < 1<<len(made); subset++ {
		product := word(0)
		for i, w := range made {
			if subset&(1<<i) != 0 {
				product ^= w | 1<<(basic+i)
			}
		}
		words = append(words, product)
	}
	slices.SortStableFunc(words, func(a, b word) int {
		return bits.OnesCount(uint(a)) - bits.OnesCount(uint(b))
	})
	return words
}

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
