// Package testset selects the tests that run. There are three sets, each of which includes the one before:
// `make test`, whose tests need only Go, `make test-all` and `make test-cluster`. Tests that do not belong to
// `make test` call Need or NeedClusters, which skip them if they are not selected.
//
// The selection is an environment variable, because Go's test cache records the variables that a test reads:
// after `make test`, `make test-all` runs again only the packages that read it.
//
// The package also has helpers for tests: Must, Headless, TakeDescriptors, CallWithoutDescriptors.
//
// Entry points: Need, NeedClusters, All; Must.
package testset

import (
	"os"
	"testing"
)

// variable is the name of the environment variable. Its value is "all" for `make test-all`, "clusters" for
// `make test-cluster`, and empty for `make test`.
const variable = "CLEAVE_TESTS"

// All reports whether tests may start servers, containers and browsers, and may take long.
func All() bool {
	set := os.Getenv(variable)
	return set == "all" || set == "clusters"
}

// Need skips a test that does not belong to `make test`, unless such tests are selected. why is the reason
// for the message: what the test needs, or how long it takes.
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

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
