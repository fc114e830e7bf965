package kubernetes

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
)

// TestMain lets the test program be the janitor of units that are processes.
func TestMain(m *testing.M) { deploytest.Main(m, process.Janitor, nil) }

// newDeployer returns a deployer to a private cluster whose units run the program of the suite. It is closed
// with the test, which fails if that leaves a process.
func newDeployer(t *testing.T) (d *Deployer, label string) {
	t.Helper()
	testset.NeedClusters(t)
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	program := deploytest.Program(t)
	label = deploytest.Label(t)
	d = New(process.New(program, deploytest.Part("janitor"), nil, label), program,
		filepath.Join(t.TempDir(), "cluster"), label, nil)
	t.Cleanup(func() {
		deploytest.NoError(t, d.Close())
		if left := deploytest.Processes(label); len(left) > 0 {
			t.Errorf("after Close there are %q", left)
		}
	})
	return d, label
}

func TestSuite(t *testing.T) {
	d, _ := newDeployer(t)
	deploytest.Suite(t, d, func() []string { return inCluster(t, d) })
}

// inCluster returns the pods and services of trials that there are, and the nodes whose links are still
// slowed.
func inCluster(t *testing.T, d *Deployer) []string {
	t.Helper()
	left := inNamespace(t, d, "pods", "services")
	if d.cluster == nil {
		return left
	}
	for _, n := range d.cluster.private.Nodes {
		if err := n.Run(t.Context(), "sh", "-c", "! tc qdisc show dev eth0 | grep tbf"); err != nil {
			left = append(left, fmt.Sprintf("a rate of %s: %v", n.Name, err))
		}
	}
	return left
}

// inNamespace returns all objects of some kinds in the namespace of a deployer.
func inNamespace(t *testing.T, d *Deployer, kinds ...string) (left []string) {
	t.Helper()
	if d.cluster == nil {
		return nil
	}
	for _, kind := range kinds {
		var list struct{ Items []api.Object }
		if err := d.cluster.API.Do(t.Context(), http.MethodGet, d.cluster.ours(kind), nil, &list); err != nil {
			left = append(left, err.Error())
		}
		for _, thing := range list.Items {
			left = append(left, kind+" "+thing.Metadata.Name)
		}
	}
	return left
}
