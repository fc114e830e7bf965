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
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/links"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/lab"
)

// Deployer starts units as pods. It must be closed after the last trial.
type Deployer struct {
	processes *process.Deployer // for units that are no pods
	programs  string            // folder of our unit programs, or the only one
	folder    string            // where the cluster has its files
	label     string

	preparing sync.Mutex
	users     *Users            // the user's cluster; nil: a private one
	cluster   *cluster          // nil until the first trial
	images    map[string]string // their names, by what is in it: see contentOf
	made      fleet.Made
}

var _ lab.Deployer = (*Deployer)(nil)

// New returns a deployer of pods that run the unit programs in a folder; see process.New.
// What is no pod goes to processes. The private cluster has its files in a folder that is
// made; label marks what it starts. Pods run on the cluster of users instead, unless that
// is nil.
func New(processes *process.Deployer, programs, folder, label string, users *Users) *Deployer {
	return &Deployer{processes: processes, programs: programs, folder: folder, label: label, users: users}
}

// AskBefore has somebody asked before every trial on a cluster of the user's.
func (d *Deployer) AskBefore(admit func(context.Context) error) {
	if d.users != nil {
		d.users.admit = admit
	}
}

// Name implements lab.Deployer.
func (d *Deployer) Name() string { return lab.Kubernetes }

// Missing says what this host lacks for pods; nil: nothing.
func Missing() error { return private.Missing() }

// What a pod takes of this host, with its shim and the program that holds it.
const (
	memoryPerPod  = 24 << 20
	threadsPerPod = 30
	// descriptorsPerPod: control, its log, and one for a call.
	descriptorsPerPod = 3
)

// Preflight implements lab.Deployer.
func (d *Deployer) Preflight(layout lab.Layout) error {
	if d.users != nil {
		return d.users.preflight(d.programs, layout)
	}
	servers, contained, rest := containers.Part(layout)
	pods := slices.Concat(servers, contained)
	problems := []error{
		Missing(), d.processes.Preflight(rest), containers.CheckBeside(rest), fleet.CheckLimits(pods),
		fleet.NoPublished(pods), links.Check(layout.Links, pods),
		containers.CheckPrograms(d.programs, slices.DeleteFunc(slices.Concat(layout.Prepare, layout.Units),
			images.IsUnit)), images.Check(pods),
		containers.CheckServices(layout.Services, "process or docker-host"),
		containers.CheckDescribed("Kubernetes", pods, lacks),
		process.CheckMemory(len(pods), memoryPerPod, 0), process.CheckNumbers(uint64(len(pods) * threadsPerPod)),
		process.CheckDescriptors(len(pods) * descriptorsPerPod),
	}
	if room := len(private.Nodes()) * private.MaxPods; len(pods) > room {
		problems = append(problems, fmt.Errorf("%d units are too many for a cluster that holds %d", len(pods),
			room))
	}
	for _, spec := range pods {
		if strings.Contains(spec.Image, "@") {
			problems = append(problems, fmt.Errorf("unit %s: the nodes of Kubernetes know images by name, and %s is "+
				"a digest: type: docker tag %s NAME:1, and name that",
				spec.Name, spec.Image, spec.Image))
		}
	}
	_, err := containers.Places(private.Nodes(), slices.Concat(pods, layout.Prepare), layout.Links)
	return errors.Join(append(problems, err)...)
}

// Deploy implements lab.Deployer.
func (d *Deployer) Deploy(ctx context.Context, layout lab.Layout, dir string) (_ lab.Deployment, err error) {
	servers, contained, rest := containers.Part(layout)
	var last []lab.UnitSpec // programs of the conductor's in pods
	if d.users != nil {
		last, rest.Units = rest.Units, nil
	}
	all := slices.Concat(servers, contained, last, layout.Prepare)
	cluster, loaded, err := d.prepared(ctx, all)
	if err != nil {
		return nil, err
	}
	running := newDeployment(ctx, d, cluster, loaded, layout, dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, running.Stop())
		}
	}()
	// with the servers, whom Preflight does not know
	if running.placed, err = d.placed(all, layout.Links); err != nil {
		return nil, err
	}
	go running.watch()
	go running.account()
	if err := running.connect(ctx, all); err != nil {
		return nil, err
	}
	if running.memory, err = containers.MakeMemory(dir, layout.SharedMemory); err != nil {
		return nil, err
	}
	if err := running.Begin(ctx, slices.Concat(servers, contained), layout.Prepare); err != nil {
		return nil, err
	}
	if err := running.Begin(ctx, last, nil); err != nil {
		return nil, err
	}
	// The other deployer removes the folder with its end: it comes last.
	if running.Beside, err = d.processes.Join(ctx, rest, dir, running.Supervisor,
		running.Endpoints); err != nil {
		return nil, err
	}
	return running, nil
}

// prepared returns the cluster and the names of the images that units run in, by the
// program of ours in it; "" has none. What is missing is made: the first trial makes it
// for all.
func (d *Deployer) prepared(ctx context.Context, units []lab.UnitSpec) (*cluster, map[string]string, error) {
	d.preparing.Lock()
	defer d.preparing.Unlock()
	if d.users != nil && d.users.admit != nil {
		if err := d.users.admit(ctx); err != nil {
			return nil, nil, err
		}
	}
	if d.cluster != nil && d.cluster.Alive().Err() != nil {
		if err := d.discard(); err != nil {
			return nil, nil, err
		}
	}
	if d.cluster == nil {
		if err := d.bringUp(ctx); err != nil {
			return nil, nil, err
		}
	}
	loaded := map[string]string{}
	for _, spec := range units {
		content, bring := d.contentOf(spec), d.load
		if images.IsUnit(spec) {
			bring = d.loadUsers
		}
		if d.images[content] == "" {
			name, err := bring(ctx, content)
			if err != nil {
				return nil, nil, err
			}
			d.images[content] = name
		}
		loaded[content] = d.images[content]
	}
	return d.cluster, loaded, nil
}

// bringUp brings up the cluster.
func (d *Deployer) bringUp(ctx context.Context) (err error) {
	if d.users != nil {
		d.images = map[string]string{}
		d.cluster, err = d.users.enter(ctx, d.label)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.folder), 0o700); err != nil {
		return err
	}
	begun := time.Now()
	up, err := private.Up(ctx, d.folder, d.label)
	if err != nil {
		return err
	}
	d.cluster, d.images = &cluster{API: up.API, namespace: "cleave", private: up, alive: up.Alive()},
		map[string]string{}
	if err := d.cluster.makeNamespace(ctx, d.label); err != nil {
		return errors.Join(err, d.discard())
	}
	d.made.Platform(begun)
	return nil
}

// cluster is where pods run.
type cluster struct {
	API       *api.Client
	namespace string           // of all we make in it
	private   *private.Cluster // nil: it is the user's
	alive     context.Context
}

// Alive ends with the cluster, as far as that is known.
func (c *cluster) Alive() context.Context { return c.alive }

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

// theirs returns the path of things in our namespace that a part of the API has, or of one of them.
func (c *cluster) theirs(part, kind string, name ...string) string {
	return strings.Join(append([]string{"/apis/" + part + "/namespaces/" + c.namespace, kind}, name...), "/")
}

// labelKey marks our namespace; its value is the label of the conductor.
const labelKey = "cleave.run"

func (c *cluster) makeNamespace(ctx context.Context, label string) error {
	var own api.Object
	own.Metadata.Name, own.Metadata.Labels = c.namespace, map[string]string{labelKey: label}
	return c.API.Do(ctx, http.MethodPost, "/api/v1/namespaces", own, nil)
}

// contentOf returns what the image of a unit has: a program of ours by its path, none (""), or, by its
// name, what is in an image of the user's.
func (d *Deployer) contentOf(spec lab.UnitSpec) string {
	if images.IsUnit(spec) {
		return spec.Image
	}
	if d.users != nil && spec.Program != "" {
		return containers.PushedProgram(spec)
	}
	return containers.UnitProgram(d.programs, spec)
}

// load loads an image with a program, or without one, onto all nodes.
func (d *Deployer) load(ctx context.Context, program string) (name string, err error) {
	begun, size := time.Now(), 0
	defer func() { d.made.Image(program, int64(size), begun) }()
	if d.users != nil {
		return d.users.push(ctx, program)
	}
	name = "cleave.invalid/host"
	if program != "" {
		name = "cleave.invalid/" + strings.ToLower(filepath.Base(program))
	}
	name += ":" + d.label
	archive, _, err := containers.Archive(name, program, nil)
	if err != nil {
		return "", err
	}
	size = len(archive)
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range d.cluster.private.Nodes {
		group.Go(func() error { return node.Import(ctx, bytes.NewReader(archive)) })
	}
	return name, group.Wait()
}

// loadUsers loads an image of the user's onto all nodes.
func (d *Deployer) loadUsers(ctx context.Context, name string) (string, error) {
	begun := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range d.cluster.private.Nodes {
		group.Go(func() error { return images.Send(ctx, name, node.Import) })
	}
	err := group.Wait()
	d.made.Image("", 0, begun)
	return name, err
}

// discard ends the cluster. The next trial has another one.
func (d *Deployer) discard() error {
	cluster := d.cluster
	d.cluster, d.images = nil, nil
	if d.users != nil {
		return d.users.leave(cluster)
	}
	return cluster.private.Close()
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
