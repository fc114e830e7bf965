package kubernetes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/registry"
)

// The variables that name a cluster of the user's.
const (
	// ContextVariable is a context of the kubeconfig; set and empty: the current one.
	ContextVariable = "CLEAVE_USE_KUBERNETES"
	// ConfigVariable has the kubeconfig files, as kubectl reads it.
	ConfigVariable = "KUBECONFIG"
)

// Users is a cluster of the user's. Nothing is asked of it before Preflight. All that is
// made there lies in one namespace, which goes with the last trial.
type Users struct {
	API     *api.Client
	Context string // of the kubeconfig
	Starter string // path of the program of that name, which units have that shall have faults

	images *registry.Repository // nil: none is named
	looked sync.Once
	nodes  []api.Node // seen then
	wrong  error      // found then
}

// FromEnvironment returns the cluster that variables name; nil: none.
func FromEnvironment(lookup func(string) (string, bool)) (*Users, error) {
	chosen, set := lookup(ContextVariable)
	if !set {
		return nil, nil
	}
	files, _ := lookup(ConfigVariable)
	paths := filepath.SplitList(files)
	if len(paths) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the kubeconfig: %w", err)
		}
		paths = []string{filepath.Join(home, ".kube", "config")}
	}
	u := &Users{}
	var err error
	if u.API, u.Context, err = api.Open(paths, chosen); err != nil {
		return nil, err
	}
	if place, named := lookup(registry.Variable); named {
		if u.images, err = registry.Parse(place); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// lookPatience is how long a cluster may take to say what we may do there.
const lookPatience = 20 * time.Second

// asUserCluster describes the cluster, as far as it is known.
func (u *Users) asUserCluster() containers.UserCluster {
	e := containers.UserCluster{Name: u.Context, Units: "pods", Ours: "cluster",
		Cores: "Kubernetes chooses them itself", NoNode: "none of that name",
		Registry: u.images != nil}
	for _, node := range u.nodes {
		cores, memory := node.Allocatable()
		e.Nodes = append(e.Nodes, node.Metadata.Name)
		e.Largest.CPU, e.Largest.Memory = max(e.Largest.CPU, cores), max(e.Largest.Memory, memory)
	}
	return e
}

// right is something that we have to be allowed.
type right struct{ verb, resource, subresource string }

// look asks the cluster who we are to it. Without the right to list nodes there is no list.
func (u *Users) look(ctx context.Context) (nodes []api.Node, err error) {
	var denied []string
	for _, r := range []right{
		{"create", "namespaces", ""}, {"get", "namespaces", ""}, {"delete", "namespaces", ""},
		{"create", "pods", ""}, {"list", "pods", ""}, {"watch", "pods", ""}, {"delete", "pods", ""},
		{"get", "pods", "log"}, {"get", "pods", "portforward"}, {"create", "pods", "portforward"},
		{"create", "services", ""}, {"delete", "services", ""}, {"create", "secrets", ""},
	} {
		attributes := map[string]string{"verb": r.verb, "resource": r.resource, "subresource": r.subresource}
		if r.resource != "namespaces" {
			attributes["namespace"] = namespacePrefix + "any"
		}
		var review struct {
			Status struct{ Allowed bool }
		}
		err := u.API.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			map[string]any{
				"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
				"spec": map[string]any{"resourceAttributes": attributes},
			}, &review)
		if err != nil {
			return nil,
				fmt.Errorf("the cluster %s (%s): %w: look whether it runs, and who the kubeconfig says you are",
					u.Context, u.API.Address(), err)
		}
		if !review.Status.Allowed {
			denied = append(denied, strings.TrimSuffix(r.verb+" "+r.resource+"/"+r.subresource, "/"))
		}
	}
	if len(denied) > 0 {
		return nil, fmt.Errorf("the cluster %s does not let you %s: have its administrator give you a role with "+
			"these rights (docs/deploying.md)",
			u.Context, strings.Join(denied, ", "))
	}
	var list struct{ Items []api.Node }
	if err := u.API.Do(ctx, http.MethodGet, "/api/v1/nodes", nil, &list); err != nil {
		return nil, nil
	}
	return list.Items, nil
}

// namespacePrefix begins the names of our namespaces; the conductor's label follows.
const namespacePrefix = "cleave-"

// remove removes a namespace and waits until it is gone.
func (u *Users) remove(ctx context.Context, namespace string) error {
	path := "/api/v1/namespaces/" + namespace
	if err := u.API.Delete(ctx, path); err != nil {
		return err
	}
	return fleet.Until(ctx, watchAgain, func() (bool, error) {
		err := u.API.Do(ctx, http.MethodGet, path, nil, nil)
		if api.NotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// Clean removes the namespaces of conductors that are gone, and names them. What is of one
// of which that cannot be told from here is unclear, and stays. Only those of the conductor
// with a label are looked at, unless that is empty.
func (u *Users) Clean(ctx context.Context, label string) (removed, unclear []string, err error) {
	selector := labelKey
	if label != "" {
		selector += "=" + label
	}
	var list struct{ Items []api.Object }
	if err := u.API.Do(ctx, http.MethodGet, "/api/v1/namespaces?labelSelector="+url.QueryEscape(selector), nil,
		&list); err != nil {
		return nil, nil, fmt.Errorf("list the namespaces of %s: %w", u.Context, err)
	}
	var labels []string
	for _, found := range list.Items {
		if owner := found.Metadata.Labels[labelKey]; found.Metadata.Name == namespacePrefix+owner {
			labels = append(labels, owner)
		}
	}
	return leftovers.CleanCluster(ctx, labels,
		func(label string) string {
			return fmt.Sprintf("namespace %s%s on %s", namespacePrefix, label, u.Context)
		},
		func(ctx context.Context, label string) error { return u.remove(ctx, namespacePrefix+label) })
}

// ProofPlace is where who controls a cluster puts the token of its entry in the list of
// those who agree to load.
const ProofPlace = "the key token of the config map cleave-load in the namespace kube-public"

// Proof returns what stands there.
func (u *Users) Proof(ctx context.Context) ([]byte, error) {
	var found struct{ Data map[string]string }
	err := u.API.Do(ctx, http.MethodGet, "/api/v1/namespaces/kube-public/configmaps/cleave-load", nil, &found)
	return []byte(found.Data["token"]), err
}
