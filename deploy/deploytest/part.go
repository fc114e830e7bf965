package deploytest

import "os"

// EndsAtOnce is the environment variable without which a program under the race detector sleeps a second
// before it ends.
const EndsAtOnce = "GORACE=atexit_sleep_ms=0"

// Part returns the command that starts this test program as a part of a deployer, such as the janitor; its
// TestMain plays it. Deployers start these parts without the environment of the tests.
func Part(name string) []string {
	own, err := os.Executable()
	if err != nil {
		panic(err) // cannot happen: /proc is there
	}
	return []string{"/usr/bin/env", EndsAtOnce, own, name}
}
