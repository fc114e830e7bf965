package swarm

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/cgroup"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/swarm/private"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test program be the janitor of units that are processes, and a conductor that is killed.
func TestMain(m *testing.M) { deploytest.Main(m, process.Janitor, playConductor) }

// playConductor deploys units of the program args[0] in the folder args[1] with the label args[2], and lets
// them run.
func playConductor(args []string) error {
	program := args[0]
	dir := args[1]
	label := args[2]
	trial := filepath.Join(dir, "trial")
	if err := os.Mkdir(trial, 0o700); err != nil {
		return err
	}
	_, err := newDeployer(program, dir, label).Deploy(context.Background(), waiting(), trial)
	return err
}

// newDeployer returns a deployer to a private swarm whose data is in a folder.
func newDeployer(program, dir, label string) *Deployer {
	return New(process.New(program, deploytest.Part("janitor"), nil, label), program, label,
		filepath.Join(dir, "swarm"), nil)
}

// need skips the test if this host cannot make a swarm.
func need(t *testing.T) {
	t.Helper()
	testset.NeedClusters(t)
	if err := private.Missing(); err != nil {
		t.Skip(err)
	}
}

// folder returns a folder with a short name, as paths of sockets in it are limited.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cleave-swarm-")
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// deployer returns a deployer to a private swarm whose units run the program of the suite. The test fails if
// its Close leaves something.
func deployer(t *testing.T) *Deployer {
	t.Helper()
	need(t)
	dir := folder(t)
	d := newDeployer(deploytest.Program(t), dir, deploytest.Label(t))
	t.Cleanup(func() {
		begin := time.Now()
		deploytest.NoError(t, d.Close())
		t.Logf("closed after %v", time.Since(begin))
		if things := left(deploytest.Label(t), dir); len(things) > 0 {
			t.Errorf("after Close there are %q", things)
		}
	})
	return d
}

// left returns what is left of a conductor on this host: processes, control groups, mounts and files.
func left(label, dir string) []string {
	things := deploytest.Processes(label)
	for _, group := range cgroup.All(cgroup.Root) {
		if group.Label == label {
			things = append(things, group.Path)
		}
	}
	entries, _ := filepath.Glob(filepath.Join(dir, "swarm", "*")) // the pattern is right
	mounts, _ := os.ReadFile("/proc/self/mounts")
	if strings.Contains(string(mounts), dir) {
		things = append(things, "a mount in "+dir)
	}
	return append(things, entries...)
}

// waiting returns a layout of units that wait for commands: front with a secret and a processor, stock on a
// named node. The core number is larger than any host has, since hosts take it modulo their processors.
func waiting() lab.Layout {
	l := deploytest.Layout("front", "stock")
	l.Units[1].Env = []string{"CLEAVE_SERVICE_DATABASE=mariadb://cleave:geheim@127.0.0.1:1"}
	l.Units[1].Cores = []int{1001}
	l.Units[2].Node = "node-3"
	return l
}

// TestSuite runs the suite that every deployer must pass.
func TestSuite(t *testing.T) {
	d := deployer(t)
	deploytest.Suite(t, d, func() []string { return inSwarm(t, d) })
}

// inSwarm returns the containers of trials that the nodes have, and the nodes whose links are still slowed.
func inSwarm(t *testing.T, d *Deployer) (things []string) {
	t.Helper()
	for _, n := range d.site.(*privateSite).cluster.Nodes {
		found, err := n.Engine.List(t.Context(), leftovers.DockerLabel)
		testset.Must(t, err)
		for _, thing := range found {
			if thing.Kind != "image" && thing.Label != private.SleeperLabel {
				things = append(things, thing.Kind+" "+thing.ID+" on "+n.Name)
			}
		}
		if err := n.Run(t.Context(), "sh", "-c", "! tc qdisc show dev eth0 | grep tbf"); err != nil {
			things = append(things, fmt.Sprintf("a rate of %s: %v", n.Name, err))
		}
	}
	return things
}

// TestNodesStayInTheNetworkBetweenTrials checks that the container that keeps a node in the network of the
// units outlives a trial. Without it, two nodes might not learn of each other's units in the next trial.
func TestNodesStayInTheNetworkBetweenTrials(t *testing.T) {
	d := deployer(t)
	staying := func() map[string]string {
		ids := map[string]string{}
		for _, n := range d.site.(*privateSite).cluster.Nodes {
			things, err := n.Engine.List(t.Context(), leftovers.DockerLabel)
			testset.Must(t, err)
			for _, thing := range things {
				if thing.Kind == "container" && thing.Label == private.SleeperLabel {
					ids[n.Name] = thing.ID
				}
			}
		}
		return ids
	}
	play := func() map[string]string {
		testset.Must(t, deploytest.Deploy(t, d, waiting()).Stop())
		return staying()
	}
	first := play()
	if len(first) != private.Count {
		t.Fatalf("%d of %d nodes are in the network after a trial: %v", len(first), private.Count, first)
	}
	if second := play(); !maps.Equal(first, second) {
		t.Errorf("after a second trial other containers stay: %v, want %v", second, first)
	}
}

// TestNothingIsLeftOfADeadConductor checks that all processes end with a killed conductor, and that what
// remains is only what the sweeper removes: files and control groups.
func TestNothingIsLeftOfADeadConductor(t *testing.T) {
	need(t)
	dir := folder(t)
	program := deploytest.Program(t)
	const label = "000000-7-7"
	deploytest.Kill(t, program, dir, label)
	deploytest.AwaitGone(t, label)
	deploytest.NoError(t, cgroup.RemoveConductor(cgroup.Root, label))
	deploytest.NoError(t, os.RemoveAll(filepath.Join(dir, "swarm")))
	if things := left(label, dir); len(things) > 0 {
		t.Errorf("left are %q", things)
	}
}
