package study_test

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

func TestReplicasLimitsAndNetworkOfVariants(t *testing.T) {
	with := func(more string) []byte {
		return []byte(strings.Replace(string(kioskStudy("")), "b: {architecture: stand,",
			"b: {architecture: stand, "+more+",", 1))
	}
	text := with("replicas: {till: 2}, limits: {all: {cpu: 0.2}, till: {cpu: 0.5, memory: 64MiB}}, network: " +
		"{delay: 2ms, rate: 10MB}")
	file := parsed(t, text, kiosk())
	b, _ := resolved(t, file, study.Options{}).Variant("b")
	if b.Replicas["till"] != 2 || b.Limits[lab.AllUnits].CPU != 0.2 ||
		b.Limits["till"] != (lab.Limits{CPU: 0.5, Memory: 64 << 20}) ||
		b.Network != (lab.Network{Delay: 0.002, Rate: 1e7}) {
		t.Errorf("replicas %v, limits %v, network %v", b.Replicas, b.Limits, b.Network)
	}
	if want := "on a corner; 2 x till; all: 0.2 processors; till: 0.5 processors, 64 MiB; network before it: " +
		"2ms later, at most 10 MB/s"; b.Summary != want {
		t.Errorf("its summary is %q, want %q", b.Summary, want)
	}
	for more, want := range map[string]string{
		"replicas: {till: 0}":            "variants.b.replicas.till is 0, expected a number from 1 to 20",
		"replicas: {till: many}":         `variants.b.replicas.till is "many"`,
		"limits: {till: {cpu: lots}}":    `cpu is "lots", expected a number`,
		"limits: {till: {memory: much}}": `memory is "much", expected bytes such as 64MiB`,
		"limits: {till: {disk: 1}}":      "disk",
		"network: {rate: fast}":          `rate is "fast", expected bytes per second`,
		"network: {loss: 1%}":            "loss",
	} {
		if _, err := study.Parse("kiosk.yaml", with(more), kiosk()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", more, err, want)
		}
	}
}

func TestSettingsOfOneDeployment(t *testing.T) {
	text := strings.Replace(string(kioskStudy("")), "b: {architecture: stand,",
		`b: {architecture: stand, limits: {all: {cpu: 1}}, nodes: {door: yard},
    deployed: {swarm: {replicas: {till: 2}, limits: {till: {cpu: 0.5}}, nodes: {till: street}}},`, 1)
	text = strings.Replace(text, "variants:\n",
		"variants:\n  far: {architecture: stand, only: [swarm, kubernetes]}\n", 1)
	file := parsed(t, []byte(text), kiosk())
	here := resolved(t, file, study.Options{})
	b, _ := here.Variant("b")
	if len(b.Replicas) != 0 || len(b.Limits) != 1 || len(b.Nodes) != 1 || b.Nodes["door"] != "yard" {
		t.Errorf("as processes: replicas %v, limits %v, nodes %v", b.Replicas, b.Limits, b.Nodes)
	}
	if a := here.Absent; len(a) != 2 || a[1].Name != "far" || !a[1].Unasked ||
		a[1].Reason != "it is played with --deploy swarm or kubernetes only" {
		t.Errorf("as processes %+v are left out, want c, which cannot be, and far", a)
	}
	there := resolved(t, file, study.Options{Deployment: lab.Swarm})
	b, _ = there.Variant("b")
	if b.Replicas["till"] != 2 || b.Limits["till"].CPU != 0.5 || b.Limits[lab.AllUnits].CPU != 1 ||
		b.Nodes["till"] != "street" || b.Nodes["door"] != "yard" {
		t.Errorf("on a swarm: replicas %v, limits %v, nodes %v", b.Replicas, b.Limits, b.Nodes)
	}
	const scaling = "2 x till; all: 1 processors; till: 0.5 processors; door on yard; till on street"
	if want := "on a corner; " + scaling; b.Summary != want {
		t.Errorf("its summary is %q, want %q", b.Summary, want)
	}
	described := strings.Replace(text, "b: {", "b: {summary: two doors, ", 1)
	s := resolved(t, parsed(t, []byte(described), kiosk()), study.Options{Deployment: lab.Swarm})
	if b, _ = s.Variant("b"); b.Summary != "two doors; on swarm: "+scaling {
		t.Errorf("with a summary of its own it is %q", b.Summary)
	}
	if _, far := there.Variant("far"); !far || len(there.Absent) != 1 {
		t.Errorf("on a swarm %+v are left out", there.Absent)
	}
	for right, wrong := range map[string]string{
		"only: [swarm,":  "only: [swam,",
		"{swarm: ":       "{moon: ",
		"nodes: {till: ": "nodes: {till: ../",
		"{door: yard}":   "{door: UP}",
	} {
		if _, err := study.Parse("kiosk.yaml", []byte(strings.Replace(text, right, wrong, 1)),
			kiosk()); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
