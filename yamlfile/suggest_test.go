package yamlfile

import (
	"fmt"
	"strings"
	"testing"
)

func TestSuggest(t *testing.T) {
	known := []string{"rate", "ramp", "steps", "users"}
	cases := []struct {
		word string
		want string // "" for none
	}{
		{"rates", "rate"},
		{"rte", "rate"},
		{"stops", "steps"},
		{"sepst", "steps"},
		{"raet", "rate"},
		{"suers", "users"},
		{"ra", "rate"},
		{"r", ""},
		{"baseline", ""},
		{"", ""},
	}
	for _, c := range cases {
		want := ""
		if c.want != "" {
			want = fmt.Sprintf(" (did you mean %q?)", c.want)
		}
		if got := Suggest(c.word, known); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", c.word, got, want)
		}
	}
}

// TestLongWordsAreCheap would run out of memory if the cost of Suggest grew with the
// product of the lengths.
func TestLongWordsAreCheap(t *testing.T) {
	long := strings.Repeat("a", 2<<20)
	if got := Suggest(long+"b", []string{"name", strings.Repeat("ab", 1<<20), long}); len(got) != len(long)+
		len(` (did you mean ""?)`) {
		t.Errorf("a suggestion of %d bytes", len(got))
	}
}

// TestEditDistance compares editDistance with the table that defines the distance,
// for all pairs of words of up to five letters from an alphabet of three.
func TestEditDistance(t *testing.T) {
	words := []string{""}
	for i := 0; len(words[i]) < 5; i++ {
		words = append(words, words[i]+"a", words[i]+"b", words[i]+"c")
	}
	for _, a := range words {
		for _, b := range words {
			want := min(distanceByTable(a, b), farthest+1)
			if got := min(editDistance(a, b, farthest), farthest+1); got != want {
				t.Fatalf("editDistance(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

// distanceByTable computes the distances of all prefixes in a table (Wagner and
// Fischer 1974; with swaps, Lowrance and Wagner 1975, restricted to neighbours).
func distanceByTable(a, b string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			if i == 0 || j == 0 {
				table[i][j] = i + j
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			table[i][j] = min(table[i-1][j]+1, table[i][j-1]+1, table[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}
