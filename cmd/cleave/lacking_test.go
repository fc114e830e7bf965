package main

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// TestAMissingStopInTheMiddleIsBridged: if a variant between the ends cannot be played, one step with the
// changes of both steps replaces them. Without one of the ends there is nothing to explain.
func TestAMissingStopInTheMiddleIsBridged(t *testing.T) {
	whole := makePlan(t, "explain", "shop", "--from", "monolith", "--to", "async", "--one-order").Study
	first, last := whole.Steps[0], whole.Steps[len(whole.Steps)-1]
	if len(whole.Steps) < 3 {
		t.Fatalf("there are %d steps, want some with stops between", len(whole.Steps))
	}
	lack := func(name string) []lab.Lack { return []lab.Lack{{Variant: name, Err: errors.New("no part")}} }
	for i, step := range whole.Steps[:len(whole.Steps)-1] {
		left := study.Without(whole, lack(step.Variant))
		if err := checkLeft(whole, left); err != nil {
			t.Errorf("without %s: %v", step.Variant, err)
		}
		bridge, next := left.Steps[i], whole.Steps[i+1]
		if len(left.Steps) != len(whole.Steps)-1 || bridge.Before != step.Before ||
			bridge.Variant != next.Variant || len(bridge.Changes) < max(len(step.Changes), len(next.Changes)) {
			t.Errorf("without %s the steps are %+v", step.Variant, left.Steps)
		}
		if !slices.Contains(left.Notes, step.Variant+": untestable here: no part") {
			t.Errorf("without %s the notes are %q", step.Variant, left.Notes)
		}
		plan, err := study.Expand(left, "full", time.Now())
		if err == nil {
			err = checkStored(plan)
		}
		if err != nil {
			t.Errorf("the plan without %s: %v", step.Variant, err)
		}
	}
	for _, end := range []string{first.Before, last.Variant} {
		if err := checkLeft(whole, study.Without(whole, lack(end))); err == nil {
			t.Errorf("without the end %s there is an explanation", end)
		}
	}
}

// TestADesignNeedsAllOfItsRuns: the effects cannot be estimated from a part of the runs.
func TestADesignNeedsAllOfItsRuns(t *testing.T) {
	whole := makePlan(t, "explain", "shop", "--factors", "logging,spans=off").Study
	if err := checkLeft(whole, whole); err != nil {
		t.Errorf("with all runs: %v", err)
	}
	for _, run := range whole.Factorial.Runs {
		lack := []lab.Lack{{Variant: run.Variant, Err: errors.New("no part")}}
		if err := checkLeft(whole, study.Without(whole, lack)); err == nil {
			t.Errorf("without %s the design is played", run.Variant)
		}
	}
}

// TestDoctorAsksForConsent: of a study on a cluster of somebody else, doctor examines the cluster only with
// the consent of its owner, as run does. Without it, doctor lists the consent with what else is missing, also
// for the same variant.
func TestDoctorAsksForConsent(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"there.yaml": `schema: cleave-study/1
name: there
title: A study on a cluster of somebody else
system: people
baseline: services
variants:
  services: {architecture: services, deployment: kubernetes, knobs: {store: cassandra}}
  contained: {architecture: services, deployment: docker-bridge}
  here: {architecture: services, deployment: process}
points:
  p: {rate: 10}
load: {duration: 1s}
design: {blocks: 1, noise_floor: []}
`,
		"config": `{current-context: theirs, contexts: [{name: theirs, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "https://203.0.113.7:6443"}}], users: [{name: u}]}`,
	})
	command := with(program(dir, "doctor", "there.yaml"), kubernetes.ContextVariable+"=theirs",
		kubernetes.ConfigVariable+"="+filepath.Join(dir, "config"), "DOCKER_HOST=unix:///nowhere",
		"XDG_CACHE_HOME="+dir)
	expectRun(t, command, exitMissingPart, []string{"there: 1 of 3 variants can be played here",
		`services: untestable here: the cluster theirs: no load on "203.0.113.7:6443"`,
		"services: untestable here: cassandra", "contained: untestable here: containers need Docker"})
}
