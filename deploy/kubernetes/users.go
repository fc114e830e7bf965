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

// Environment variables that name a cluster of the user's.
const (
	// ContextVariable names a context of the kubeconfig; set and empty: the current one.
	ContextVariable = "CLEAVE_USE_KUBERNETES"
	// ConfigVariable lists the kubeconfig files, as for kubectl.
	ConfigVariable = "KUBECONFIG"
)

// UserCluster is a cluster of the user's. It is first contacted by Preflight. Cleave's objects there are in
// one namespace, which is removed after the last trial.
type UserCluster struct {
	API     *api.Client
	Context string // of the kubeconfig
	Starter string // path of the starter program (unit/starter), the first process of units with faults

	images *registry.Repository // nil: none is named

	inspecting sync.Once  // guards the fields below, which Preflight sets
	nodes      []api.Node // none: they cannot be listed
	unusable   error      // why the cluster cannot be used
}

// FromEnvironment returns the cluster that the environment variables name, or nil if they name none.
func FromEnvironment(lookup func(string) (string, bool)) (*UserCluster, error) {
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
	u := &UserCluster{}
	var err error
	if u.API, u.Context, err = api.Open(paths, chosen); err != nil {
		return nil, err
	}
	if u.images, err = registry.FromEnvironment(lookup); err != nil {
		return nil, err
	}
	return u, nil
}

// inspectPatience limits how long a cluster may take to answer what we may do there.
const inspectPatience = 20 * time.Second

// asUserCluster describes the cluster for the checks of layouts. Before inspect it lists no nodes.
func (u *UserCluster) asUserCluster() containers.UserCluster {
	c := containers.UserCluster{Name: u.Context, Units: "pods", Ours: "cluster",
		Cores: "Kubernetes chooses them itself", NoNode: "none of that name",
		Registry: u.images != nil, Cuts: true}
	for _, node := range u.nodes {
		cores, memory := node.Allocatable()
		c.Nodes = append(c.Nodes, node.Metadata.Name)
		c.Largest.CPU = max(c.Largest.CPU, cores)
		c.Largest.Memory = max(c.Largest.Memory, memory)
	}
	return c
}

// right is a right that we need on the cluster.
type right struct{ verb, resource, subresource string }

// rights returns all rights that we need.
func rights() []right {
	return []right{
		{"create", "namespaces", ""}, {"get", "namespaces", ""}, {"delete", "namespaces", ""},
		{"create", "pods", ""}, {"get", "pods", ""}, {"list", "pods", ""}, {"watch", "pods", ""},
		{"delete", "pods", ""},
		{"get", "pods", "log"}, {"get", "pods", "portforward"}, {"create", "pods", "portforward"},
		{"create", "services", ""}, {"delete", "services", ""},
		{"create", "secrets", ""}, {"delete", "secrets", ""},
	}
}

// inspect returns the nodes of the cluster, or none if it cannot list them: we may lack that right. It fails
// if the cluster does not answer, or we lack one of the rights that we need.
func (u *UserCluster) inspect(ctx context.Context) (nodes []api.Node, err error) {
	if err := u.require(ctx, rights()); err != nil {
		return nil, err
	}
	var list struct{ Items []api.Node }
	err = u.API.Do(ctx, http.MethodGet, "/api/v1/nodes", nil, &list)
	if err != nil && !api.Forbidden(err) {
		return nil, fmt.Errorf("list the nodes of %s: %w", u.Context, err)
	}
	return list.Items, nil
}

// require fails if the cluster does not answer, or we lack one of the wanted rights.
func (u *UserCluster) require(ctx context.Context, wanted []right) error {
	var denied []string
	for _, r := range wanted {
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
			return fmt.Errorf("the cluster %s (%s): %w: look whether it runs, and who the kubeconfig says you are",
				u.Context, u.API.Address(), err)
		}
		if !review.Status.Allowed {
			denied = append(denied, strings.TrimSuffix(r.verb+" "+r.resource+"/"+r.subresource, "/"))
		}
	}
	if len(denied) > 0 {
		return fmt.Errorf("the cluster %s does not let you %s: have its administrator give you a role with "+
			"these rights (docs/deploying.md)", u.Context, strings.Join(denied, ", "))
	}
	return nil
}

// namespacePrefix begins the names of our namespaces; the conductor's label follows.
const namespacePrefix = "cleave-"

// remove removes a namespace and waits until it is gone.
func (u *UserCluster) remove(ctx context.Context, namespace string) error {
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

// Clean removes the namespaces of dead conductors and returns a description of each. It keeps the namespaces
// of conductors of which this host cannot tell whether they are dead, and returns them as unclear. With a
// label it looks only at the namespace of that conductor.
func (u *UserCluster) Clean(ctx context.Context, label string) (removed, unclear []string, err error) {
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

// ProofPlace says, for messages, where the owner of a cluster puts the token that proves consent to load.
const ProofPlace = "the key token of the config map cleave-load in the namespace kube-public"

// Proof returns the token at ProofPlace.
func (u *UserCluster) Proof(ctx context.Context) ([]byte, error) {
	var found struct{ Data map[string]string }
	err := u.API.Do(ctx, http.MethodGet, "/api/v1/namespaces/kube-public/configmaps/cleave-load", nil, &found)
	return []byte(found.Data["token"]), err
}
