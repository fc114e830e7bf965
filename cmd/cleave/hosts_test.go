package main

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/ssh/sshtest"
	"github.com/cleave-lab/cleave/lab"
)

// sshHosts starts two hosts that can be reached by ssh.
func sshHosts(t *testing.T) *sshtest.Hosts {
	t.Helper()
	own, err := launch.Own()
	if err != nil {
		t.Fatal(err)
	}
	h := sshtest.New(t, own.String(), "left", "right")
	h.Use(t)
	return h
}

// TestTheSameRunsOnHostsBySSH: with --deploy ssh and --hosts, the same checks run on hosts, with
// the same audit, even if a unit there is killed.
func TestTheSameRunsOnHostsBySSH(t *testing.T) {
	needServers(t, server.MariaDB, server.Cassandra)
	h := sshHosts(t)
	for _, c := range []commandCase{
		{"a unit is killed", "check shop --architecture sync --backing mariadb --operations 300 --deploy ssh " +
			"--hosts left,right --fault kill:inventory", exitFine,
			[]string{"sync          valid", "1 of 1"}},
		{"two hosts", "check people --architecture services-two-hosts --operations 200 --backing cassandra " +
			"--deploy ssh --hosts left,right", exitFine,
			[]string{"services-two-hosts  valid    200"}},
		{"files of this host", "check shop --architecture sync --deploy ssh --hosts left,right", exitMissingPart,
			[]string{"--backing"}},
		{"no hosts", "check shop --architecture sync --deploy ssh --backing mariadb", exitMissingPart,
			[]string{"--hosts user@a,user@b"}},
		{"an empty name", "check shop --architecture sync --deploy ssh --hosts left,,right", exitBadPlan,
			[]string{`"" is no host`}},
		{"no such host", "check people --architecture services --backing cassandra --deploy ssh " +
			"--hosts nowhere.invalid", exitBadPlan,
			[]string{"the host nowhere.invalid: looking up", "check the name"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			expectRun(t, program(t.TempDir(), strings.Fields(c.args)...), c.code, c.says)
			h.AwaitNothing(t, time.Second)
		})
	}
}

// TestCleanRemovesWhatIsLeftOnHostsBySSH kills the processes on a host that would have cleaned up there. Then
// only clean can do it.
func TestCleanRemovesWhatIsLeftOnHostsBySSH(t *testing.T) {
	h := sshHosts(t)
	folder := t.TempDir() // mounted only for the host: it is not visible here
	if err := h.Hosts()[0].Run(t.Context(), "mount", "-t", "tmpfs", "tmpfs", folder); err != nil {
		t.Fatal(err)
	}
	h.AddHost(t, "apart", "HostName "+h.Hosts()[0].Address, "SetEnv TMPDIR="+folder)
	conductor := program(t.TempDir(), "check", "shop", "--architecture", "sync", "--backing", "mariadb",
		"--deploy", "ssh", "--hosts", "apart")
	if err := conductor.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "an agent runs",
		func() bool { return strings.Contains(strings.Join(h.Commands(), "\n"), " sweeper ") })
	for _, name := range []string{" sweeper ", " serve "} {
		if err := h.Hosts()[0].Run(t.Context(), "sh", "-c", "kill -9 $(pgrep -f '[a]gent"+name+"')"); err != nil {
			t.Fatal(err)
		}
	}
	_ = conductor.Wait() // fails, because it has lost the host
	expectRun(t, with(program("", "clean"), ssh.Variable+"=apart"), exitFine, []string{" on apart"})
	h.AwaitNothing(t, 10*time.Second)
}

// TestLoadOnHostsBySSHNeedsConsent: hosts need consent unless they are this one or were started by us.
func TestLoadOnHostsBySSHNeedsConsent(t *testing.T) {
	h := sshHosts(t)
	h.AddHost(t, "theirs", "HostName 203.0.113.7")
	plan := lab.Plan{Study: lab.Study{Variants: []lab.Variant{{Deployment: lab.SSH}},
		Points: []lab.Point{{Name: "p", Levels: map[string]float64{lab.FactorRate: 50}}}}}
	t.Setenv(ssh.Variable, "left,right")
	if err := admit(t.Context(), plan, lab.SSH); err != nil {
		t.Errorf("hosts that we made: %v", err)
	}
	t.Setenv(ssh.Variable, "left,theirs")
	if err := admit(t.Context(), plan, lab.SSH); err == nil || exitCode(err) != exitBadPlan ||
		!strings.Contains(err.Error(), "the host theirs: no load on \"203.0.113.7:22\"") {
		t.Errorf("a host of somebody else: %v", err)
	}
	plan.Study.Variants[0].Deployment = lab.Process
	if err := admit(t.Context(), plan, lab.SSH); err != nil {
		t.Errorf("nothing is deployed there: %v", err)
	}
}
