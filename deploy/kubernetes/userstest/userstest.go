// Package userstest makes a Kubernetes cluster that tests use as one of the user's: the deployer does not
// know that Cleave made it. It comes with a registry that its nodes reach.
//
// Entry point: New.
package userstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/registry/registrytest"
	"github.com/cleave-lab/cleave/internal/testset"
)

// Cluster is a cluster on this host that stands for one of the user's.
type Cluster struct {
	*private.Cluster
	Label     string            // of the test as a conductor
	Registry  string            // host:port
	Variables map[string]string // environment variables that name the cluster and the registry
	Starter   string            // path of the starter program
	dir       string
}

// New brings up a cluster that ends with the test.
func New(t *testing.T) *Cluster {
	t.Helper()
	testset.NeedClusters(t)
	if err := private.Missing(); err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "foreign")
	label := deploytest.Label(t)
	c, err := private.Up(t.Context(), dir, label, "--housekeeping-interval=1s") // a tenth of the usual one
	testset.Must(t, err)
	t.Cleanup(func() { deploytest.NoError(t, c.Close()) })
	f := &Cluster{Cluster: c, Label: label, Registry: registrytest.Start(t, c.Hosts.Here()),
		Starter: deploytest.Starter(t), dir: dir}
	f.awaitComplete(t)
	for _, node := range c.Nodes { // let its containerd use the registry without TLS
		folder := filepath.Join(dir, node.Name, "lib", "registries", f.Registry)
		text := fmt.Sprintf("server = %q\n[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n",
			"http://"+f.Registry, "http://"+f.Registry)
		testset.Must(t, os.MkdirAll(folder, 0o700))
		testset.Must(t, os.WriteFile(filepath.Join(folder, "hosts.toml"), []byte(text), 0o600))
	}
	config := f.Config(t, c.API.Address(), f.Admin())
	f.Variables = map[string]string{"CLEAVE_USE_KUBERNETES": "theirs", "KUBECONFIG": config,
		"CLEAVE_REGISTRY": "http://" + f.Registry + "/team/cleave"}
	return f
}

// awaitComplete waits until the cluster has made the objects that every namespace gets. A test that recorded
// the state before would take them for changes.
func (f *Cluster) awaitComplete(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		missing := ""
		state := f.State(t)
		for namespace := range state {
			name, isNamespace := strings.CutPrefix(namespace, "/api/v1/namespaces/")
			if !isNamespace {
				continue
			}
			for _, object := range []string{"/api/v1/serviceaccounts/" + name + "/default",
				"/api/v1/configmaps/" + name + "/kube-root-ca.crt"} {
				if state[object] == "" {
					missing = object
				}
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster has not written %s for two minutes", missing)
		}
	}
}

func (f *Cluster) key(name string) string { return filepath.Join(f.dir, "keys", name) }

// Config writes a kubeconfig for a server and a user, which is the YAML of a kubeconfig's user, and returns
// its path.
func (f *Cluster) Config(t *testing.T, server, user string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: theirs,
contexts: [{name: theirs, context: {cluster: c, user: me}}],
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}],
users: [{name: me, user: %s}]}`, server, f.key("ca.crt"), user)
	testset.Must(t, os.WriteFile(config, []byte(text), 0o600))
	return config
}

// Admin returns the user who may do everything, as Config takes it.
func (f *Cluster) Admin() string {
	return fmt.Sprintf("{client-certificate: %q, client-key: %q}", f.key("admin.crt"), f.key("admin.key"))
}

// Guest makes a user who may do nothing, and returns the path of a kubeconfig for it.
func (f *Cluster) Guest(t *testing.T) string {
	t.Helper()
	var account struct{ Status struct{ Token string } }
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	f.Put(t, accounts, map[string]any{"metadata": map[string]string{"name": "guest"}})
	testset.Must(t, f.API.Do(t.Context(), http.MethodPost, accounts+"/guest/token", map[string]any{},
		&account))
	return f.Config(t, f.API.Address(), "{token: "+account.Status.Token+"}")
}

// State returns all objects of the cluster, by their path, except fields that change by themselves.
func (f *Cluster) State(t *testing.T) deploytest.State {
	t.Helper()
	all := deploytest.State{}
	for _, path := range []string{
		"/api/v1/namespaces", "/api/v1/pods", "/api/v1/services", "/api/v1/secrets", "/api/v1/configmaps",
		"/api/v1/serviceaccounts",
		"/apis/apps/v1/deployments", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	} {
		var list struct{ Items []map[string]any }
		testset.Must(t, f.API.Do(t.Context(), http.MethodGet, path, nil, &list))
		for _, item := range list.Items {
			about := item["metadata"].(map[string]any)
			delete(item, "status")
			delete(about, "resourceVersion") // changes with the status
			delete(about, "managedFields")
			if item["aggregationRule"] != nil { // the cluster computes the rules of these roles
				delete(item, "rules")
			}
			text, err := json.Marshal(item)
			testset.Must(t, err)
			place := path
			if namespace, is := about["namespace"].(string); is {
				place += "/" + namespace
			}
			all[fmt.Sprint(place, "/", about["name"])] = string(text)
		}
	}
	return all
}

// Put makes an object of the user's.
func (f *Cluster) Put(t *testing.T, path string, what any) {
	t.Helper()
	testset.Must(t, f.API.Do(t.Context(), http.MethodPost, path, what, nil))
}
