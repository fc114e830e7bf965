package users

import (
	"fmt"
	"os"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/swarm/userstest"
)

// TestMain lets the test program be the janitor of units that are processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "janitor" {
		if err := process.Janitor(os.Stdin, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// deployerOf returns one of the swarm, whose units are those of a program.
func deployerOf(t *testing.T, f *userstest.Swarm, program string) *Deployer {
	t.Helper()
	named, err := FromEnvironment(func(name string) (string, bool) {
		value, set := f.Variables[name]
		return value, set
	})
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return New(process.New(program, []string{own, "janitor"}, nil, f.Label), program, f.Starter, f.Label, named)
}

// TestSuiteOnTheUsersSwarm: what can be had there is as it is everywhere, and what the user has
// there stays as it was.
func TestSuiteOnTheUsersSwarm(t *testing.T) {
	f := userstest.New(t)
	f.Furnish(t)
	before := f.State(t)
	d := deployerOf(t, f, deploytest.Program(t))
	deploytest.Suite(t, d, func() []string {
		if d.home == nil {
			return nil
		}
		kept, err := d.home.manager.Kept(t.Context(), leftovers.DockerLabel)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, k := range kept {
			home := k.Name == d.home.name || k.Name == d.home.name+"-doors" || k.Name == d.home.name+"-key"
			if k.Label == f.Label && !home {
				left = append(left, k.Kind+" "+k.Name)
			}
		}
		return left
	})
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	f.Unchanged(t, before)
}
