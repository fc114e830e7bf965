package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/lab"
)

// playedTrials holds attempts at trials by the names of their variants.
type playedTrials map[string][]lab.Trial

// of returns the trials of a variant. It fails the test if there are none.
func (p playedTrials) of(t *testing.T, variant string) []lab.Trial {
	t.Helper()
	if len(p[variant]) == 0 {
		t.Errorf("%s was not played", variant)
	}
	return p[variant]
}

// playedComparison runs `cleave compare` with a small load, and returns its trials.
func playedComparison(t *testing.T, dir string, args ...string) playedTrials {
	t.Helper()
	args = append([]string{"compare", "--rate", "50", "-d", "1s", "--warm-up", "100ms", "--blocks", "1",
		"--no-gates", "--cores", "none"}, args...)
	if code, printed := finish(t, program(dir, args...)); code != exitFine && code != exitLoadNotReached {
		t.Fatalf("exit code %d\n%s", code, printed)
	}
	played := playedTrials{}
	for _, trial := range trialsOf(t, filepath.Join(dir, "results")) {
		played[trial.Variant] = append(played[trial.Variant], trial)
	}
	return played
}

// expectAnswered checks that each of these variants has trials, and that its system answered in all of them
// and was metered.
func expectAnswered(t *testing.T, played playedTrials, variants ...string) {
	t.Helper()
	for _, name := range variants {
		for _, trial := range played.of(t, name) {
			system := trial.Metered.Roles["system"]
			if trial.Audit.Counts["ok"] == 0 || system.Units != 1 || system.CPUSeconds == 0 ||
				system.PeakMemoryBytes < 1<<20 {
				t.Errorf("%s: %s, audit %+v, metered %+v", name, trial.Reason, trial.Audit, system)
			}
		}
	}
}

// TestACommandIsComparedWithItselfInContainers: in containers the command has its program and its
// folder, to which it can write.
func TestACommandIsComparedWithItselfInContainers(t *testing.T) {
	t.Parallel()
	dockertest.Shared(t)
	dir := serverFolder(t)
	script := "#!/bin/sh\necho \"$(readlink /proc/self/ns/mnt) $CLEAVE_ADDRESS\" >>begun\nexec ./server \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "begin"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	played := playedComparison(t, dir, "web=./begin -host {host} -port {port}", "--deploy",
		"process,docker-host,docker-bridge")
	expectAnswered(t, played, "web-process", "web-process.twin", "web-docker-host", "web-docker-bridge")
	begun, err := os.ReadFile(filepath.Join(dir, "begun"))
	here, failed := os.Readlink("/proc/self/ns/mnt")
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	var places []string
	for line := range strings.Lines(string(begun)) {
		mounts, address, _ := strings.Cut(line, " ")
		network, _, _ := strings.Cut(address, ".")
		places = append(places, fmt.Sprintf("contained %t, network %s", mounts != here, network))
	}
	slices.Sort(places)
	if want := []string{"contained false, network 127", "contained true, network 127",
		"contained true, network 198"}; !slices.Equal(slices.Compact(places), want) {
		t.Errorf("it ran %q, want %q", places, want)
	}
	expectNoContainers(t)
}

// systemServer returns the command of a web server below /usr, which the hosts of sshHosts have, too.
func systemServer(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("there is no /usr/bin/python3 here: type: apt-get install python3")
	}
	return "/usr/bin/python3 -m http.server --bind {host} {port}"
}

// TestACommandRunsOnAHostBySSH compares a command on a host by SSH with the same command as a process of this
// host.
func TestACommandRunsOnAHostBySSH(t *testing.T) {
	server := systemServer(t)
	h := sshHosts(t)
	played := playedComparison(t, t.TempDir(), "web="+server, "--deploy", "process,ssh", "--hosts", "left")
	expectAnswered(t, played, "web-process", "web-ssh")
	if nodes := played["web-ssh"][0].Metered.Nodes; len(nodes) != 1 {
		t.Errorf("the nodes of web-ssh are %+v", nodes)
	}
	h.AwaitNothing(t, patience)
}

// TestDeployedComparisonsAreRefused: impossible deployments of a comparison are refused before anything
// starts.
func TestDeployedComparisonsAreRefused(t *testing.T) {
	folder := serverFolder(t)
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"a URL", []string{"http://127.0.0.1:9", "b=sleep {port}", "--deploy", "docker-host"}, exitBadPlan,
			[]string{"system 127.0.0.1-9 with --deploy docker-host", "its owner"}},
		{"one deployment", []string{"b=sleep {port}", "--deploy", "docker-host"}, exitBadPlan,
			[]string{"at least two systems, or one in two deployments"}},
		{"one deployment twice", []string{"b=sleep {port}", "--deploy", "process,process"}, exitBadPlan,
			[]string{"two systems are called b-process"}},
		{"a long name", []string{strings.Repeat("b", 60) + "=sleep {port}", "--deploy", "process,ssh"}, exitBadPlan,
			[]string{"is too long"}},
		{"a program that no container has", []string{"b=" + folder + "/server -port {port}", "--deploy",
			"process,docker-host"}, exitMissingPart,
			[]string{folder + "/server is not below /usr"}},
		{"no hosts", []string{"b=sleep {port}", "--deploy", "process,ssh"}, exitMissingPart, []string{"--hosts"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := program(t.TempDir(), append([]string{"compare", "--rate", "10"}, c.args...)...)
			expectRun(t, command, c.code, c.says)
		})
	}
}
