package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// needSwarm skips the test, with the reason, if no swarm can be created.
func needSwarm(t *testing.T) {
	t.Helper()
	testset.NeedClusters(t)
	if err := swarm.Missing(); err != nil {
		t.Skip(err)
	}
}

// TestTheSameRunsOnASwarm: --deploy swarm deploys a system on a swarm, where it passes the same audit, under
// faults too. TestTheSameRunsOnKubernetes tests another architecture.
func TestTheSameRunsOnASwarm(t *testing.T) {
	needSwarm(t)
	for _, c := range []commandCase{
		{"a node is cut off and drained, replicas are updated", "check shop --architecture async " +
			"--operations 500 --deploy swarm --replicas inventory=2 --fault cut:node-3 " +
			"--fault drain:node-3+2s --fault update:inventory", exitFine, []string{"async         valid", "4 of 4"}},
		{"a server", "check people --architecture services,services-two-hosts --operations 200 --deploy swarm",
			exitFine,
			[]string{"services            valid    200", "services-two-hosts  valid    200"}},
		{"the node of the lead", "check shop --architecture sync --deploy swarm --fault cut:node-1", exitBadPlan,
			[]string{"there is no such unit", "node-2, node-3, node-4"}},
		{"a node that is paused", "check shop --architecture sync --deploy swarm --fault pause:node-3", exitBadPlan,
			[]string{"it is a node, to which only these can be done: [cut kill drain]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := program(t.TempDir(), strings.Fields(c.args)...)
			expectRun(t, command, c.code, c.says)
			expectNoNodes(t, command)
		})
	}
}

// TestTheNetworkIsExplainedOnSwarmAndKubernetes: both run in one experiment, and the report compares the cost
// of a call on each with that on this host.
func TestTheNetworkIsExplainedOnSwarmAndKubernetes(t *testing.T) {
	needSwarm(t)
	needKubernetes(t)
	command := program(t.TempDir(), "explain", "network", "--quick", "--blocks", "1", "--no-gates")
	expectRun(t, command, exitFine, []string{"http-loopback", "http-overlay-across", "http-service-across",
		"http-pod-across", "http-swarm-published", "http-nodes", "grpc-unix",
		"counted whatever else the host did"})
	expectNoNodes(t, command)
}

// TestNothingIsLeftOfASwarmWhoseConductorIsKilled kills a conductor while the daemons of its swarm start.
func TestNothingIsLeftOfASwarmWhoseConductorIsKilled(t *testing.T) {
	needSwarm(t)
	expectNodesGo(t, lab.Swarm)
}

// expectNodesGo kills a conductor when its cluster has its first nodes, and waits until these are gone.
func expectNodesGo(t *testing.T, deployment string) {
	t.Helper()
	conductor := program(t.TempDir(), "check", "shop", "--architecture", "sync", "--deploy", deployment)
	killWhen(t, conductor, "there are nodes", func() bool { return len(nodeGroups(conductor)) > 0 })
	await(t, "the nodes are gone", func() bool { return len(nodeGroups(conductor)) == 0 })
	expectRun(t, program("", "clean"), exitFine, []string{"nothing to remove"})
}

// TestFlagsOfClustersThatDoNothingAreRefused: flags for a deployment that no variant has are refused.
func TestFlagsOfClustersThatDoNothingAreRefused(t *testing.T) {
	variants := func(deployments ...string) (all []lab.Variant) {
		for _, one := range deployments {
			all = append(all, lab.Variant{Deployment: one})
		}
		return all
	}
	for _, c := range []struct {
		flag, variable string
		variants       []lab.Variant
		refused        bool
	}{
		{"swarm", swarm.Variable, variants(lab.DockerBridge, lab.Kubernetes), true},
		{"swarm", swarm.Variable, variants(lab.DockerBridge, lab.Swarm), false},
		{"context", kubernetes.ContextVariable, variants(lab.Swarm), true},
		{"registry", registry.Variable, variants(lab.Process), true},
		{"registry", registry.Variable, variants(lab.Kubernetes), false},
		{"hosts", ssh.Variable, variants(lab.SSH), false},
	} {
		t.Setenv(c.variable, "") // the flag sets the variable: this restores it
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		addClusters(flags)
		err := flags.Parse([]string{"--" + c.flag, "x"})
		if err == nil {
			err = checkClusters(flags, c.variants)
		}
		if refused := err != nil && exitCode(err) == exitBadPlan &&
			strings.Contains(err.Error(), "--"+c.flag+" does nothing here"); refused != c.refused {
			t.Errorf("--%s with %v: %v", c.flag, c.variants, err)
		}
	}
}

// TestEveryCommandRefusesFlagsOfClustersThatDoNothing: a new experiment, its continuation and model refuse
// such flags before they play anything.
func TestEveryCommandRefusesFlagsOfClustersThatDoNothing(t *testing.T) {
	folder := createRun(t, t.TempDir(), "reproduce", "rego2021", "--quick", "--points", "s1")
	for _, args := range [][]string{
		{"reproduce", "rego2021", "--quick", "--plan"}, {"reproduce", "--resume", folder.Dir()},
		{"model", "shop", "--plan"},
	} {
		t.Setenv(swarm.Variable, "") // --swarm sets the variable: this restores it
		root := newRoot(strings.NewReader(""), io.Discard, io.Discard)
		root.SetArgs(append(args, "--swarm", "127.0.0.1"))
		err := root.ExecuteContext(t.Context())
		if exitCode(err) != exitBadPlan || !strings.Contains(err.Error(), "--swarm does nothing here") {
			t.Errorf("cleave %s ends with %v", strings.Join(args, " "), err)
		}
	}
}
