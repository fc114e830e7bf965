package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/lab"
)

// linkedShop is a shop on a host of its own behind a slow link, and a generator on another host.
const linkedShop = `
schema: cleave-study/1
name: linked
title: a shop on a host with a slow link
system: shop
baseline: far
variants:
  far: {architecture: monolith, nodes: {shop: host-1, generator: load}}
points:
  p: {rate: 20}
hosts:
  host-1: {rate: 500KB, delay: 20ms}
  load: {rate: 1MB}
load: {duration: 1s}
design: {blocks: 1, noise_floor: [], max_repeats: 0}
`

// TestHostsOfAStudyHaveLinks that are proven before the trial, kept in its record and printed; the
// generator is on a host of its own.
func TestHostsOfAStudyHaveLinks(t *testing.T) {
	if err := hosts.Missing(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "linked.yaml"), []byte(linkedShop), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := exec.Command(filepath.Join(binaries, "cleave"), "run", "linked.yaml", "--deploy", "docker-host")
	refused.Dir = dir
	expectSaid(t, refused, exitBadPlan, []string{"hosts: the links of host-1, load are not ours to change with the deployment docker-host"})
	command := exec.Command(filepath.Join(binaries, "cleave"), "run", "linked.yaml", "--full", "--no-gates") // what is tested holds on a busy host, too
	command.Dir = dir
	expectSaid(t, command, exitFine, []string{"1 of 1 planned trials counted", "Link of host-1 of far: 20ms later, at most 0.5 MB/s.", "Link of load of far: at most 1 MB/s."})
	paths, err := filepath.Glob(filepath.Join(dir, "results", "linked", "latest", "trials", "*", "trial.json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("trials %q, %v", paths, err)
	}
	var trial lab.Trial
	text, err := os.ReadFile(paths[0])
	if err == nil {
		err = json.Unmarshal(text, &trial)
	}
	if err != nil {
		t.Fatal(err)
	}
	took := trial.Measures["service_time_p50"]
	if !strings.Contains(trial.Links["load"], " from it") || !strings.Contains(trial.Links["host-1"], "1 bytes took 2") || took < 0.02 {
		t.Errorf("links %q, and half of the answers took less than %v s", trial.Links, took)
	}
}
