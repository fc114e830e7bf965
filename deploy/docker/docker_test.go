package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test program be the janitor of units that are processes, and a conductor.
func TestMain(m *testing.M) { deploytest.Main(m, process.Janitor, playConductor) }

// playConductor deploys a layout. Its arguments are the network, the program, the folder, the label and the
// layout as JSON.
func playConductor(args []string) error {
	network := args[0]
	program := args[1]
	dir := args[2]
	label := args[3]
	text := args[4]
	var layout lab.Layout
	if err := json.Unmarshal([]byte(text), &layout); err != nil {
		return err
	}
	processes := process.New(program, deploytest.Part("janitor"), nil, label)
	_, err := New(Network(network), processes, program, label).Deploy(context.Background(), layout, dir)
	return err
}

// newDeployer returns a deployer of the suite's program, which is closed after the test and must then have
// left nothing.
func newDeployer(t *testing.T, network Network, program string) *Deployer {
	t.Helper()
	label := deploytest.Label(t)
	d := New(network, process.New(program, deploytest.Part("janitor"), nil, label), program, label)
	t.Cleanup(func() {
		deploytest.NoError(t, d.Close())
		if left := objects(t, "container", "network", "image", "volume"); len(left) > 0 {
			t.Errorf("after Close there are %q", left)
		}
	})
	return d
}

// objects returns the objects of some kinds in Docker that carry our label.
func objects(t *testing.T, kinds ...string) []string {
	t.Helper()
	found, err := leftovers.Docker(func(l string) bool { return l == deploytest.Label(t) })
	testset.Must(t, err)
	var names []string
	for _, object := range found {
		if slices.Contains(kinds, object.Kind) {
			names = append(names, object.String())
		}
	}
	return names
}

// waiting returns a layout of a lead and front, which wait for commands. front has a secret, and a core
// number that wraps around.
func waiting() lab.Layout {
	l := deploytest.Layout("front")
	l.Units[1].Env = []string{"CLEAVE_SERVICE_DATABASE=mariadb://cleave:geheim@127.0.0.1:1"}
	l.Units[1].Cores = []int{1001}
	return l
}

// TestUnitsOfADeadConductorEnd checks that units end by themselves when their conductor is
// killed, and that their containers are found by the label and removed.
func TestUnitsOfADeadConductorEnd(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	text, err := json.Marshal(waiting())
	testset.Must(t, err)
	for _, network := range []Network{Host, Bridge} {
		t.Run(string(network), func(t *testing.T) {
			dir := deploytest.Folder(t)
			deploytest.Kill(t, string(network), program, dir, deploytest.Label(t), string(text))
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
				running, err := cli(t.Context(), "ps", "--quiet", "--filter",
					"label="+leftovers.DockerLabel+"="+deploytest.Label(t))
				testset.Must(t, err)
				if running == "" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("containers %q still run", running)
				}
			}
			found, err := leftovers.Docker(func(l string) bool { return l == deploytest.Label(t) })
			if err != nil || len(found) < 3 { // two containers and the image
				t.Errorf("left are %q (%v)", found, err)
			}
			removeAll(t, found)
			if left := objects(t, "container", "network", "image", "volume"); len(left) > 0 {
				t.Errorf("after that there are %q", left)
			}
		})
	}
}

// TestNoSecretIsInADescription checks that the daemon shows neither the address of a
// service, with its password, nor the token of the conductor.
func TestNoSecretIsInADescription(t *testing.T) {
	dockertest.Start(t)
	d := newDeployer(t, Host, deploytest.Program(t))
	dir := deploytest.Folder(t)
	deployed, err := d.Deploy(t.Context(), waiting(), dir)
	testset.Must(t, err)
	defer func() { deploytest.NoError(t, deployed.Stop()) }()
	environment, err := os.ReadFile(filepath.Join(dir, "front", "front.environment"))
	testset.Must(t, err)
	var variables map[string]string
	testset.Must(t, json.Unmarshal(environment, &variables))
	shown, err := cli(t.Context(), "inspect", deployed.(*deployment).Named("front").Container)
	testset.Must(t, err)
	for _, secret := range []string{"geheim", variables[lab.TokenVariable]} {
		if secret == "" || strings.Contains(shown, secret) || !strings.Contains(string(environment), secret) {
			t.Errorf("%q is in the description, or not in the unit's environment", secret)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "front", "front.environment")); err != nil ||
		info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v of the environment (%v), want 0600", info.Mode(), err)
	}
}

func TestPreflightNamesWhatCannotBe(t *testing.T) {
	layout := waiting()
	layout.Services = []lab.ServiceSpec{{Name: "broker", Kind: "rabbitmq", Loopback: true},
		{Name: "database", Kind: "sqlite"}}
	layout.Units = append(layout.Units,
		lab.UnitSpec{
			Name: "balancer",
			Runnable: lab.Runnable{
				Foreign: true, Program: "cleave-no-such-program", Install: "apt-get install it",
			},
		},
		lab.UnitSpec{Name: "system", Runnable: lab.Runnable{Foreign: true, Program: "/proc/self/exe"}},
		lab.UnitSpec{Name: "shop", Runnable: lab.Runnable{Foreign: true, Compose: &lab.Compose{}}},
	)
	for n := range mostOnBridge {
		layout.Units = append(layout.Units, lab.UnitSpec{Name: fmt.Sprint("worker-", n)})
	}
	err := newDeployer(t, Bridge, "").Preflight(t.Context(), layout)
	deploytest.Says(t, err, "broker (rabbitmq) listens on this host's loopback", "type: apt-get install it",
		"is not below /usr", "its deployment is compose", "too many for one bridge network")
	if err == nil || strings.Contains(err.Error(), "sqlite") {
		t.Errorf("Preflight: %v, want nothing against files", err)
	}
}

func TestMoreContainersThanThisHostHasRoomFor(t *testing.T) {
	err := checkHost(1_000_000)
	deploytest.Says(t, err, "1000000 units need about 16000000 MiB of memory",
		"16000000 are needed: raise it with: sysctl", "3000000 are needed: raise it with: ulimit")
	if err := checkHost(2); err != nil {
		t.Errorf("checkHost of two: %v", err)
	}
}

// TestSuite runs the suite that every deployer must pass.
func TestSuite(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	for _, network := range []Network{Host, Bridge} {
		t.Run(string(network), func(t *testing.T) {
			deploytest.Suite(t, newDeployer(t, network, program), func() []string {
				return append(deploytest.Processes(deploytest.Label(t)), objects(t, "container", "network", "volume")...)
			})
		})
	}
}

// TestADaemonThatEnds checks that the end of the daemon fails a trial with one message,
// that its units end, and that the containers, which cannot be removed without it, are
// found when it runs again.
func TestADaemonThatEnds(t *testing.T) {
	daemon := dockertest.Private(t)
	program := deploytest.Program(t)
	label := deploytest.Label(t)
	deployer := New(Host, process.New(program, deploytest.Part("janitor"), nil, label), program, label)
	dir := deploytest.Folder(t)
	d, err := deployer.Deploy(t.Context(), waiting(), dir)
	testset.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deploytest.Await(t, d, lab.EventReady)
	daemon.Kill()
	if _, err := d.Await(ctx, lab.EventFinished); err == nil ||
		!strings.HasPrefix(err.Error(), "the Docker daemon has ended: ") {
		t.Errorf("Await: %v, want that the daemon has ended", err)
	}
	for what, end := range map[string]func() error{"Stop": d.Stop, "Close": deployer.Close} {
		if err := end(); err == nil || strings.Count(err.Error(), "cleave clean") != 1 ||
			strings.Count(err.Error(), "does not answer") != 1 {
			t.Errorf("%s: %v, want it to say once that the daemon does not answer and what to do", what, err)
		}
	}
	if left := deploytest.Processes(deploytest.Label(t)); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the trial's folder is still there: %v", err)
	}
	daemon.Again(t)
	found, err := leftovers.Docker(func(l string) bool { return l == deploytest.Label(t) })
	if err != nil || len(found) != 3 { // two containers and their image
		t.Errorf("left are %q (%v)", found, err)
	}
	removeAll(t, found)
}

// removeAll removes leftovers of a dead conductor.
func removeAll(t *testing.T, found []leftovers.Leftover) {
	t.Helper()
	for _, leftover := range found {
		_, err := leftover.Remove()
		deploytest.NoError(t, err)
	}
}

// TestNothingIsLeftOfADeploymentThatIsInterrupted interrupts the start at different moments.
func TestNothingIsLeftOfADeploymentThatIsInterrupted(t *testing.T) {
	dockertest.Start(t)
	deployer := newDeployer(t, Bridge, deploytest.Program(t))
	l := waiting()
	for n := range 8 {
		l.Units = append(l.Units, deploytest.Layout(fmt.Sprint("more-", n)).Units[1])
	}
	for _, after := range []time.Duration{50, 200, 500, 900, 1500} {
		dir := deploytest.Folder(t)
		ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
		d, err := deployer.Deploy(ctx, l, dir)
		cancel()
		if err == nil {
			deploytest.NoError(t, d.Stop())
		}
		if left := objects(t, "container", "network"); len(left) > 0 {
			t.Errorf("interrupted after %v (%v): left are %q", after*time.Millisecond, err, left)
		}
	}
}

// TestUnitsOnNodes checks that units of a node share its address and have ports of their own, and that a
// layout with only some units on nodes is refused.
func TestUnitsOnNodes(t *testing.T) {
	dockertest.Start(t)
	d := newDeployer(t, Host, deploytest.Program(t))
	layout := waiting()
	layout.Units[0].Node = "near"
	deploytest.Says(t, d.Preflight(t.Context(), layout), "lead is on a node, and cannot reach unit front")
	layout.Units = append(layout.Units, deploytest.Layout("stock").Units[1])
	layout.Units[1].Node = "far"
	layout.Units[2].Node = "far"
	deploytest.Says(t, New(Bridge, process.New("", nil, nil, ""), "", "").Preflight(t.Context(), layout),
		"deploy with docker-host")
	testset.Must(t, d.Preflight(t.Context(), layout))
	deployed := deploytest.Deploy(t, d, layout)
	deploytest.Await(t, deployed, lab.EventReady) // the lead has called across nodes
	at := map[string]string{}
	for _, name := range []string{"front", "stock"} {
		endpoint, err := deployed.Endpoint(name)
		testset.Must(t, err)
		at[name] = endpoint.Dial
	}
	node, _, _ := strings.Cut(at["front"], ":")
	if !strings.HasPrefix(node, "198.18.") || !strings.HasPrefix(at["stock"], node+":") ||
		at["stock"] == at["front"] {
		t.Errorf("front is at %s and stock at %s, want one address and two ports", at["front"], at["stock"])
	}
	deploytest.NoError(t, deployed.Stop())
	if left := objects(t, "container", "network", "volume"); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// cli returns the output of Docker's own client without blanks at its ends.
func cli(ctx context.Context, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, "docker", args...).Output()
	return strings.TrimSpace(string(text)), err
}
