package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestProgressOfALoadIsForProgramsToo: load has the forms of --progress that other commands have.
func TestProgressOfALoadIsForProgramsToo(t *testing.T) {
	code, out, errOut := load(t, startWeb(t), "-r", "50", "-d", "1s", "--progress", "json")
	if code != exitFine && code != exitLoadNotReached { // a busy host makes the client late
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	first, _, _ := strings.Cut(errOut, "\n")
	var line secondLine
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Event != "second" || line.Sent <= 0 ||
		line.Due <= 0 || line.P50 == nil || line.Errors == nil {
		t.Errorf("%q: %+v, %v", first, line, err)
	}
	_, _, errOut = load(t, startWeb(t), "-r", "50", "-d", "1s", "--progress", "none")
	if strings.Contains(errOut, "p50") {
		t.Errorf("none: %q", errOut)
	}
}
