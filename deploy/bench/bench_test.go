package main

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test program be the janitor of units that are processes.
func TestMain(m *testing.M) {
	trials.Main("bench-deploy", func(context.Context) error {
		os.Exit(m.Run())
		return nil
	})
}

func TestChoose(t *testing.T) {
	all := candidates(nil, "", "")
	for only, want := range map[string][]string{
		"":                     {"process", "docker-host", "docker-bridge", "swarm", "kubernetes"},
		"swarm":                {"swarm"},
		"process,docker-host":  {"process", "docker-host"},
		"kubernetes,swarm":     {"kubernetes", "swarm"},
		"process,docker":       nil,
		"process, docker-host": nil,
	} {
		chosen, err := choose(all, only)
		if !slices.Equal(names(chosen), want) || (err == nil) != (want != nil) {
			t.Errorf("-only %q: %q, %v, want %q", only, names(chosen), err, want)
		}
	}
	_, err := choose(all, "nix")
	deploytest.Says(t, err, `"nix"; there are process, docker-host,`)
}

// closing is a deployer that notes the order in which it and its deployments end.
type closing struct {
	lab.Deployer
	ended *[]string
}

func (c closing) Close() error { *c.ended = append(*c.ended, "deployer"); return nil }

func (c closing) Deploy(ctx context.Context, l lab.Layout, dir string) (lab.Deployment, error) {
	d, err := c.Deployer.Deploy(ctx, l, dir)
	return stopping{d, c.ended}, err
}

// stopping is a deployment that notes its end.
type stopping struct {
	lab.Deployment
	ended *[]string
}

func (s stopping) Stop() error { *s.ended = append(*s.ended, "units"); return s.Deployment.Stop() }

// TestStart checks that a round has a deployer of its own, which ends after its units and leaves nothing.
func TestStart(t *testing.T) {
	processes, err := trials.Deployer(deploytest.Program(t))
	testset.Must(t, err)
	var ended []string
	made := 0
	c := candidate{name: lab.Process, deployer: func(string) lab.Deployer {
		made++
		return closing{processes, &ended}
	}}
	dir := t.TempDir()
	took, err := start(t.Context(), c, dir)
	testset.Must(t, err)
	if took.ready <= 0 || took.gone <= 0 {
		t.Errorf("%v, want times above zero", took)
	}
	if made != 1 || !slices.Equal(ended, []string{"units", "deployer"}) {
		t.Errorf("%d deployers were made and %q ended, want one, and its units before it", made, ended)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
}
