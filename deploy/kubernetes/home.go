package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/lab"
)

// home is a namespace on a cluster of the user's.
type home struct {
	*Users
	deployer *Deployer
}

// preflight refuses what pods of a cluster that is not ours cannot be, and what we may not
// do there.
func (h *home) preflight(ctx context.Context, layout lab.Layout) error {
	h.looked.Do(func() {
		ctx, cancel := context.WithTimeoutCause(ctx, lookPatience, fmt.Errorf("no answer in %v", lookPatience))
		defer cancel()
		h.nodes, h.wrong = h.look(ctx)
	})
	return errors.Join(h.asUserCluster().CheckLayout(layout, h.deployer.programs, h.Starter), h.wrong,
		containers.CheckDescribed("Kubernetes", layout.Units, lacks), checkHealth(layout.Units))
}

// checkHealth refuses services that others wait for until they are healthy and whose health check is their
// image's: Kubernetes reads none of those.
func checkHealth(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		if spec.Container != nil && spec.Readiness.Healthy && spec.Container.Health == nil {
			problems = append(problems, &lab.Incapable{Why: fmt.Sprintf("unit %s has no health check of its own, and "+
				"others wait until it is healthy: give it one (healthcheck), since Kubernetes does not read that of "+
				"its image", spec.Name)})
		}
	}
	return errors.Join(problems...)
}

// can returns what the starters of units can do, without powers on nodes.
func (h *home) can() lab.Capabilities {
	return lab.Capabilities{Faults: fleet.StarterFaults(), Spans: true,
		Links: func() error {
			return fmt.Errorf("hosts: the links of the nodes of %s are not ours to change: use the private cluster, "+
				"or leave them out", h.Context)
		},
		Autoscale: func() error {
			return fmt.Errorf("autoscale: on %s every pod has files of its own, and Kubernetes makes replicas alike: "+
				"give a number of replicas, or use the private cluster", h.Context)
		}}
}

// enter makes the namespace of this conductor.
func (h *home) enter(ctx context.Context) (*cluster, error) {
	label := h.deployer.label
	c := &cluster{API: h.API, name: h.Context, namespace: namespacePrefix + label, patience: pullPatience,
		pulls: h.images.Login() != nil, alive: context.WithoutCancel(ctx)}
	if err := c.makeNamespace(ctx, label); err != nil {
		return nil, fmt.Errorf("make a namespace on %s: %w", h.Context, err)
	}
	if err := h.furnish(ctx, c); err != nil {
		return nil, errors.Join(err, h.leave(c))
	}
	return c, nil
}

// pullSecret is the name of what nodes prove to the registry.
const pullSecret = "registry"

// furnish makes what pods of the namespace need.
func (h *home) furnish(ctx context.Context, c *cluster) error {
	if login := h.images.Login(); login != nil {
		var secret api.Secret
		secret.Metadata.Name, secret.Type = pullSecret, "kubernetes.io/dockerconfigjson"
		secret.Data = map[string][]byte{".dockerconfigjson": login}
		if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
			return fmt.Errorf("give the nodes of %s the login of the registry: %w", h.Context, err)
		}
	}
	// The account that pods have comes a moment after the namespace, and before it none is let in.
	ctx, cancel := context.WithTimeoutCause(ctx, lookPatience, fmt.Errorf("none after %v", lookPatience))
	defer cancel()
	if err := fleet.Until(ctx, watchAgain, func() (bool, error) {
		// If something else is wrong, the first pod will show it.
		return !api.NotFound(c.API.Do(ctx, http.MethodGet, c.ours("serviceaccounts", "default"), nil, nil)), nil
	}); err != nil {
		return fmt.Errorf("the cluster %s makes no account for pods in the namespace %s: %w: look whether its "+
			"controllers run", h.Context, c.namespace, err)
	}
	return nil
}

// leavePatience bounds the wait until a cluster has removed a namespace with all that is in it.
const leavePatience = time.Minute

// leave removes the namespace and waits until it is gone.
func (h *home) leave(c *cluster) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(c.alive), leavePatience,
		fmt.Errorf("not gone after %v", leavePatience))
	defer cancel()
	if err := h.remove(ctx, c.namespace); err != nil {
		return fmt.Errorf("the namespace %s is still on %s: %w: remove it later with: %s=%s cleave clean",
			c.namespace, h.Context, err, ContextVariable, h.Context)
	}
	return nil
}

// load puts the image of a program into the registry, with the starter beside it. Nodes pull images of the
// user's by their names.
func (h *home) load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error) {
	if isUsers {
		return content, 0, nil
	}
	name, config, layer, err := containers.Pushed(content, h.Starter)
	if err == nil {
		image, err = h.images.Push(ctx, registry.Image{Name: name, Config: config, Layer: layer})
	}
	return image, len(layer), err
}

// places leaves units the names of nodes that the user has.
func (h *home) places(specs []lab.UnitSpec, _ map[string]lab.Network) (map[string]string, error) {
	places := map[string]string{}
	for _, spec := range specs {
		places[spec.Node] = spec.Node
	}
	return places, nil
}

// complete declares what is done to pods by their starters. Servers are set up in their own pods. Only a
// starter begins a further life there, and the images of users have none.
func (h *home) complete(d *deployment, p *fleet.Platform[*pod]) {
	p.SetsUp, p.NoRestarts, p.Reach, p.Dial, p.Next = true, true, d.reach, d.reach, d.next
	p.AwaitOpen = awaitRouted
	p.Daemons = func() ([]lab.Unit, string) {
		return nil, "the cluster is the user's, of whose nodes nothing is read"
	}
}

// routeDelay bounds the time that the nodes of a cluster take to lead callers to a pod that has become ready.
// kube-proxy takes in changes once a second by default.
const routeDelay = 2 * time.Second

// awaitRouted waits until callers are led to a pod that has become ready. Nothing is read of the nodes that
// could tell. Of a unit of ours its starter has seen that it listens.
func awaitRouted(ctx context.Context, p *pod) error {
	if p.Spec.Container == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(routeDelay):
		return nil
	}
}
