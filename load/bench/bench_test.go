//go:build linux

package main

import (
	"strings"
	"testing"
)

// TestFlagsThatLeaveNothingToMeasure are refused before anything is built.
func TestFlagsThatLeaveNothingToMeasure(t *testing.T) {
	for flag, want := range map[string]string{
		"-rounds 0":    "-rounds is 0",
		"-searches -1": "-searches is -1",
		"-length 0s":   "-length is 0s: give 2s or more",
		"-memory 5s":   "-memory is 5s: give 6s or more",
		"-only x":      `scene "x" is unknown`,
		"-tools x":     `tool "x" is unknown`,
		"more":         `"more" is no flag`,
	} {
		var p plan
		if _, err := p.read(strings.Fields(flag)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", flag, err, want)
		}
	}
	for _, flag := range []string{"", "-quick"} {
		var p plan
		if _, err := p.read(strings.Fields(flag)); err != nil {
			t.Errorf("flags %q: %v", flag, err)
		}
	}
}
