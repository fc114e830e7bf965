package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/lab"
)

// The variables that name a cluster of the user's.
const (
	// ContextVariable is a context of the kubeconfig; set and empty: the current one.
	ContextVariable = "CLEAVE_USE_KUBERNETES"
	// ConfigVariable has the kubeconfig files, as kubectl reads it.
	ConfigVariable = "KUBECONFIG"
	// RegistryVariable says where images go: HOST/PATH.
	RegistryVariable = "CLEAVE_REGISTRY"
)

// Users is a cluster of the user's. Nothing is asked of it before Preflight. All that is
// made there lies in one namespace, which goes with the last trial.
type Users struct {
	API     *api.Client
	Context string // of the kubeconfig

	admit    func(context.Context) error // asked before every trial; nil: nobody
	images   *registry.Repository        // nil: none is named
	looking  sync.Mutex
	looked   bool
	nodes    []api.Node // seen when it was looked at
	problems error      // found then
}

// FromEnvironment is the cluster that variables name; nil: none.
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
	if place, named := lookup(RegistryVariable); named {
		if u.images, err = registry.Parse(place); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// preflight refuses what pods of a cluster that is not ours cannot be, and what we may not
// do there.
func (u *Users) preflight(programs string, layout lab.Layout) error {
	problems := []error{
		containers.CheckServices(layout.Services, "process or docker-host"),
		containers.CheckPrograms(programs, slices.Concat(layout.Prepare, layout.Units)),
	}
	if u.images == nil {
		problems = append(problems, fmt.Errorf("the nodes of %s need a registry for the images of units: name one (--registry HOST/PATH)", u.Context))
	}
	for _, service := range layout.Services {
		if service.Files {
			problems = append(problems, fmt.Errorf("the backing service %s (%s) is a folder of this host, which the nodes of %s do not have: choose a server (--backing), such as postgres or, for documents, mongo",
				service.Name, service.Kind, u.Context))
		}
	}
	if layout.SharedMemory > 0 {
		problems = append(problems, fmt.Errorf("the units share memory, which pods of %s cannot: deploy them in another way", u.Context))
	}
	u.looking.Lock()
	defer u.looking.Unlock()
	if !u.looked {
		ctx, cancel := context.WithTimeoutCause(context.Background(), lookPatience, fmt.Errorf("no answer in %v", lookPatience))
		u.nodes, u.problems = u.look(ctx)
		cancel()
		u.looked = true
	}
	problems = append(problems, u.problems)
	users := map[string]string{} // of volumes
	for _, spec := range slices.Concat(layout.Prepare, layout.Units) {
		problems = append(problems, u.check(spec, users), u.checkLimits(spec))
	}
	return errors.Join(problems...)
}

// lookPatience is how long a cluster may take to say what we may do there.
const lookPatience = 20 * time.Second

// check refuses a unit that cannot be a pod there.
func (u *Users) check(spec lab.UnitSpec, users map[string]string) error {
	refuse := func(format string, args ...any) error {
		return &lab.Incapable{Why: fmt.Sprintf("unit %s %s: deploy it in another way, or on the private cluster", spec.Name, fmt.Sprintf(format, args...))}
	}
	if spec.Volume != "" {
		if users[spec.Volume] != "" {
			return refuse("shares the folder %s with %s, and pods of %s have no common folder", spec.Volume, users[spec.Volume], u.Context)
		}
		users[spec.Volume] = spec.Name
	}
	switch {
	case spec.Compose != nil:
		return refuse("is a compose file")
	case spec.Server != nil && slices.ContainsFunc(spec.Server.Setup, func(s lab.ServerSetup) bool { return s.Visit != nil }):
		return refuse("is prepared by visits of a client, which would need its folder in pods of their own")
	case spec.Leaves != "" || len(spec.Reads) > 0:
		return refuse("has folders of this host, which the nodes of %s do not have", u.Context)
	case len(spec.Mounts) > 0:
		return refuse("works with the folders %v of this host, which the nodes of %s do not have", spec.Mounts, u.Context)
	case len(spec.Cores) > 0:
		return refuse("asks for the processors %v, and Kubernetes chooses them itself", spec.Cores)
	case len(spec.Faults) > 0:
		return refuse("shall have the faults %v, for which Cleave needs powers on the nodes of %s that it does not have", spec.Faults, u.Context)
	case spec.Node != "" && len(u.nodes) > 0 && !slices.ContainsFunc(u.nodes, func(n api.Node) bool { return n.Metadata.Name == spec.Node }):
		return fmt.Errorf("unit %s names the node %s, and %s has none of that name", spec.Name, spec.Node, u.Context)
	}
	return nil
}

// checkLimits refuses limits that would not bite, since no node has that much.
func (u *Users) checkLimits(spec lab.UnitSpec) error {
	var most lab.Limits
	for _, node := range u.nodes {
		cores, memory := node.Allocatable()
		most.CPU, most.Memory = max(most.CPU, cores), max(most.Memory, memory)
	}
	switch {
	case most.CPU > 0 && spec.Limits.CPU > most.CPU:
		return fmt.Errorf("unit %s cannot be limited to %g processors: the largest node of %s has %g", spec.Name, spec.Limits.CPU, u.Context, most.CPU)
	case most.Memory > 0 && spec.Limits.Memory > most.Memory:
		return fmt.Errorf("unit %s cannot be limited to %d bytes: the largest node of %s has %d", spec.Name, spec.Limits.Memory, u.Context, most.Memory)
	}
	return nil
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
		err := u.API.Do(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": attributes},
		}, &review)
		if err != nil {
			return nil, fmt.Errorf("the cluster %s (%s): %w: look whether it runs, and who the kubeconfig says you are", u.Context, u.API.Address(), err)
		}
		if !review.Status.Allowed {
			denied = append(denied, strings.TrimSuffix(r.verb+" "+r.resource+"/"+r.subresource, "/"))
		}
	}
	if len(denied) > 0 {
		return nil, fmt.Errorf("the cluster %s does not let you %s: have its administrator give you a role with these rights (docs/deploying.md)",
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

// enter makes the namespace of this conductor.
func (u *Users) enter(ctx context.Context, label string) (*cluster, error) {
	c := &cluster{API: u.API, namespace: namespacePrefix + label, alive: context.WithoutCancel(ctx)}
	if err := c.makeNamespace(ctx, label); err != nil {
		return nil, fmt.Errorf("make a namespace on %s: %w", u.Context, err)
	}
	err := u.furnish(ctx, c)
	if err != nil {
		return nil, errors.Join(err, u.leave(c))
	}
	return c, nil
}

// pullSecret is the name of what nodes prove to the registry.
const pullSecret = "registry"

// furnish makes what pods of the namespace need.
func (u *Users) furnish(ctx context.Context, c *cluster) error {
	if login := u.images.Login(); login != nil {
		var secret api.Secret
		secret.Metadata.Name, secret.Type = pullSecret, "kubernetes.io/dockerconfigjson"
		secret.Data = map[string][]byte{".dockerconfigjson": login}
		if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
			return fmt.Errorf("give the nodes of %s the login of the registry: %w", u.Context, err)
		}
	}
	// The account that pods have comes a moment after the namespace, and before it none is let in.
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	for {
		err := c.API.Do(ctx, http.MethodGet, c.ours("serviceaccounts", "default"), nil, nil)
		if !api.NotFound(err) {
			return nil // if it is something else that is wrong, the first pod will tell
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the cluster %s makes no account for pods in the namespace %s: look whether its controllers run", u.Context, c.namespace)
		case <-time.After(watchAgain):
		}
	}
}

// leavePatience is how long a cluster may take to remove a namespace with all that is in it.
const leavePatience = time.Minute

// leave removes the namespace and waits until it is gone.
func (u *Users) leave(c *cluster) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(c.alive), leavePatience, fmt.Errorf("not gone after %v", leavePatience))
	defer cancel()
	if err := u.remove(ctx, c.namespace); err != nil {
		return fmt.Errorf("the namespace %s is still on %s: %w: remove it later with: %s=%s cleave clean",
			c.namespace, u.Context, err, ContextVariable, u.Context)
	}
	return nil
}

func (u *Users) remove(ctx context.Context, namespace string) error {
	path := "/api/v1/namespaces/" + namespace
	for method := http.MethodDelete; ; method = http.MethodGet {
		err := u.API.Do(ctx, method, path, nil, nil)
		if api.NotFound(err) {
			return nil
		}
		if err != nil && method == http.MethodDelete {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(watchAgain):
		}
	}
}

// hostProgram begins what stands for programs of this host, and programSeparator is between
// them.
const (
	hostProgram      = "host:"
	programSeparator = "|"
)

// foreignProgram is what an image for the user's cluster has of a unit that names its
// program: that one alone where it is the conductor's, else with all that it needs.
func foreignProgram(spec lab.UnitSpec) string {
	if !spec.Foreign {
		return spec.Program
	}
	all := []string{spec.Program}
	if spec.Server != nil {
		for _, setup := range spec.Server.Setup {
			if setup.Program != "" && !slices.Contains(all, setup.Program) {
				all = append(all, setup.Program)
			}
		}
	}
	for i, program := range all {
		if path, err := exec.LookPath(program); err == nil { // else it is told where it is not found
			all[i] = path
		}
	}
	return hostProgram + strings.Join(all, programSeparator)
}

// push puts the image of a program into the registry.
func (u *Users) push(ctx context.Context, program string) (string, error) {
	name, make := strings.ToLower(filepath.Base(program)), func() (config, layer []byte, err error) { return containers.Image(program, nil) }
	if list, ofHost := strings.CutPrefix(program, hostProgram); ofHost {
		all := strings.Split(list, programSeparator)
		name, make = strings.ToLower(filepath.Base(all[0])), func() (config, layer []byte, err error) { return containers.ImageOf(all) }
	}
	config, layer, err := make()
	if err != nil {
		return "", err
	}
	return u.images.Push(ctx, registry.Image{Name: name, Config: config, Layer: layer})
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
	if err := u.API.Do(ctx, http.MethodGet, "/api/v1/namespaces?labelSelector="+url.QueryEscape(selector), nil, &list); err != nil {
		return nil, nil, fmt.Errorf("list the namespaces of %s: %w", u.Context, err)
	}
	for _, found := range list.Items {
		name := found.Metadata.Name
		owner, ours := launch.ParseID(found.Metadata.Labels[labelKey])
		if !ours || name != namespacePrefix+owner.String() {
			continue // somebody else's use of the word
		}
		where := fmt.Sprintf("namespace %s on %s", name, u.Context)
		switch owner.Fate() {
		case launch.Unknown:
			unclear = append(unclear, where+": whether the cleave that made it still runs cannot be told from here: "+
				"it belongs to another host or container, or to a time before the last start of this host")
		case launch.Ended:
			ctx, cancel := context.WithTimeoutCause(ctx, leavePatience, fmt.Errorf("not gone after %v", leavePatience))
			if failed := u.remove(ctx, name); failed != nil {
				err = errors.Join(err, fmt.Errorf("remove the %s: %w", where, failed))
			} else {
				removed = append(removed, where)
			}
			cancel()
		}
	}
	return removed, unclear, err
}

// ProofPlace is where who controls a cluster puts the token of its entry in the list of
// those who agree to load.
const ProofPlace = "the key token of the config map cleave-load in the namespace kube-public"

// Proof is what stands there.
func (u *Users) Proof(ctx context.Context) ([]byte, error) {
	var found struct{ Data map[string]string }
	err := u.API.Do(ctx, http.MethodGet, "/api/v1/namespaces/kube-public/configmaps/cleave-load", nil, &found)
	return []byte(found.Data["token"]), err
}
