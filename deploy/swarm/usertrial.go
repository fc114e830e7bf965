package swarm

import (
	"context"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// userTrial implements siteTrial for a swarm of the user's.
type userTrial struct {
	*deployment
	site     *userSite
	cache    *taskCache
	forwards *fleet.Forwards
}

// begin implements site.
func (u *userSite) begin(d *deployment) siteTrial {
	d.manager = u.manager
	d.network = u.network
	d.patience = pullPatience
	return &userTrial{deployment: d, site: u, cache: &taskCache{}}
}

// complete implements siteTrial. Nothing restarts: only a starter could do that, and containers of users'
// images have none.
func (t *userTrial) complete(p *fleet.Platform[*service]) {
	p.SetsUp = true
	p.NoRestarts = true
	p.Reach = t.reach
	p.Dial = t.reach
	p.BetweenStages = t.awaitKnown
	p.Next = t.next
	p.Clear = t.clear
	p.NodeOf = func(s *service) string {
		task, _ := t.cache.latest(s.id)
		return t.site.nodeName(task.NodeID)
	}
	p.AwaitOpen = func(context.Context, *service) error { return nil } // the starter has waited for that
	p.Daemons = func() ([]lab.Unit, string) {
		return nil, "the swarm is the user's, of whose nodes nothing is read"
	}
}

// endNotice is the longest delay until the manager knows that a program has ended.
const endNotice = 3 * time.Second

// open implements siteTrial: it makes the forwards, starts to update the cache, and checks the servers.
func (t *userTrial) open(_ context.Context, _ lab.Layout, units []lab.UnitSpec) error {
	t.SetServerNotice(endNotice)
	t.forwards = t.NewForwards(func(endpoint string) (net.Conn, error) {
		return t.site.through(t.Watching, t.trial.Endpoints[endpoint].Dial)
	})
	go t.watch()
	return t.site.swarm.asUserCluster().CheckServers(units)
}

// trialOf implements siteTrial. Programs of the conductor, which start last, get IP addresses in place of
// names: the load engine does not resolve names.
func (t *userTrial) trialOf(spec lab.UnitSpec) containers.Trial {
	trial := t.trial
	isConductors := spec.Program != "" && !spec.Foreign
	if !isConductors {
		return trial
	}
	trial.Endpoints = maps.Clone(trial.Endpoints)
	for name, endpoint := range trial.Endpoints {
		unit, port, err := net.SplitHostPort(endpoint.Dial)
		s := t.Named(unit)
		if err != nil || s == nil {
			continue
		}
		task, _ := t.cache.latest(s.id)
		if address := t.site.addressOf(task); address != "" {
			endpoint.Dial = net.JoinHostPort(address, port)
			trial.Endpoints[name] = endpoint
		}
	}
	return trial
}

// tasks implements siteTrial: it returns the cached task.
func (t *userTrial) tasks(_ context.Context, service string) ([]engine.Task, error) {
	if task, known := t.cache.latest(service); known {
		return []engine.Task{task}, nil
	}
	return nil, nil
}

// place implements siteTrial. Units publish no ports on the user's nodes.
func (t *userTrial) place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort) {
	if spec.Node == "" {
		return engine.Placement{}, nil
	}
	return onNamed(spec.Node), nil
}

// reach returns the address at which this host reaches an endpoint, which is a forward; "" if it is unknown.
func (t *userTrial) reach(endpoint string) string {
	if _, listens := t.trial.Endpoints[endpoint]; !listens {
		return ""
	}
	return t.forwards.To(endpoint)
}

// awaitKnown waits until every node can resolve the names of units.
func (t *userTrial) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if err := untilFinished(ctx, t.Named(spec.Name), func(ctx context.Context) error {
			return t.site.awaitKnown(ctx, spec.Name)
		}); err != nil {
			return err
		}
	}
	return nil
}

// next returns the next life of a unit, in the same container.
func (t *userTrial) next(_ context.Context, ended *service, _ bool) (*service, error) {
	s := &service{Unit: fleet.NewUnit(ended.Spec), deployment: t.deployment, id: ended.id, made: ended.made,
		token: ended.token}
	before := ended.siteLife.(*userLife)
	s.siteLife = t.lifeIn(s, before.userTask, before.Starter)
	return s, nil
}

// clear removes the services of the trial, and waits until the nodes have ended their tasks.
func (t *userTrial) clear() error {
	defer t.forwards.Close()
	ctx, cancel := context.WithTimeoutCause(t.Watching, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	err := t.removeAll(ctx)
	if err == nil {
		err = t.cache.awaitNone(ctx, t.Everything())
	}
	if err != nil {
		return fmt.Errorf("the swarm %s still has something of the trial: %w", t.site.swarm.Name, err)
	}
	return nil
}
