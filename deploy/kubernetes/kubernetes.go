// Package kubernetes deploys units as pods of a Kubernetes cluster: a private one on this host (package
// private), from the first trial to Close; or one that the user names (UserCluster).
//
// A pod runs the same program as a process would: the unit program, in an image that holds nothing else, or a
// program of this host, whose /usr it mounts read-only. Programs of the conductor, such as the load
// generator, run as processes of this host beside the pods of a private cluster.
//
// The nodes of a user's cluster share nothing with this host. Images come from a registry, volumes belong to
// the pods, the load generator is a pod, too, and the conductor reaches units only through the API server.
// Layouts that need control over nodes are refused.
//
// Peers and this host reach a unit at the address of its service, which stays when another pod takes the
// place of the unit's first one. A layout may ask for the address of the pod instead (lab.ReachDirect). On a
// private cluster the volume of a unit is a folder of this host.
//
// Entry points: New, Deployer.Deploy; FromEnvironment for a cluster of the user's.
package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path"
	"slices"
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

// site supplies the cluster: a private one (privateSite), or one of the user's (userSite).
type site interface {
	can() lab.Capabilities
	preflight(ctx context.Context, layout lab.Layout) error
	// enter makes the cluster, or our namespace in it.
	enter(ctx context.Context) (*cluster, error)
	// leave removes what enter has made.
	leave(c *cluster) error
	// load loads an image onto the nodes: see containers.Images.
	load(ctx context.Context, content string, isUsers bool) (image string, bytes int, err error)
	// places returns the nodes of the cluster, by the names of nodes in the layout.
	places(specs []lab.UnitSpec, links map[string]lab.Network) (map[string]string, error)
	// complete adds to the platform what the site can do to pods and nodes.
	complete(d *deployment, p *fleet.Platform[*pod])
	// newSitePod returns the site's part of a pod.
	newSitePod(p *pod) sitePod
}

// New returns a deployer of pods that run the unit programs in a folder (see process.New). processes deploys
// the units that are no pods. label marks everything that the deployer makes. Pods run on the cluster of
// users. If that is nil, they run on a private one, which makes folder for its files.
func New(processes *process.Deployer, programs, folder, label string, users *UserCluster) *Deployer {
	d := &Deployer{processes: processes, programs: programs, label: label}
	if users != nil {
		d.site = &userSite{UserCluster: users, deployer: d}
	} else {
		d.site = &privateSite{deployer: d, folder: folder}
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

// prepared returns the cluster, and makes it and the images of units unless earlier trials have done so. It
// replaces a cluster that has ended.
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
	if d.cluster.private == nil && slices.ContainsFunc(units, mayBeCut) {
		units = append(slices.Clip(units), cutTools())
	}
	return d.cluster, d.images.Bring(ctx, units)
}

// cluster is a cluster on which pods run.
type cluster struct {
	API       *api.Client
	name      string           // in messages
	namespace string           // of all our objects
	patience  time.Duration    // limits how long a pod may take until its unit can be reached
	leadNode  string           // node of the trial's lead; "": any
	logsIn    bool             // the nodes log in to the registry
	private   *private.Cluster // nil: it is the user's
	alive     context.Context  // of a private cluster: ends with it
}

// Named returns the node of a private cluster with a name, or nil.
func (c *cluster) Named(name string) *private.Node {
	if c.private == nil {
		return nil
	}
	return c.private.Named(name)
}

// ours returns the path of objects of a kind of the core API in our namespace, or of one of them.
func (c *cluster) ours(kind string, name ...string) string {
	return strings.Join(append([]string{"/api/v1/namespaces/" + c.namespace, kind}, name...), "/")
}

// Kinds of other API groups: group, version, kind.
const (
	replicaSets = "apps/v1/replicasets"
	autoscalers = "autoscaling/v2/horizontalpodautoscalers"
)

// inGroup returns the path of objects of such a kind in our namespace.
func (c *cluster) inGroup(kind string) string {
	group, name := path.Split(kind)
	return "/apis/" + group + "namespaces/" + c.namespace + "/" + name
}

// labelKey is the label of our namespaces. Its value is the label of their conductor.
const labelKey = "cleave.run"

// makeNamespace makes our namespace, with the label of its conductor.
func (c *cluster) makeNamespace(ctx context.Context, label string) error {
	var own api.Object
	own.Metadata.Name = c.namespace
	own.Metadata.Labels = map[string]string{labelKey: label}
	return c.API.Do(ctx, http.MethodPost, "/api/v1/namespaces", own, nil)
}

// discard leaves the cluster. The next trial makes another one.
func (d *Deployer) discard() error {
	cluster := d.cluster
	d.cluster = nil
	d.images.Forget()
	return d.site.leave(cluster)
}

// Close removes what was made for all trials: a private cluster, or our namespace.
func (d *Deployer) Close() error {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.cluster == nil {
		return nil
	}
	return d.discard()
}
