package users

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*service]
	deployer *Deployer
	home     *home
	trial    containers.Trial // its endpoints are the addresses in the network of the units
	news     *news
	doors    *fleet.Doors
}

// firstPort is the first that a unit listens on, which has an address of its own. Before it are
// that at which it waits for its conductor, and that of its starter.
const (
	firstPort   = doorPort + 1
	starterPort = doorPort - 1
)

// assign gives every unit its addresses in the network of the units.
func (d *deployment) assign(specs []lab.UnitSpec) {
	for _, spec := range specs {
		for i, name := range spec.Endpoints() {
			port := strconv.Itoa(firstPort + i)
			d.trial.Endpoints[name] = lab.Endpoint{Bind: net.JoinHostPort("0.0.0.0", port),
				Dial: net.JoinHostPort(spec.Name, port)}
		}
	}
}

// atOnce is how many services are started, or removed, at the same time.
const atOnce = 16

// awaitKnown waits until units are found by their names.
func (d *deployment) awaitKnown(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if err := d.home.awaitKnown(ctx, spec.Name); err != nil {
			return err
		}
	}
	return nil
}

// newService returns a service that is not made yet.
func (d *deployment) newService(spec lab.UnitSpec) *service {
	return d.newLife(spec, &hosted{starter: fleet.NewStarter(spec,
		func(ctx context.Context) (net.Conn, error) {
			return d.home.through(ctx, net.JoinHostPort(spec.Name, strconv.Itoa(starterPort)))
		})})
}

// newLife begins a life of a unit in what the swarm has of it.
func (d *deployment) newLife(spec lab.UnitSpec, of *hosted) *service {
	s := &service{Unit: fleet.NewUnit(spec), hosted: of, deployment: d}
	s.lives, s.over = context.WithCancel(d.Watching)
	s.ReadLog = s.readLog
	return s
}

// trialOf returns what a unit is told of its trial. Programs of the conductor's, which start last, are
// told addresses in place of names: the load engine looks nothing up.
func (d *deployment) trialOf(spec lab.UnitSpec) containers.Trial {
	trial := d.trial
	if spec.Program == "" || spec.Foreign {
		return trial
	}
	trial.Endpoints = maps.Clone(trial.Endpoints)
	for name, endpoint := range trial.Endpoints {
		unit, port, err := net.SplitHostPort(endpoint.Dial)
		s := d.Named(unit)
		if err != nil || s == nil {
			continue
		}
		task, _, _, _ := d.news.latest(s.id)
		if address := d.home.addressOf(task); address != "" {
			endpoint.Dial = net.JoinHostPort(address, port)
			trial.Endpoints[name] = endpoint
		}
	}
	return trial
}

// reach returns the address at which this host reaches a unit; "": it does not listen.
func (d *deployment) reach(endpoint string) string {
	if _, listens := d.trial.Endpoints[endpoint]; !listens {
		return ""
	}
	return d.doors.To(endpoint)
}

// nodeOf returns the node of a service.
func (d *deployment) nodeOf(s *service) string {
	task, _, _, _ := d.news.latest(s.id)
	return d.home.nodeName(task.NodeID)
}

// Meter implements lab.Deployment.
func (d *deployment) Meter() lab.Meter { return d.SelfMeter() }

// clear removes the services of the trial, and waits until the nodes have ended their tasks.
func (d *deployment) clear() error {
	defer d.doors.Close()
	ctx, cancel := context.WithTimeoutCause(d.Watching, leavePatience,
		fmt.Errorf("not removed after %v", leavePatience))
	defer cancel()
	services := d.Everything()
	err := fleet.ForAll(ctx, atOnce, services,
		func(ctx context.Context, s *service) error { return s.remove(ctx) })
	if err == nil {
		err = d.news.awaitNone(ctx, services)
	}
	if err != nil {
		return fmt.Errorf("the swarm %s still has something of the trial: %w", d.home.swarm.Name, err)
	}
	return nil
}
