package yamlfile

import "fmt"

// farthest is how many letters a misspelt word may differ in. More than two make
// another word.
const farthest = 2

// Suggest names the known word that the writer may have meant, ready to stand
// behind the unknown one in a message: the first of those that differ in the
// fewest letters; "" where none is near. Swapped neighbours are one slip.
func Suggest(word string, known []string) string {
	best, least := "", farthest+1
	for _, candidate := range known {
		if d := editDistance(word, candidate, farthest); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance is Levenshtein's distance, in which a swap of neighbours counts as
// one change; where it is above most, any number above most. The effort grows with
// the length of the shorter word, not with the product of both: the words come from
// files, and a hostile one has long ones.
func editDistance(a, b string, most int) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case most <= 0:
		return 1
	}
	d := 1 + min(
		editDistance(a[1:], b, most-1),
		editDistance(a, b[1:], most-1),
		editDistance(a[1:], b[1:], most-1),
	)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		d = min(d, 1+editDistance(a[2:], b[2:], most-1))
	}
	return d
}
