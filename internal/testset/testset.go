// Package testset selects the tests that run: those of `make test`, which need nothing but Go, those of
// `make test-all`, or also those of `make test-cluster`. Expensive tests call it, and it skips them with the
// reason.
//
// The selection is in an environment variable, since Go's cache of test results knows which variables a test
// has read: after `make test`, `make test-all` repeats only the packages that read it.
//
// Entry points: Need, NeedClusters, All.
package testset

import (
	"os"
	"testing"
)

// variable is "all", or "clusters" for those with clusters, too.
const variable = "CLEAVE_TESTS"

// All reports whether tests may start servers, containers and browsers, and take long.
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

// NeedClusters skips a test that brings up a cluster, unless those are asked for.
func NeedClusters(t testing.TB) {
	t.Helper()
	if os.Getenv(variable) != "clusters" {
		t.Skip("it brings up a cluster: type: make test-cluster")
	}
}
