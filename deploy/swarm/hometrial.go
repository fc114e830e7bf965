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

// homeTrial implements siteTrial for a swarm of the user's.
type homeTrial struct {
	*deployment
	home     *home
	cache    *taskCache
	forwards *fleet.Forwards
}

func (h *home) begin(d *deployment) siteTrial {
	d.manager, d.network, d.patience = h.manager, h.network, pullPatience
	return &homeTrial{deployment: d, home: h, cache: &taskCache{changed: make(chan struct{})}}
}

// complete declares what is done to services, most of it by their starters. Only these begin further lives,
// and the images of users have none.
func (t *homeTrial) complete(p *fleet.Platform[*service]) {
	p.SetsUp, p.NoRestarts, p.Reach, p.Dial = true, true, t.reach, t.reach
	p.Followed, p.Next, p.Clear = t.awaitKnown, t.next, t.clear
	p.NodeOf = func(s *service) string {
		task, _, _, _ := t.cache.latest(s.id)
		return t.home.nodeName(task.NodeID)
	}
	p.AwaitOpen = func(context.Context, *service) error { return nil } // a starter has seen that it listens
	p.Daemons = func() ([]lab.Unit, string) {
		return nil, "the swarm is the user's, of whose nodes nothing is read"
	}
}

// newsPatience is how late the manager hears that a program has ended.
const newsPatience = 3 * time.Second

func (t *homeTrial) open(_ context.Context, _ lab.Layout, units []lab.UnitSpec) error {
	t.NewsTake(newsPatience)
	t.forwards = t.NewForwards(func(endpoint string) (net.Conn, error) {
		return t.home.through(t.Watching, t.trial.Endpoints[endpoint].Dial)
	})
	users := map[string]string{}
	for _, spec := range units {
		if spec.Server == nil { // else Preflight does not know it
			continue
		}
		if err := t.home.swarm.asUserCluster().Check(spec, users); err != nil {
			return err
		}
	}
	go t.watch()
	return nil
}

// trialOf returns what a unit is told of its trial. Programs of the conductor's, which start last, are
// told addresses in place of names: the load engine looks nothing up.
func (t *homeTrial) trialOf(spec lab.UnitSpec) containers.Trial {
	trial := t.trial
	if spec.Program == "" || spec.Foreign {
		return trial
	}
	trial.Endpoints = maps.Clone(trial.Endpoints)
	for name, endpoint := range trial.Endpoints {
		unit, port, err := net.SplitHostPort(endpoint.Dial)
		s := t.Named(unit)
		if err != nil || s == nil {
			continue
		}
		task, _, _, _ := t.cache.latest(s.id)
		if address := t.home.addressOf(task); address != "" {
			endpoint.Dial = net.JoinHostPort(address, port)
			trial.Endpoints[name] = endpoint
		}
	}
	return trial
}

func (t *homeTrial) tasks(_ context.Context, service string) ([]engine.Task, error) {
	if task, known, _, _ := t.cache.latest(service); known {
		return []engine.Task{task}, nil
	}
	return nil, nil
}

// place has a unit where the layout wants it. Ports of nodes are not ours to take.
func (t *homeTrial) place(spec lab.UnitSpec) (engine.Placement, []engine.PublishedPort) {
	if spec.Node == "" {
		return engine.Placement{}, nil
	}
	return onNamed(spec.Node), nil
}

// reach returns the address at which this host reaches a unit; "": it does not listen.
func (t *homeTrial) reach(endpoint string) string {
	if _, listens := t.trial.Endpoints[endpoint]; !listens {
		return ""
	}
	return t.forwards.To(endpoint)
}

// awaitKnown waits until units are found by their names.
func (t *homeTrial) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if err := untilFinished(ctx, t.Named(spec.Name), func(ctx context.Context) error {
			return t.home.awaitKnown(ctx, spec.Name)
		}); err != nil {
			return err
		}
	}
	return nil
}

// next returns another life of a unit, in the container of the one that has ended.
func (t *homeTrial) next(_ context.Context, ended *service, _ bool) (*service, error) {
	s := &service{Unit: fleet.NewUnit(ended.Spec), deployment: t.deployment, id: ended.id, made: ended.made,
		token: ended.token}
	before := ended.siteLife.(*homeLife)
	s.siteLife = t.lifeIn(s, before.room, before.Starter)
	return s, nil
}

// clear removes the services of the trial, and waits until the nodes have ended their tasks.
func (t *homeTrial) clear() error {
	defer t.forwards.Close()
	ctx, cancel := context.WithTimeoutCause(t.Watching, removePatience,
		fmt.Errorf("not removed after %v", removePatience))
	defer cancel()
	err := t.removeAll(ctx)
	if err == nil {
		err = t.cache.awaitNone(ctx, t.Everything())
	}
	if err != nil {
		return fmt.Errorf("the swarm %s still has something of the trial: %w", t.home.swarm.Name, err)
	}
	return nil
}
