package main

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
)

// bigInContainers compares deployments, and has units that share sockets and memory.
const bigInContainers = `
schema: cleave-study/1
name: big-containers
title: processes in containers and without
system: big
baseline: uds
variants:
  uds: {architecture: uds}
  uds-in-containers: {architecture: uds, deployment: docker-host}
  shm-in-containers: {architecture: shm, deployment: docker-host}
  threads-in-one: {architecture: threads, deployment: docker-bridge}
points:
  p: {neighbourhoods: 1, workers: 3, pings: 100}
design: {blocks: 1, noise_floor: [], gates: {steal: 99%, calibration: 99%}}
`

// TestTheSameRunsInContainers: with --deploy, the layouts that run as processes run as
// containers, with the same audit. Nothing is left of them.
func TestTheSameRunsInContainers(t *testing.T) {
	t.Parallel()
	dockertest.Shared(t)
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"big.yaml": bigInContainers})
	for _, c := range []commandCase{
		{"bridge", "check shop --architecture monolith-ha,sync --operations 100 --deploy docker-bridge", exitFine,
			[]string{"monolith-ha   valid", "sync          valid"}},
		{"host", "check shop --architecture async --operations 100 --deploy docker-host", exitFine,
			[]string{"async         valid"}},
		{"a server on a bridge", "check shop --architecture async --operations 100 --deploy docker-bridge " +
			"--fault pause:broker+300ms --fault cut:payments+300ms",
			exitFine, []string{"async         valid", "2 of 2"}},
		{"a user's server that a bridge does not reach",
			"check shop --architecture monolith --backing mariadb --deploy docker-bridge", exitMissingPart,
			[]string{"database (mariadb) listens on this host's loopback", "docker-host"}},
		{"services on a bridge", "check people --architecture services --operations 200 --deploy docker-bridge",
			exitFine, []string{"services      valid    200"}},
		{"two hosts", "check people --operations 200 --deploy docker-host", exitFine,
			[]string{"monolith            valid    200", "services            valid    200",
				"services-two-hosts  valid    200"}},
		{"a factor", "run big.yaml", exitFine, []string{"4 of 4 trials counted"}},
		{"no such deployment", "run big.yaml --deploy moon", exitBadPlan,
			[]string{`there is no deployment "moon"`, "docker-bridge"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := program(dir, strings.Fields(c.args)...)
			if strings.HasPrefix(c.name, "a user's server") {
				command = with(command, "CLEAVE_USE_MARIADB=mariadb://u:p@127.0.0.1:9")
			}
			expectRun(t, command, c.code, c.says)
			expectNoContainers(t)
		})
	}
}
