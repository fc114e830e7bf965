package deploytest

import "os"

// EndsAtOnce is the environment variable that spares a program under the race detector the second that it
// waits, otherwise, before it ends.
const EndsAtOnce = "GORACE=atexit_sleep_ms=0"

// Part returns the command that has this test program play a part, such as the janitor, by its TestMain.
// Deployers start these parts without the variables of the tests.
func Part(name string) []string {
	own, err := os.Executable()
	if err != nil {
		panic(err) // cannot happen: /proc is there
	}
	return []string{"/usr/bin/env", EndsAtOnce, own, name}
}
