// Package kubernetes deploys units as pods of a Kubernetes cluster: a private one that
// runs on this host (package private), brought up with the first trial and kept until
// Close, or one that the user names (Users). What runs in them is the same program as in
// processes: the unit program in an image that holds nothing else, or a program of this
// host with its /usr read-only. Units that name a program of the conductor's, such as the
// load generator, run as processes beside them.
//
// On a cluster of the user's there is nothing of this host: images come from a registry,
// volumes are the pods' own, the load generator is a pod, too, and the conductor reaches
// units through the API server alone. What needs a node's own powers is refused there.
//
// A unit that listens is reached at the address of its service, by its peers and by this
// host, and keeps that address when its pod ends and another one takes its place; unless the
// layout wants it to be reached at its pod's own. Its volume is a folder of its node,
// which is one of this host.
//
// Entry points: New, Deployer.Deploy; FromEnvironment for a cluster of the user's.
package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts units as pods. It must be closed after the last trial.
type Deployer struct {
	fleet.Gate
	processes *process.Deployer // for units that are no pods
	programs  string            // folder of our unit programs, or the only one
	label     string
	site      site

	preparing sync.Mutex
	cluster   *cluster // nil until the first trial
	images    *containers.Images
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// site supplies the cluster: a private one (own), or one of the user's (home).
type site interface {
	can() lab.Capabilities
	preflight(ctx context.Context, layout lab.Layout) error
	enter(ctx context.Context) (*cluster, error)
	leave(c *cluster) error
	// load loads an image onto the nodes: see containers.Images.
	load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error)
	// places returns the nodes of the cluster by the names that units give them.
	places(specs []lab.UnitSpec, links map[string]lab.Network) (map[string]string, error)
	// complete declares what is done there to pods and nodes.
	complete(d *deployment, p *fleet.Platform[*pod])
	// newSitePod returns what the site does to a pod.
	newSitePod(p *pod) sitePod
}

// New returns a deployer of pods that run the unit programs in a folder; see process.New.
// What is no pod goes to processes. The private cluster has its files in a folder that is
// made; label marks what it starts. Pods run on the cluster of users instead, unless that
// is nil.
func New(processes *process.Deployer, programs, folder, label string, users *Users) *Deployer {
	d := &Deployer{processes: processes, programs: programs, label: label}
	if users != nil {
		d.site = &home{Users: users, deployer: d}
	} else {
		d.site = &own{deployer: d, folder: folder}
	}
	d.images = &containers.Images{Programs: programs, IsRemote: users != nil, Load: d.site.load,
		Made: &d.made}
	return d
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Kubernetes }

// Can implements lab.Deployer.
func (d *Deployer) Can() lab.Capabilities { return d.site.can() }

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(ctx context.Context, layout lab.Layout) error {
	return d.site.preflight(ctx, layout)
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (lab.Deployment, error) {
	parts := containers.Parts(layout, d.images.IsRemote)
	cluster, err := d.prepared(ctx, parts.OnPlatform())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	running := newDeployment(ctx, d, cluster, layout, dir)
	open := func() error { return running.open(ctx, layout, parts.OnPlatform()) }
	if err := running.Launch(ctx, parts, open, d.processes, running.Endpoints); err != nil {
		return nil, err
	}
	return running, nil
}

// open makes what units need before they start.
func (d *deployment) open(ctx context.Context, layout lab.Layout, placed []lab.UnitSpec) (err error) {
	// with the servers, whom Preflight does not know
	if d.placed, err = d.deployer.site.places(placed, layout.Links); err != nil {
		return err
	}
	go d.watch()
	go d.account()
	if err := d.connect(ctx, placed); err != nil {
		return err
	}
	d.memory, err = containers.MakeMemory(d.dir, layout.SharedMemory)
	return err
}

// prepared returns the cluster, whose nodes have the images of units. The first trial makes both for all.
func (d *Deployer) prepared(ctx context.Context, units []lab.UnitSpec) (*cluster, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if err := d.Admit(ctx); err != nil {
		return nil, err
	}
	if d.cluster != nil && d.cluster.alive.Err() != nil {
		if err := d.discard(); err != nil {
			return nil, err
		}
	}
	if d.cluster == nil {
		var err error
		if d.cluster, err = d.site.enter(ctx); err != nil {
			return nil, err
		}
	}
	return d.cluster, d.images.Bring(ctx, units)
}

// cluster is where pods run.
type cluster struct {
	API       *api.Client
	name      string           // in messages
	namespace string           // of all we make in it
	patience  time.Duration    // until the unit of a pod can be reached
	leads     string           // node of the unit that leads a trial; "": any
	pulls     bool             // its nodes log in to the registry
	private   *private.Cluster // nil: it is the user's
	alive     context.Context  // ends with the cluster, as far as that is known
}

// Named is nil where no node of a private cluster has the name.
func (c *cluster) Named(name string) *private.Node {
	if c.private == nil {
		return nil
	}
	return c.private.Named(name)
}

// ours returns the path of things of a kind in our namespace, or of one of them.
func (c *cluster) ours(kind string, name ...string) string {
	return strings.Join(append([]string{"/api/v1/namespaces/" + c.namespace, kind}, name...), "/")
}

// Kinds of things that a part of the API has: group, version, kind.
const (
	replicaSets = "apps/v1/replicasets"
	autoscalers = "autoscaling/v2/horizontalpodautoscalers"
)

// theirs returns the path of things of such a kind in our namespace.
func (c *cluster) theirs(kind string) string {
	part, name := path.Split(kind)
	return "/apis/" + part + "namespaces/" + c.namespace + "/" + name
}

// labelKey marks our namespace; its value is the label of the conductor.
const labelKey = "cleave.run"

func (c *cluster) makeNamespace(ctx context.Context, label string) error {
	var own api.Object
	own.Metadata.Name, own.Metadata.Labels = c.namespace, map[string]string{labelKey: label}
	return c.API.Do(ctx, http.MethodPost, "/api/v1/namespaces", own, nil)
}

// discard ends the cluster. The next trial has another one.
func (d *Deployer) discard() error {
	cluster := d.cluster
	d.cluster = nil
	d.images.Forget()
	return d.site.leave(cluster)
}

// Close ends the cluster with all that is in it.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.cluster == nil {
		return nil
	}
	return d.discard()
}
