package ssh

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/ssh/sshtest"
)

// TestMain lets the test program be the janitor of units on this host, and a conductor.
func TestMain(m *testing.M) { deploytest.Main(m, process.Janitor, playConductor) }

// playConductor deploys units to hosts, and lets them run.
func playConductor(args []string) error {
	program := args[0]
	agent := args[1]
	dir := args[2]
	names := args[3:]
	_, err := newDeployer(program, agent, names).Deploy(context.Background(), deploytest.Layout("front"), dir)
	return err
}

// newDeployer returns a deployer of a unit program to hosts.
func newDeployer(program, agent string, names []string) *Deployer {
	label, err := launch.Own()
	if err != nil {
		panic(err)
	}
	return New(process.New(program, deploytest.Part("janitor"), nil, label.String()), program, agent,
		label.String(), names, nil)
}

// TestSuite runs the suite that every deployer must pass, on two hosts.
func TestSuite(t *testing.T) {
	h := sshtest.New(t, deploytest.Label(t), "left", "right")
	h.Use(t)
	d := newDeployer(deploytest.Program(t), deploytest.Agent(t), h.Names)
	deploytest.Suite(t, d, func() []string {
		// Agents and their sweepers stay from trial to trial.
		left := slices.DeleteFunc(h.Commands(), func(command string) bool {
			return strings.Contains(command, " serve ") || strings.Contains(command, " sweeper ")
		})
		trials, _ := filepath.Glob(filepath.Join(leftovers.Root(), "*", "trial-*")) // the pattern is right
		return append(left, trials...)
	})
	deploytest.NoError(t, d.Close())
	if left := h.Commands(); len(left) > 0 {
		t.Errorf("on the hosts there is left %q", left)
	}
}
