package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/lab"
)

// deployment is a running layout.
type deployment struct {
	*fleet.Fleet[*pod]
	deployer *Deployer
	cluster  *cluster
	lead     string
	dir      string
	trial    string            // value of labelTrial of its pods
	placed   map[string]string // nodes of the cluster, by the names of nodes in the layout
	memory   string            // path of the file with the units' shared memory; "": they share none
	pods     *podCache
	accounts *accounts
	services []string                      // names of the services made so far
	routed   []string                      // addresses of services with a route of their own: see routeViaNode
	forwards *fleet.Forwards               // from this host to units of the user's cluster
	tunnel   *spanTunnel                   // for spans from there to this host; nil: none are received
	scaled   []*scaled                     // units that the cluster replicates
	arrived  chan lab.Arrived              // replicas that the cluster has added
	aliases  []api.HostAlias               // the names of described containers, for all pods
	configs  map[string]engine.ImageConfig // of the images of described containers

	mu        sync.Mutex // guards podsNamed, scaled, and the name, address and node of every pod
	podsNamed int        // number of names given to pods so far
}

// endNotice is the longest delay until the cluster reports that a program has ended. The kubelet checks
// once a second.
const endNotice = 5 * time.Second

func newDeployment(
	ctx context.Context, d *Deployer, cluster *cluster, layout lab.Layout, dir string,
) *deployment {
	supervisor := fleet.NewSupervisor(layout, fleet.HandedOver(dir))
	supervisor.SetServerNotice(endNotice)
	made := &deployment{
		deployer: d, cluster: cluster, lead: layout.Lead, dir: dir,
		trial: strings.ToLower(filepath.Base(dir)),
		pods:  newPodCache(), accounts: newAccounts(), configs: map[string]engine.ImageConfig{},
		arrived: make(chan lab.Arrived, arrivals),
	}
	platform := fleet.Platform[*pod]{
		Name: d.Name(), Faults: d.Can().Faults, SharesMemory: layout.SharedMemory > 0,
		AtOnce: atOnce, Span: lab.SpanContainer, New: made.newPod,
		Skip: isScaled, Started: made.started, Further: made.onStandby,
		Discard: func(ctx context.Context, p *pod) error { return p.remove(ctx) },
		NodeOf:  made.nodeOf, Clear: made.clear, OwnClocks: true, Made: &d.made,
	}
	d.site.complete(made, &platform)
	made.Fleet = fleet.New(ctx, supervisor, dir, platform)
	made.Wanted = links.Of(layout.Links, layout.Units)
	made.forwards = supervisor.NewForwards(made.connectTo)
	return made
}

// open makes what units need before they start.
func (d *deployment) open(ctx context.Context, layout lab.Layout, units []lab.UnitSpec) (err error) {
	// Preflight has placed the units too, but without the servers, which units contains now.
	if d.placed, err = d.deployer.site.places(units, layout.Links); err != nil {
		return err
	}
	go d.watch()
	go d.account()
	if err := d.connect(ctx, units); err != nil {
		return err
	}
	d.memory, err = containers.MakeMemory(d.dir, layout.SharedMemory)
	return err
}

// Labels.
const (
	labelTrial = "trial"                  // of all pods of a trial
	labelUnit  = "unit"                   // selects the pods of a unit's service
	labelGroup = "group"                  // of the pods that a ReplicaSet makes: the unit that they replicate
	labelNames = "names"                  // selects the pods of a service for names: see nameDescribed
	hostname   = "kubernetes.io/hostname" // of nodes
)

// connect makes a service for every unit that has endpoints: peers call the unit at the address of its
// service. It then makes what links and faults of the units need.
func (d *deployment) connect(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		listens := containers.PortsOf(spec)
		if len(listens) == 0 {
			continue
		}
		var ports []lab.ContainerPort
		for _, port := range listens {
			ports = append(ports, lab.ContainerPort{Port: port})
		}
		address, err := d.makeService(ctx, spec.Name, labelUnit, spec.Name, ports)
		if err != nil {
			return fmt.Errorf("give unit %s an address: %w", spec.Name, err)
		}
		if err := d.routeViaNode(ctx, spec, address); err != nil {
			return err
		}
		for i, name := range spec.Endpoints() {
			d.Endpoints[name] = lab.Endpoint{Bind: containers.AnyAddress(listens[i]),
				Dial: net.JoinHostPort(address, strconv.Itoa(listens[i]))}
		}
	}
	if err := d.nameDescribed(ctx, specs); err != nil {
		return err
	}
	private := d.cluster.private
	if private == nil { // we cannot change the nodes of a cluster of the user's
		return d.receiveSpans(ctx, specs)
	}
	return d.Furnish(ctx, specs, private.Hosts.Here(), d.host, private.Hosts.Show)
}

// makeService makes a service for the trial's pods with a label, and returns its IP address.
func (d *deployment) makeService(
	ctx context.Context, name, label, value string, ports []lab.ContainerPort,
) (address string, err error) {
	var made api.Service
	made.Metadata.Name = name
	made.Spec.Selector = map[string]string{labelTrial: d.trial, label: value}
	for i, port := range ports {
		made.Spec.Ports = append(made.Spec.Ports, api.ServicePort{Name: "port-" + strconv.Itoa(i),
			Port: port.Port, TargetPort: port.Target})
	}
	d.services = append(d.services, name)
	err = d.cluster.API.Do(ctx, http.MethodPost, d.cluster.ours("services"), made, &made)
	return made.Spec.ClusterIP, err
}

// reachDirectly gives peers the pod addresses of units that shall be called without their service.
func (d *deployment) reachDirectly(specs []lab.UnitSpec) {
	for _, spec := range specs {
		if spec.Reached != lab.ReachDirect {
			continue
		}
		for i, name := range spec.Endpoints() {
			port := strconv.Itoa(containers.PortsOf(spec)[i])
			address := net.JoinHostPort(d.Named(spec.Name).address, port)
			if relay := d.Relays[name]; relay != nil {
				relay.SetTarget(address)
				continue
			}
			d.Endpoints[name] = lab.Endpoint{Bind: d.Endpoints[name].Bind, Dial: address}
		}
	}
}

// shared returns what is the same for all pods of the trial. trialOf returns it for one unit, which calls the
// units of its own node without the relays of delayed links.
func (d *deployment) shared() containers.Trial {
	return containers.Trial{Label: d.deployer.label, Dir: d.dir, Memory: d.memory, Endpoints: d.Endpoints,
		Binds: true, VolumesInDir: d.cluster.private != nil, Apart: d.cluster.private == nil}
}

// watch updates the cache of the trial's pods until the trial ends. It fails the trial if the cluster ends,
// or does not answer for apiPatience.
func (d *deployment) watch() {
	defer context.AfterFunc(d.cluster.alive, func() {
		d.Fail(fmt.Errorf("the cluster has ended: %w", context.Cause(d.cluster.alive)))
	})()
	answered := time.Now()
	for d.Watching.Err() == nil {
		ctx, cancel := fleet.Patient(d.Watching, answered, apiPatience)
		pods, version, err := d.cluster.API.Pods(ctx, d.cluster.namespace, labelTrial+"="+d.trial)
		cancel()
		if err != nil && time.Since(answered) >= apiPatience {
			d.Fail(fmt.Errorf("the cluster %s has not answered for %v: %w: look whether its API server runs",
				d.cluster.name, apiPatience, err))
		}
		if err == nil {
			d.pods.reset(pods)
			err = d.cluster.API.Watch(d.Watching, d.cluster.namespace, labelTrial+"="+d.trial, version, d.pods.store)
			answered = time.Now()
		}
		if err != nil {
			select {
			case <-d.Watching.Done():
			case <-time.After(watchAgain):
			}
		}
	}
}

// apiPatience limits how long a cluster may be silent before the trial fails.
const apiPatience = 30 * time.Second

// watchAgain is the pause before a failed request is repeated.
const watchAgain = 100 * time.Millisecond

// atOnce is the number of pods that are started, or removed, at the same time.
const atOnce = 16

// started implements fleet.Platform.Started: it starts units that the cluster replicates, and gives peers the
// addresses of pods that they shall call directly.
func (d *deployment) started(ctx context.Context, stage []lab.UnitSpec) error {
	if err := d.startScaled(ctx, stage); err != nil {
		return err
	}
	d.reachDirectly(stage)
	return nil
}

// clear removes the trial's pods and services. If a private cluster cannot do that any more, clear ends the
// cluster, and the pods with it.
func (d *deployment) clear() error {
	defer d.forwards.Close()
	problems := []error{d.restoreLinks(), d.endScaling(), fleet.ForAll(d.Watching, atOnce, d.Everything(),
		func(ctx context.Context, p *pod) error { return p.remove(ctx) })}
	ctx, cancel := context.WithTimeout(d.Watching, removePatience)
	defer cancel()
	for _, name := range d.services {
		problems = append(problems, d.cluster.API.Delete(ctx, d.cluster.ours("services", name)))
	}
	err := errors.Join(append(problems, d.endTunnel(ctx))...)
	if err == nil {
		return nil
	}
	d.deployer.preparing.Lock()
	defer d.deployer.preparing.Unlock()
	// Another trial may have discarded this cluster. On a user's, what is left is removed with the namespace.
	if d.deployer.cluster != d.cluster || d.cluster.private == nil {
		return err
	}
	if failed := d.deployer.discard(); failed != nil {
		return errors.Join(err, failed)
	}
	return nil // all that was left has ended with the cluster
}
