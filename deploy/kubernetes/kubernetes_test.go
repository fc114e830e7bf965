package kubernetes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
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

// newDeployer returns one whose units are those of the suite, and which is closed with the test.
func newDeployer(t *testing.T) (d *Deployer, label string) {
	t.Helper()
	testset.NeedClusters(t)
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	id, err := launch.Own()
	if err != nil {
		t.Fatal(err)
	}
	program, label := deploytest.Program(t), id.String()
	d = New(process.New(program, deploytest.Part("janitor"), nil, label), program,
		filepath.Join(t.TempDir(), "cluster"), label, nil)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left := deploytest.Processes(label); len(left) > 1 { // this one carries it not
			t.Errorf("after Close there are %q", left)
		}
	})
	return d, label
}

func TestSuite(t *testing.T) {
	d, _ := newDeployer(t)
	deploytest.Suite(t, d, func() []string { return inCluster(t, d) })
}

// inCluster returns the pods and services that there are.
func inCluster(t *testing.T, d *Deployer) (left []string) {
	t.Helper()
	if d.cluster == nil {
		return nil
	}
	for _, kind := range []string{"pods", "services"} {
		var list struct{ Items []api.Object }
		if err := d.cluster.API.Do(t.Context(), http.MethodGet, d.cluster.ours(kind), nil, &list); err != nil {
			left = append(left, err.Error())
		}
		for _, thing := range list.Items {
			left = append(left, kind+" "+thing.Metadata.Name)
		}
	}
	for _, n := range d.cluster.private.Nodes {
		if err := n.Host().Run(t.Context(), "sh", "-c", "! tc qdisc show dev eth0 | grep tbf"); err != nil {
			left = append(left, fmt.Sprintf("a rate of %s: %v", n.Name, err))
		}
	}
	return left
}
