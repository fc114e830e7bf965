package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// userSite is our namespace on a cluster of the user's.
type userSite struct {
	*UserCluster
	deployer *Deployer
}

// preflight returns why a layout cannot run on this cluster, and which rights we lack there.
func (s *userSite) preflight(ctx context.Context, layout lab.Layout) error {
	s.inspecting.Do(func() {
		ctx, cancel := context.WithTimeoutCause(ctx, inspectPatience,
			fmt.Errorf("no answer in %v", inspectPatience))
		defer cancel()
		s.nodes, s.unusable = s.inspect(ctx)
	})
	checked := s.asUserCluster().CheckLayout(layout, s.deployer.programs, s.Starter)
	problems := errors.Join(checked, s.unusable, containers.CheckDescribed("Kubernetes", layout.Units, lacks),
		checkHealth(layout.Units))
	if s.unusable != nil {
		return problems
	}
	return errors.Join(problems, s.checkCuts(ctx, layout))
}

// checkHealth returns an error for every service without a health check of its own for whose health others
// wait. The image may have a health check, for which the service may have settings, but Kubernetes ignores
// it.
func checkHealth(units []lab.UnitSpec) error {
	var problems []error
	for _, spec := range units {
		if spec.Container == nil || !spec.Readiness.Healthy {
			continue
		}
		check := cmp.Or(spec.Container.Health, &lab.HealthCheck{})
		if check.Port == 0 && len(check.Test) == 0 {
			problems = append(problems, &lab.Incapable{Why: fmt.Sprintf("unit %s has no health check of its own, and "+
				"others wait until it is healthy: give it one (healthcheck), since Kubernetes does not read that of "+
				"its image", spec.Name)})
		}
	}
	return errors.Join(problems...)
}

// can returns the capabilities of a cluster of the user's: the faults that starters and cutters do, and
// spans.
func (s *userSite) can() lab.Capabilities {
	return lab.Capabilities{Faults: append(fleet.StarterFaults(), lab.FaultCut), Spans: true,
		Links: func() error {
			return fmt.Errorf("hosts: the links of the nodes of %s are not ours to change: use the private cluster, "+
				"or leave them out", s.Context)
		},
		Autoscale: func() error {
			return fmt.Errorf("autoscale: on %s every pod has files of its own, and Kubernetes makes replicas alike: "+
				"give a number of replicas, or use the private cluster", s.Context)
		}}
}

// enter makes the namespace of this conductor and what pods need in it.
func (s *userSite) enter(ctx context.Context) (*cluster, error) {
	label := s.deployer.label
	c := &cluster{API: s.API, name: s.Context, namespace: namespacePrefix + label, patience: pullPatience,
		logsIn: s.images.Login() != nil, alive: context.WithoutCancel(ctx)}
	if err := c.makeNamespace(ctx, label); err != nil {
		return nil, fmt.Errorf("make a namespace on %s: %w", s.Context, err)
	}
	if err := s.furnish(ctx, c); err != nil {
		return nil, errors.Join(err, s.leave(c))
	}
	return c, nil
}

// pullSecret is the name of the secret with which nodes log in to the registry.
const pullSecret = "registry"

// furnish makes the secret of the registry and waits for the account of pods.
func (s *userSite) furnish(ctx context.Context, c *cluster) error {
	if login := s.images.Login(); login != nil {
		var secret api.Secret
		secret.Metadata.Name = pullSecret
		secret.Type = "kubernetes.io/dockerconfigjson"
		secret.Data = map[string][]byte{".dockerconfigjson": login}
		if err := c.API.Do(ctx, http.MethodPost, c.ours("secrets"), secret, nil); err != nil {
			return fmt.Errorf("give the nodes of %s the login of the registry: %w", s.Context, err)
		}
	}
	// Kubernetes makes this account a moment after the namespace, and refuses pods before.
	ctx, cancel := context.WithTimeoutCause(ctx, inspectPatience, fmt.Errorf("none after %v", inspectPatience))
	defer cancel()
	if err := fleet.Until(ctx, watchAgain, func() (bool, error) {
		err := c.API.Do(ctx, http.MethodGet, c.ours("serviceaccounts", "default"), nil, nil)
		if api.Forbidden(err) { // the first pod will show whether the account exists
			return true, nil
		}
		return err == nil, err
	}); err != nil {
		return fmt.Errorf("the cluster %s makes no account for pods in the namespace %s: %w: look whether its "+
			"controllers run", s.Context, c.namespace, err)
	}
	return nil
}

// leavePatience limits how long a cluster may take to remove a namespace with everything in it.
const leavePatience = time.Minute

// leave removes the namespace and waits until it is gone.
func (s *userSite) leave(c *cluster) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(c.alive), leavePatience,
		fmt.Errorf("not gone after %v", leavePatience))
	defer cancel()
	if err := s.remove(ctx, c.namespace); err != nil {
		return fmt.Errorf("the namespace %s is still on %s: %w: remove it later with: %s=%s cleave clean",
			c.namespace, s.Context, err, ContextVariable, s.Context)
	}
	return nil
}

// load implements site.
func (s *userSite) load(
	ctx context.Context, content string, isUsers bool,
) (image string, bytes int, err error) {
	return s.images.Load(ctx, s.Starter, content, isUsers)
}

// places implements site: layouts name the nodes of the user's cluster as the cluster does. It refuses
// servers that cannot run there.
func (s *userSite) places(specs []lab.UnitSpec, _ map[string]lab.Network) (map[string]string, error) {
	places := map[string]string{}
	for _, spec := range specs {
		places[spec.Node] = spec.Node
	}
	return places, s.asUserCluster().CheckServers(specs)
}

// complete implements site. Servers are set up in their own pods. Nothing restarts: only a starter could do
// that, and containers of users' images have none.
func (s *userSite) complete(d *deployment, p *fleet.Platform[*pod]) {
	p.SetsUp = true
	p.NoRestarts = true
	p.Reach = d.reachUncut
	p.Dial = d.reach
	p.Next = d.next
	p.Cut = d.cutByFilter
	p.AwaitOpen = awaitRouted
	p.Daemons = func() ([]lab.Unit, string) {
		return nil, "the cluster is the user's, of whose nodes nothing is read"
	}
}

// routeDelay is the longest time until the nodes of a cluster route calls to a pod that has become ready.
// kube-proxy applies changes once a second by default.
const routeDelay = 2 * time.Second

// awaitRouted waits for routeDelay after a described container has become ready: we cannot ask the nodes
// whether they route calls to it. For our units, the starter waits until they listen.
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
