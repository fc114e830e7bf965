package deploytest

import (
	"strings"
	"testing"
)

// NoError fails the test if there is an error, and lets it go on.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Says fails the test unless an error contains all of these words.
func Says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want it to say %q", err, word)
		}
	}
}
