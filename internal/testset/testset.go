// Package testset selects the tests that run: those of `make test`, which need only Go; also those of
// `make test-all`; or also those of `make test-cluster`. Expensive tests call it, and are skipped with the
// reason if they are not selected.
//
// The selection is an environment variable, because Go's test cache records the variables that a test reads:
// after `make test`, `make test-all` runs again only the packages that read it.
//
// Entry points: Need, NeedClusters, All.
package testset

import (
	"os"
	"testing"
)

// variable is the name of that variable: its value is "all", or "clusters" for all tests and those with
// clusters.
const variable = "CLEAVE_TESTS"

// All reports whether tests may start servers, containers and browsers, and may take long.
func All() bool {
	set := os.Getenv(variable)
	return set == "all" || set == "clusters"
}

// Need skips a test that does not belong to `make test`. why is its need, or its duration, for the message.
func Need(t testing.TB, why string) {
	t.Helper()
	if !All() {
		t.Skipf("%s: type: make test-all", why)
	}
}

// NeedClusters skips a test that starts a cluster, unless such tests are selected.
func NeedClusters(t testing.TB) {
	t.Helper()
	if os.Getenv(variable) != "clusters" {
		t.Skip("it brings up a cluster: type: make test-cluster")
	}
}
