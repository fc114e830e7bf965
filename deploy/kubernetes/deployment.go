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
	trial    string            // label of its pods
	placed   map[string]string // nodes of the cluster by the names that units give them
	memory   string            // path of the file that is the units' memory, or ""
	pods     *podCache
	accounts *accounts
	services []string        // of units that listen
	led      []string        // addresses of services that this host reaches through the nodes of their units
	forwards *fleet.Forwards // from this host to units of the user's cluster
	way      *wayBack        // on which spans come from there to this host; nil: none
	scaled   []*scaled       // units that the cluster replicates
	arrived  chan lab.Arrived
	found    []api.HostAlias         // the names of containers that their specs describe
	shown    map[string]engine.Image // what the images of these say

	mu    sync.Mutex
	lives int // of all units together
}

// newsPatience is how long the kubelet may take to tell that a program has ended: it looks
// once in a second.
const newsPatience = 5 * time.Second

func newDeployment(
	ctx context.Context, d *Deployer, cluster *cluster, layout lab.Layout, dir string,
) *deployment {
	supervisor := fleet.NewSupervisor(layout, fleet.HandedOver(dir))
	supervisor.NewsTake(newsPatience)
	made := &deployment{
		deployer: d, cluster: cluster, lead: layout.Lead, dir: dir,
		trial: strings.ToLower(filepath.Base(dir)),
		pods:  newPodCache(), accounts: newAccounts(), shown: map[string]engine.Image{},
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

// Labels of pods, by which their services find them and we those of a trial.
const (
	labelTrial = "trial"
	labelUnit  = "unit"
	labelGroup = "group"                  // the unit of which the cluster has made the pod
	labelNames = "names"                  // the unit whose names lead to the pod
	hostname   = "kubernetes.io/hostname" // of nodes
)

const (
	// controlPort is the port at which a unit of ours waits for its conductor. A pod has an
	// address, and so all ports, of its own.
	controlPort = 8080
	// starterPort is that of the starter of a unit that shall have faults on a cluster of the user's.
	starterPort = 8079
	// firstPort is the first that units listen on.
	firstPort = 8081
	// anyAddress is the address that a unit binds to: nobody knows that of its pod yet.
	anyAddress = "0.0.0.0"
)

// portOf returns the port of a unit's endpoint, in the order of lab.UnitSpec.Endpoints.
func portOf(spec lab.UnitSpec, endpoint int) int {
	if endpoint == 0 && spec.Port != 0 {
		return spec.Port
	}
	return firstPort + endpoint
}

// connect gives every unit that listens a service, and so its address, and makes ready what its faults need.
func (d *deployment) connect(ctx context.Context, specs []lab.UnitSpec) error {
	for _, spec := range specs {
		if !spec.Listens {
			continue
		}
		var ports []lab.ContainerPort
		for i := range spec.Endpoints() {
			ports = append(ports, lab.ContainerPort{Port: portOf(spec, i)})
		}
		address, err := d.makeService(ctx, spec.Name, labelUnit, spec.Name, ports)
		if err != nil {
			return fmt.Errorf("give unit %s an address: %w", spec.Name, err)
		}
		if err := d.leadTo(ctx, spec, address); err != nil {
			return err
		}
		for i, name := range spec.Endpoints() {
			port := strconv.Itoa(portOf(spec, i))
			d.Endpoints[name] = lab.Endpoint{Bind: net.JoinHostPort(anyAddress, port),
				Dial: net.JoinHostPort(address, port)}
		}
	}
	if err := d.nameDescribed(ctx, specs); err != nil {
		return err
	}
	private := d.cluster.private
	if private == nil { // its nodes are not ours to change
		return d.receiveSpans(ctx, specs)
	}
	return d.Furnish(ctx, specs, private.Hosts.Here(), d.host, private.Hosts.Show)
}

// makeService makes a service of the trial's pods that have a label, and returns its address.
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

// reachDirectly has the peers of units that shall be called so call their pods themselves.
func (d *deployment) reachDirectly(specs []lab.UnitSpec) {
	for _, spec := range specs {
		if spec.Reached != lab.ReachDirect {
			continue
		}
		for i, name := range spec.Endpoints() {
			address := net.JoinHostPort(d.Named(spec.Name).address, strconv.Itoa(portOf(spec, i)))
			if relay := d.Relays[name]; relay != nil {
				relay.SetTarget(address)
				continue
			}
			d.Endpoints[name] = lab.Endpoint{Bind: d.Endpoints[name].Bind, Dial: address}
		}
	}
}

// shared returns what the pods of the trial have in common.
func (d *deployment) shared() containers.Trial {
	return containers.Trial{Label: d.deployer.label, Dir: d.dir, Memory: d.memory, Endpoints: d.Endpoints,
		Binds: true, VolumesInDir: d.cluster.private != nil, Apart: d.cluster.private == nil}
}

// watch hears of the trial's pods until it ends, and fails it when the cluster ends.
func (d *deployment) watch() {
	defer context.AfterFunc(d.cluster.alive, func() {
		d.Fail(fmt.Errorf("the cluster has ended: %w", context.Cause(d.cluster.alive)))
	})()
	answered := time.Now()
	for d.Watching.Err() == nil && d.cluster.alive.Err() == nil {
		pods, version, err := d.cluster.API.Pods(d.Watching, d.cluster.namespace, "trial="+d.trial)
		if err != nil && time.Since(answered) > apiPatience {
			d.Fail(fmt.Errorf("the cluster %s has not answered for %v: %w: look whether its API server runs",
				d.cluster.name, apiPatience, err))
		}
		if err == nil {
			d.pods.reset(pods)
			// the server ends it now and then
			err = d.cluster.API.Watch(d.Watching, d.cluster.namespace, "trial="+d.trial, version, d.pods.update)
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

// apiPatience bounds the silence of a cluster: a longer one fails the trial.
const apiPatience = 30 * time.Second

// watchAgain is when pods are watched again after the server has ended it.
const watchAgain = 100 * time.Millisecond

// atOnce is the number of pods that are started, or removed, at the same time.
const atOnce = 16

// started has the cluster make its replicas of units, and peers call pods that shall be.
func (d *deployment) started(ctx context.Context, stage []lab.UnitSpec) error {
	if err := d.startScaled(ctx, stage); err != nil {
		return err
	}
	d.reachDirectly(stage)
	return nil
}

// clear removes the trial's pods and services. Where the cluster cannot do that any more
// it is ended, and they with it.
func (d *deployment) clear() error {
	defer d.forwards.Close()
	problems := []error{d.lift(), d.endScaling(), fleet.ForAll(d.Watching, atOnce, d.Everything(),
		func(ctx context.Context, p *pod) error { return p.remove(ctx) })}
	ctx, cancel := context.WithTimeout(d.Watching, removePatience)
	defer cancel()
	for _, name := range d.services {
		problems = append(problems, d.cluster.API.Delete(ctx, d.cluster.ours("services", name)))
	}
	err := errors.Join(append(problems, d.endWay(ctx))...)
	if err == nil {
		return nil
	}
	d.deployer.preparing.Lock()
	defer d.deployer.preparing.Unlock()
	if d.deployer.cluster != d.cluster || d.cluster.private == nil { // what is left goes with its namespace
		return err
	}
	if failed := d.deployer.discard(); failed != nil {
		return errors.Join(err, failed)
	}
	return nil // all that was left has ended with the cluster
}
