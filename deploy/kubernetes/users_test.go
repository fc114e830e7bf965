package kubernetes

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/registry/pushtest"
	"github.com/cleave-lab/cleave/lab"
)

// deployerOf returns one of the cluster, whose units are those of a program.
func deployerOf(t *testing.T, f *userstest.Cluster, program string) *Deployer {
	t.Helper()
	users, err := FromEnvironment(func(name string) (string, bool) {
		value, set := f.Variables[name]
		return value, set
	})
	deploytest.Must(t, err)
	users.Starter = f.Starter
	return New(process.New(program, deploytest.Part("janitor"), nil, f.Label), program, "", f.Label, users)
}

// TestSuiteOnTheUsersCluster: what can be had there is as it is everywhere, and what the
// user has there stays as it was.
func TestSuiteOnTheUsersCluster(t *testing.T) {
	f := userstest.New(t)
	var named api.Object
	named.Metadata.Name = "cleave-shop" // of the user's, whatever it is called
	named.Metadata.Labels = map[string]string{labelKey: "theirs"}
	f.Put(t, "/api/v1/namespaces", named)
	var pod api.Pod
	pod.Metadata.Name = "theirs"
	pod.Spec.RestartPolicy = "Never"
	pod.Spec.NodeSelector = map[string]string{hostname: "nowhere"}
	pod.Spec.Containers = []api.Container{{Name: "unit", Image: "none", ImagePullPolicy: "Never"}}
	f.Put(t, "/api/v1/namespaces/default/pods", pod)
	var secret api.Secret
	secret.Metadata.Name, secret.Data = "theirs", map[string][]byte{"key": []byte("value")}
	f.Put(t, "/api/v1/namespaces/default/secrets", secret)
	before := f.State(t)
	d := deployerOf(t, f, deploytest.Program(t))
	left := func() []string { return inNamespace(t, d, "pods", "services", "secrets") }
	deploytest.Suite(t, d, left)
	t.Run("services of a file", func(t *testing.T) { servicesOnTheirs(t, d, f, left) })
	deploytest.NoError(t, d.Close())
	after := f.State(t)
	for _, theirs := range []string{"/api/v1/namespaces/cleave-shop", "/api/v1/pods/default/theirs",
		"/api/v1/secrets/default/theirs"} {
		if after[theirs] == "" || after[theirs] != before[theirs] {
			t.Errorf("%s was %s and is %s", theirs, before[theirs], after[theirs])
		}
	}
	for name := range after {
		if strings.Contains(name, namespacePrefix+f.Label) {
			t.Errorf("of ours there is left: %s", name)
		}
	}
}

// servicesOnTheirs has services start in pods. Those that others wait for need health checks of their own.
func servicesOnTheirs(t *testing.T, d *Deployer, f *userstest.Cluster, left func() []string) {
	image := pushtest.Push(t, f.Variables[registry.Variable], deploytest.Program(t))
	unchecked := deploytest.Services(image, "/data")
	for i := range unchecked.Units {
		if c := unchecked.Units[i].Container; c != nil {
			c.Health = nil
		}
	}
	deploytest.Says(t, d.Preflight(t.Context(), unchecked), "unit db has no health check of its own")
	deploytest.ServicesElsewhere(t, d, image, left,
		func(made lab.Deployment) { meteredByKubelets(t, f, made.(*deployment)) })
}

// TestNothingStartsAgainOnTheUsersCluster: a starter begins further lives, and images of users have none.
func TestNothingStartsAgainOnTheUsersCluster(t *testing.T) {
	var platform fleet.Platform[*pod]
	if (&home{}).complete(&deployment{}, &platform); !platform.NoRestarts {
		t.Error("units start again there")
	}
}
