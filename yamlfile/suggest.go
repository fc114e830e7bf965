package yamlfile

import "fmt"

// farthest is the largest number of changed letters of a misspelt word. With more it is taken for another
// word.
const farthest = 2

// Suggest returns a hint for a message about an unknown word, such as ` (did you mean "rate"?)`: the first of
// the known words that differ in the fewest letters. It returns "" if all differ in more than farthest. Two
// swapped neighbours count as one difference.
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

// editDistance returns Levenshtein's distance, with a swap of neighbours as one change. If it is above most,
// the result is any number above most. The time grows with the length of the shorter word, not with the
// product of both lengths: words come from files, and hostile files may have long ones.
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
	isSwapped := len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0]
	if isSwapped {
		d = min(d, 1+editDistance(a[2:], b[2:], most-1))
	}
	return d
}
