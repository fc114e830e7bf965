package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// needKubernetes skips the test, with the reason, if this host cannot run a private cluster.
func needKubernetes(t *testing.T) {
	t.Helper()
	testset.NeedClusters(t)
	if err := kubernetes.Missing(); err != nil {
		t.Skip(err)
	}
}

// TestTheSameRunsOnKubernetes: --deploy kubernetes deploys a system on Kubernetes, where it passes the same
// audit, under faults too.
func TestTheSameRunsOnKubernetes(t *testing.T) {
	needKubernetes(t)
	for _, c := range []commandCase{
		{"a pod is killed, a node is cut off and drained, replicas are updated", "check shop " +
			"--architecture sync --operations 500 --backing mariadb --deploy kubernetes --replicas inventory=2 " +
			"--fault kill:inventory --fault cut:node-2 --fault drain:node-2+2s --fault update:inventory", exitFine,
			[]string{"sync          valid", "5 of 5"}},
		{"a node is killed", "check social --architecture services --level only=3 --operations 3000 --deploy " +
			"kubernetes --fault kill:node-2", exitFine,
			[]string{"services      valid", "1 of 1"}},
		{"the node that routes to services",
			"check shop --architecture sync --deploy kubernetes --fault cut:node-1",
			exitBadPlan,
			[]string{"there is no such unit", "node-2"}},
		{"a node that is paused", "check shop --architecture sync --deploy kubernetes --fault pause:node-2",
			exitBadPlan,
			[]string{"it is a node, to which only these can be done: [cut kill drain]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := program(t.TempDir(), strings.Fields(c.args)...)
			expectRun(t, command, c.code, c.says)
			expectNoNodes(t, command)
		})
	}
}

// TestKubernetesAddsReplicas: autoscaling adds a replica of an overloaded service during the load.
func TestKubernetesAddsReplicas(t *testing.T) {
	needKubernetes(t)
	if err := private.MissingMetrics(); err != nil {
		t.Skip(err)
	}
	study, err := filepath.Abs("testdata/autoscale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	code, printed := finish(t, program(t.TempDir(), "run", study))
	says := strings.Join(strings.Fields(printed), " ")
	if code != exitFine ||
		!strings.Contains(says, "Autoscaling of home-timelines in scaled at computing added home-timelines-2") {
		t.Errorf("exit code %d\n%s", code, printed)
	}
}

// TestNothingIsLeftOfKubernetesWhoseConductorIsKilled: the kernel kills the nodes, and the sweeper removes
// the rest.
func TestNothingIsLeftOfKubernetesWhoseConductorIsKilled(t *testing.T) {
	needKubernetes(t)
	expectNodesGo(t, lab.Kubernetes)
}

// expectNoNodes checks that no control groups of a conductor's nodes are left.
func expectNoNodes(t *testing.T, conductor *exec.Cmd) {
	t.Helper()
	if groups := nodeGroups(conductor); len(groups) > 0 {
		t.Errorf("left are %q", groups)
	}
}

// nodeGroups returns the control groups of the nodes of a conductor's cluster.
func nodeGroups(conductor *exec.Cmd) []string {
	var found []string
	for _, group := range cgroup.All(cgroup.Root) {
		if id, ours := launch.ParseID(group.Label); ours && id.PID == conductor.Process.Pid {
			found = append(found, group.Path)
		}
	}
	return found
}
