package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/hosts"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// linkedShop is a study of a shop on its own host behind a slow link, with the generator on another host.
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

// playLinked runs a study of a shop behind a slow link, and returns its trial.
func playLinked(t *testing.T, study, deployment string, says ...string) lab.Trial {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"linked.yaml": study})
	// Without gates, since this test must also pass on a busy host.
	expectRun(t, program(dir, "run", "linked.yaml", "--deploy", deployment, "--full", "--no-gates"), exitFine,
		append(says, "1 of 1 trial counted", "Link of host-1 of far: 20ms later, at most 0.5 MB/s."))
	trial := trialsOf(t, filepath.Join(dir, "results"))[0]
	// The probe of a byte takes the delay of 20ms, and somewhat more.
	if took := trial.Measures["service_time_p50"]; !strings.Contains(trial.Links["host-1"], "1 bytes took 2") ||
		took < 0.02 {
		t.Errorf("links %q, and half of the answers took less than %v s", trial.Links, took)
	}
	return trial
}

// TestHostsOfAStudyHaveLinks: links of hosts are tested before the trial, recorded and printed. The
// generator is on its own host.
func TestHostsOfAStudyHaveLinks(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	if err := hosts.Missing(); err != nil {
		t.Skip(err)
	}
	trial := playLinked(t, linkedShop, lab.Process, "Link of load of far: at most 1 MB/s.")
	if !strings.Contains(trial.Links["load"], " from it") {
		t.Errorf("links %q", trial.Links)
	}
}

// onlyTheShop returns linkedShop with the generator on this host.
func onlyTheShop() string {
	return strings.NewReplacer(", generator: load", "", "\n  load: {rate: 1MB}", "").Replace(linkedShop)
}

func TestHostsOfAStudyHaveLinksOnSwarm(t *testing.T) {
	needSwarm(t)
	playLinked(t, onlyTheShop(), lab.Swarm)
}

func TestHostsOfAStudyHaveLinksOnKubernetes(t *testing.T) {
	needKubernetes(t)
	playLinked(t, onlyTheShop(), lab.Kubernetes)
}

// TestLinksAreRefused: deployments whose links Cleave cannot limit refuse a study with links.
func TestLinksAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ args, says string }{
		"containers": {"--deploy docker-host",
			"hosts: the links of host-1, load are not ours to change with the deployment docker-host: use process, " +
				"or the private swarm or kubernetes"},
		"hosts by SSH": {"--deploy ssh --hosts 127.0.0.1", "not ours to change with the deployment ssh"},
		"a cluster of yours": {"--deploy kubernetes --context theirs",
			"the links of the nodes of theirs are not ours to change: use the private cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := "{current-context: theirs, contexts: [{name: theirs, context: {cluster: c, user: u}}], " +
				"clusters: [{name: c, cluster: {server: \"https://127.0.0.1:1\"}}], users: [{name: u}]}"
			writeFiles(t, dir, map[string]string{"linked.yaml": linkedShop, "config": config})
			command := program(dir, append([]string{"run", "linked.yaml"}, strings.Fields(c.args)...)...)
			expectRun(t, with(command, "KUBECONFIG="+filepath.Join(dir, "config")), exitBadPlan, []string{c.says})
		})
	}
}
