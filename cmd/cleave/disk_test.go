package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cleave-lab/cleave/deploy/gluster"
	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// mountsIn returns the mount points below a folder.
func mountsIn(t *testing.T, folder string) (points []string) {
	t.Helper()
	for point := range mounts(t) {
		if strings.HasPrefix(point, folder+"/") {
			points = append(points, point)
		}
	}
	return points
}

// TestALostBrickCostsNoOrder: a shop on a replicated disk loses a copy of the disk under load, but no order.
func TestALostBrickCostsNoOrder(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	if err := gluster.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	e := &experiment{t: t, dir: t.TempDir()}
	e.start("check", "shop", "--architecture", "async-dfs", "--operations", "60", "--fault", "kill:brick-2",
		"--results", e.dir)
	label := e.label()
	if code := e.code(); code != exitFine {
		t.Fatalf("exit code %d\n%s", code, e.errOut.String())
	}
	awaitNoProcess(t, label)
	trials := trialsOf(t, e.dir)
	if len(trials) != 1 || !trials[0].Valid || len(trials[0].Faults) != 1 || !trials[0].Faults[0].Effective {
		t.Fatalf("trials %+v", trials)
	}
	trial := trials[0]
	if about := trial.Services["database"]; !strings.Contains(about, ", on GlusterFS") ||
		strings.Contains(trial.Services["broker"], "GlusterFS") {
		t.Errorf("on %q, with the broker on %q", about, trial.Services["broker"])
	}
	for _, role := range []string{gluster.Brick, gluster.Client} {
		if used := trial.Metered.Roles[role]; used.CPUSeconds <= 0 {
			t.Errorf("%s has used %+v", role, used)
		}
	}
}

// TestCleanUnmountsAReplicatedDisk kills a conductor with its sweeper and its janitor. Then only clean can
// unmount the disk.
func TestCleanUnmountsAReplicatedDisk(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	if err := gluster.Missing(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	tmp := shortDir(t)
	e := &experiment{t: t, dir: t.TempDir()}
	e.startCommand(with(program("", "check", "shop", "--architecture", "async-dfs", "--operations", "5000",
		"--results", e.dir), "TMPDIR="+tmp))
	label := e.label()
	// Mounts of the disk itself, of the databases and of the documents.
	await(t, "the disk is mounted", func() bool { return len(mountsIn(t, tmp)) == 3 })
	await(t, "the generator runs", func() bool { return len(labelled(label, "--job")) > 0 })
	helpers := slices.DeleteFunc(descendants(t, e.Process.Pid), func(pid int) bool {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return !strings.Contains(string(line), "\x00"+sweeperName+"\x00") &&
			!strings.Contains(string(line), "\x00"+agent.JanitorCommand+"\x00")
	})
	if len(helpers) != 2 {
		t.Fatalf("helpers %v, want a sweeper and a janitor", helpers)
	}
	for _, pid := range append(helpers, e.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = e.Cmd.Wait() // killed
	if points := mountsIn(t, tmp); len(points) != 3 {
		t.Fatalf("mounted are %v: there is nothing to be cleaned", points)
	}
	code, said := runCleave(t, tmp, nil, "clean")
	left, err := os.ReadDir(tmp)
	if code != exitFine || err != nil || len(left) > 0 || len(mountsIn(t, tmp)) > 0 ||
		len(labelled(label, "")) > 0 {
		t.Errorf("clean ended with %d and said %q; left are %v (%v), mounts %v, processes %v", code, said, left,
			err, mountsIn(t, tmp), labelled(label, ""))
	}
}

// TestOnlyProcessesHaveAReplicatedDisk: other deployments refuse a replicated disk before anything starts.
func TestOnlyProcessesHaveAReplicatedDisk(t *testing.T) {
	for _, deployment := range []string{lab.DockerHost, lab.DockerBridge, lab.Swarm, lab.Kubernetes} {
		code, said := runCleave(t, shortDir(t), nil, "check", "shop", "--architecture", "async-dfs", "--deploy",
			deployment, "--results", t.TempDir())
		if want := "disk replicated: the deployment " + deployment +
			" has no replicated disk: deploy with process, or have disk local"; code != exitBadPlan ||
			!strings.Contains(said, want) {
			t.Errorf("%s: it ended with %d and said %q, want %q", deployment, code, said, want)
		}
	}
	code, said := runCleave(t, shortDir(t), []string{"/usr/bin/env", "PATH=" + t.TempDir()}, "check", "shop",
		"--architecture", "async-dfs", "--results", t.TempDir())
	if code != exitMissingPart || !strings.Contains(said, "a replicated disk (GlusterFS) needs") ||
		!strings.Contains(said, "apt-get install") {
		t.Errorf("without GlusterFS it ended with %d and said %q", code, said)
	}
}
