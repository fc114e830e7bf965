package study_test

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

func TestReplicasAndLimitsOfVariants(t *testing.T) {
	with := func(more string) []byte {
		return []byte(strings.Replace(string(kioskStudy("")), "b: {architecture: stand,", "b: {architecture: stand, "+more+",", 1))
	}
	text := with("replicas: {till: 2}, limits: {all: {cpu: 0.2}, till: {cpu: 0.5, memory: 64MiB}}")
	file, err := study.Parse("kiosk.yaml", text, kiosk())
	if err != nil {
		t.Fatal(err)
	}
	b, _ := file.Study.Variant("b")
	if b.Replicas["till"] != 2 || b.Limits[lab.AllUnits].CPU != 0.2 || b.Limits["till"] != (lab.Limits{CPU: 0.5, Memory: 64 << 20}) {
		t.Errorf("replicas %v, limits %v", b.Replicas, b.Limits)
	}
	if want := "on a corner; 2 x till; all: 0.2 processors; till: 0.5 processors, 64 MiB"; b.Summary != want {
		t.Errorf("its summary is %q, want %q", b.Summary, want)
	}
	for more, want := range map[string]string{
		"replicas: {till: 0}":            "replicas of till is \"0\", expected a whole number from 1 to 20",
		"replicas: {till: many}":         `replicas of till is "many"`,
		"limits: {till: {cpu: lots}}":    `cpu is "lots", expected a number`,
		"limits: {till: {memory: much}}": `memory is "much", expected bytes such as 64MiB`,
		"limits: {till: {disk: 1}}":      "disk",
	} {
		if _, err := study.Parse("kiosk.yaml", with(more), kiosk()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", more, err, want)
		}
	}
}
