package kubernetes

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/registry/pushtest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// deployerOf returns a deployer to the cluster of the user's whose units run a program.
func deployerOf(t *testing.T, f *userstest.Cluster, program string) *Deployer {
	t.Helper()
	users, err := FromEnvironment(func(name string) (string, bool) {
		value, set := f.Variables[name]
		return value, set
	})
	testset.Must(t, err)
	users.Starter = f.Starter
	return New(process.New(program, deploytest.Part("janitor"), nil, f.Label), program, "", f.Label, users)
}

// TestAnEmptyRegistryIsNone checks that the variable of the registry may be set and empty.
func TestAnEmptyRegistryIsNone(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	text := "{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], " +
		"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}]}"
	testset.Must(t, os.WriteFile(config, []byte(text), 0o600))
	variables := map[string]string{ConfigVariable: config, ContextVariable: "", registry.Variable: ""}
	users, err := FromEnvironment(func(name string) (string, bool) { return variables[name], true })
	if err != nil || users == nil || users.images != nil {
		t.Errorf("%+v, %v, want a cluster without a registry", users, err)
	}
}

// TestMissingRightsAreNamed checks that Preflight asks also for rights that are needed late, such as that to
// delete secrets at the end of a trial, and that its error names all that are missing.
func TestMissingRightsAreNamed(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			Spec struct {
				ResourceAttributes struct{ Verb, Resource, Subresource string }
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&review) // a request for nodes has no body
		asked := review.Spec.ResourceAttributes
		denied := asked.Subresource == "" &&
			(asked.Verb == "get" && asked.Resource == "pods" || asked.Verb == "delete" && asked.Resource == "secrets")
		_, _ = fmt.Fprintf(w, `{"status":{"allowed":%t}}`, !denied)
	}))
	defer server.Close()
	users := &UserCluster{Context: "theirs", API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}
	_, err := users.inspect(t.Context())
	deploytest.Says(t, err, "the cluster theirs does not let you get pods, delete secrets:")
}

// answering returns a cluster that grants all rights, and answers every other request with the next of the
// given statuses; the last one is repeated. asked counts these requests.
func answering(t *testing.T, statuses ...int) (users *UserCluster, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews") {
			w.WriteHeader(statuses[min(int(asked.Add(1)), len(statuses))-1])
		}
		_, _ = w.Write([]byte(`{"status":{"allowed":true},"items":[{"metadata":{"name":"node-1"}}]}`))
	}))
	t.Cleanup(server.Close)
	images, err := registry.Parse("127.0.0.1:1/team")
	testset.Must(t, err)
	return &UserCluster{Context: "theirs", images: images,
		API: api.New(server.URL, &tls.Config{InsecureSkipVerify: true})}, asked
}

// TestNodesThatCannotBeListed checks that only a refusal means that we may not list the nodes.
func TestNodesThatCannotBeListed(t *testing.T) {
	for status, want := range map[int]int{http.StatusOK: 1, http.StatusForbidden: 0} {
		users, _ := answering(t, status)
		if nodes, err := users.inspect(t.Context()); err != nil || len(nodes) != want {
			t.Errorf("status %d: nodes %v (%v), want %d", status, nodes, err, want)
		}
	}
	users, _ := answering(t, http.StatusServiceUnavailable)
	_, err := users.inspect(t.Context())
	deploytest.Says(t, err, "list the nodes of theirs", "status 503")
}

// TestTheAccountOfPodsIsAwaited checks that only an answer with the account, or that we may not see it, ends
// the wait for it.
func TestTheAccountOfPodsIsAwaited(t *testing.T) {
	for _, statuses := range [][]int{
		{http.StatusServiceUnavailable, http.StatusNotFound, http.StatusOK}, {http.StatusForbidden},
	} {
		users, asked := answering(t, statuses...)
		site := &userSite{UserCluster: users}
		err := site.furnish(t.Context(), &cluster{API: users.API, namespace: "cleave-1"})
		if err != nil || int(asked.Load()) != len(statuses) {
			t.Errorf("%v: asked %d times (%v)", statuses, asked.Load(), err)
		}
	}
}

// TestSuiteOnTheUsersCluster runs the suite of all deployers on a cluster of the user's, and checks that the
// user's objects there are unchanged after Close, and ours are gone.
func TestSuiteOnTheUsersCluster(t *testing.T) {
	f := userstest.New(t)
	var named api.Object
	named.Metadata.Name = "cleave-shop" // a namespace of the user's with a name like ours
	named.Metadata.Labels = map[string]string{labelKey: "theirs"}
	f.Put(t, "/api/v1/namespaces", named)
	var pod api.Pod
	pod.Metadata.Name = "theirs"
	pod.Spec.RestartPolicy = "Never"
	pod.Spec.NodeSelector = map[string]string{hostname: "nowhere"}
	pod.Spec.Containers = []api.Container{{Name: "unit", Image: "none", ImagePullPolicy: "Never"}}
	f.Put(t, "/api/v1/namespaces/default/pods", pod)
	var secret api.Secret
	secret.Metadata.Name = "theirs"
	secret.Data = map[string][]byte{"key": []byte("value")}
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

// servicesOnTheirs runs the suite of described services, which kubelets meter. Services for whose health
// others wait need health checks of their own.
func servicesOnTheirs(t *testing.T, d *Deployer, f *userstest.Cluster, left func() []string) {
	image := pushtest.Push(t, f.Variables[registry.Variable], deploytest.Program(t))
	unchecked := deploytest.Services(image, "/data")
	for i := range unchecked.Units {
		if c := unchecked.Units[i].Container; c != nil {
			c.Health = nil
		}
	}
	deploytest.Says(t, d.Preflight(t.Context(), unchecked), "unit db has no health check of its own")
	deploytest.ServicesOnUserNodes(t, d, image, left,
		func(made lab.Deployment) { meteredByKubelets(t, f, made.(*deployment)) })
}

// TestNoRestartsOnTheUsersCluster checks that no unit that fails before the load is started again there
// (lab.Lifecycle.Restarts): only a starter could do that, and containers of users' images have none.
func TestNoRestartsOnTheUsersCluster(t *testing.T) {
	var platform fleet.Platform[*pod]
	if (&userSite{}).complete(&deployment{}, &platform); !platform.NoRestarts {
		t.Error("units start again there")
	}
}
