package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/ssh"
	"github.com/cleave-lab/cleave/deploy/swarm"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// needSwarm skips the test where no swarm can be made, with the reason.
func needSwarm(t *testing.T) {
	t.Helper()
	testset.NeedClusters(t)
	if err := swarm.Missing(); err != nil {
		t.Skip(err)
	}
}

// TestTheSameRunsOnASwarm checks that one word deploys a system on a swarm, where it is audited as anywhere,
// also under faults. TestTheSameRunsOnKubernetes does them to another architecture.
func TestTheSameRunsOnASwarm(t *testing.T) {
	needSwarm(t)
	for _, c := range []struct {
		name, args string
		code       int
		says       []string
	}{
		{"a node is cut off and emptied, replicas are updated", "check shop --architecture async " +
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
			command := exec.Command(filepath.Join(binaries, "cleave"), strings.Fields(c.args)...)
			command.Dir = t.TempDir()
			expectSaid(t, command, c.code, c.says)
			if groups := nodeGroups(command); len(groups) > 0 {
				t.Errorf("left are %q", groups)
			}
		})
	}
}

// TestTheNetworkIsExplainedOnSwarmAndKubernetes: both are up at once, and what a call costs
// there stands beside what it costs here.
func TestTheNetworkIsExplainedOnSwarmAndKubernetes(t *testing.T) {
	needSwarm(t)
	needKubernetes(t)
	command := exec.Command(filepath.Join(binaries, "cleave"), "explain", "network", "--quick", "--blocks", "1",
		"--no-gates")
	command.Dir = t.TempDir()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, want := range []string{"http-loopback", "http-overlay-across", "http-service-across",
		"http-pod-across", "http-swarm-published", "http-nodes", "grpc-unix",
		"counted whatever else the host did"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if groups := nodeGroups(command); len(groups) > 0 {
		t.Errorf("left are %q", groups)
	}
}

// TestNothingIsLeftOfASwarmWhoseConductorIsKilled while its daemons start.
func TestNothingIsLeftOfASwarmWhoseConductorIsKilled(t *testing.T) {
	needSwarm(t)
	conductor := exec.Command(filepath.Join(binaries, "cleave"), "check", "shop", "--architecture", "sync",
		"--deploy", "swarm")
	conductor.Dir = t.TempDir()
	if err := conductor.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a swarm", func() bool { return len(nodeGroups(conductor)) > 0 })
	if err := conductor.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = conductor.Wait() // killed, as it should be
	await(t, "the end of the swarm", func() bool { return len(nodeGroups(conductor)) == 0 })
	out, err := exec.Command(filepath.Join(binaries, "cleave"), "clean").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing to remove") {
		t.Errorf("after that clean says (%v): %s", err, out)
	}
}

// await waits for something that takes a while.
func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !there(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come for a minute", what)
		}
	}
}

// TestFlagsOfClustersThatDoNothingAreRefused: those of a deployment that no variant has.
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
		t.Setenv(c.variable, "")
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
