package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// nobody is the user of pods on clusters of the user's, whose rules ("restricted") want one
// that is not root.
const nobody = 65534

// pullPatience is how long a pod may take until its unit can be reached, where its node has
// to pull the image, and its server is prepared before it.
const pullPatience = 5 * time.Minute

// maxSecret is how much a secret of Kubernetes can hold, in bytes.
const maxSecret = 1 << 20

// secretMode is the mode of files from a secret. Root owns them, and their group is that of the pod's user.
const secretMode = 0o440

// homePod implements sitePod for a cluster of the user's, by the pod's starter and the API server.
type homePod struct {
	fleet.StarterLife
	pod   *pod
	words []string // that the starter runs; nil: there is none
}

func (h *home) newSitePod(p *pod) sitePod {
	starter := fleet.NewStarter(p.Spec, func(ctx context.Context) (net.Conn, error) {
		c := p.deployment.cluster
		return c.API.Forward(ctx, c.namespace, p.name, starterPort)
	})
	made := &homePod{StarterLife: starter.Life(p.deployment.Watching), pod: p}
	p.lives = made.Lives
	return made
}

// next returns the next life of a unit, in the pod of its former life.
func (d *deployment) next(_ context.Context, ended *pod, _ bool) (*pod, error) {
	p := *ended
	p.Unit = fleet.NewUnit(ended.Spec)
	life := &homePod{StarterLife: ended.sitePod.(*homePod).Starter.Life(d.Watching), pod: &p}
	p.sitePod, p.lives = life, life.Lives
	return &p, nil
}

func (h *homePod) begin(ctx context.Context) (bool, error) {
	if !h.pod.Further {
		return false, nil
	}
	return true, h.Again(ctx, h.pod.Unit, h.pod.connect, h.pod.deployment.Endpoints[h.pod.Spec.Name].Bind)
}

// dial connects to the pod's unit through the cluster's server, unless its program ends before.
func (h *homePod) dial(ctx context.Context) (net.Conn, error) {
	d, p := h.pod.deployment, h.pod
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		state, err := d.pods.await(ctx, p.name, func(pod api.Pod, gone bool) (bool, error) {
			return gone || ended(pod) != nil, nil
		})
		if how := ended(state); err == nil && how != nil {
			cancel(fmt.Errorf("its program ended: exit status %d", how.ExitCode))
		}
	}()
	return fleet.DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		return d.cluster.API.Forward(ctx, d.cluster.namespace, p.name, controlPort)
	}, p.token)
}

// adapt takes away folders of this host and its users, and powers that the rules of such clusters
// ("restricted") forbid. Where the unit shall have faults the starter is the first process, as the same user.
// A described container stays as it is described.
func (h *homePod) adapt(is *containers.Container) {
	if h.pod.Spec.Container != nil {
		return
	}
	is.Mounts = slices.DeleteFunc(is.Mounts, func(m lab.ContainerMount) bool { return m.Kind == lab.MountBind })
	is.User, is.ReadOnly, is.CapDrop, is.CapAdd = "", true, []string{"ALL"}, nil
	is.SecurityOpt = []string{"no-new-privileges"}
	if h.Starter != nil && !h.pod.Prepares {
		h.words, is.Entrypoint = is.Entrypoint, []string{"/" + lab.StarterProgram, lab.StarterRuns}
	}
}

// finish gives a pod what it has of this host. Its files come in a secret.
func (h *homePod) finish(ctx context.Context, made *api.Pod) error {
	p, c := h.pod, h.pod.deployment.cluster
	made.Spec.Containers[0].ImagePullPolicy = "IfNotPresent"
	if c.pulls {
		made.Spec.ImagePullSecrets = []api.Meta{{Name: pullSecret}}
	}
	var files api.Secret
	files.Metadata.Name, files.Data = p.name, map[string][]byte{}
	give := h.giveVolume
	if p.Spec.Container != nil {
		give = h.giveMounts
	}
	if err := give(made, files.Data); err != nil || len(files.Data) == 0 {
		return err
	}
	return c.API.Do(ctx, http.MethodPost, c.ours("secrets"), files, nil)
}

// giveMounts gives a described container the folders and files of this host that it has mounted: the folders
// are the pod's own, and everybody in it may read the files.
func (h *homePod) giveMounts(made *api.Pod, files map[string][]byte) error {
	brought, err := containers.Bring(h.pod.Spec)
	if err != nil {
		return err
	}
	runs, secret := &made.Spec.Containers[0], &api.InSecret{Name: h.pod.name, Mode: 0o444}
	for i, one := range brought {
		name := "brought-" + strconv.Itoa(i)
		mount := api.Mount{Name: name, MountPath: one.Path}
		if one.Folder {
			made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: name, EmptyDir: &api.EmptyDir{}})
		} else {
			item := api.SecretItem{Key: name, Path: name, Mode: secret.Mode}
			if one.Executable {
				item.Mode = 0o555
			}
			files[name], secret.Items = one.Data, append(secret.Items, item)
			mount = api.Mount{Name: "files", MountPath: one.Path, SubPath: name, ReadOnly: true}
		}
		runs.VolumeMounts = append(runs.VolumeMounts, mount)
	}
	if len(files) > 0 {
		made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: "files", Secret: secret})
	}
	return nil
}

// giveVolume gives a unit of ours, or a program of this host, a volume of its own. The environment is among
// the files in it.
func (h *homePod) giveVolume(made *api.Pod, files map[string][]byte) error {
	p, runs := h.pod, &made.Spec.Containers[0]
	volume := fleet.Volume(p.deployment.dir, p.Spec)
	made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: "volume", EmptyDir: &api.EmptyDir{}},
		api.Volume{Name: "files", Secret: &api.InSecret{Name: p.name, Mode: secretMode}})
	runs.VolumeMounts = append(runs.VolumeMounts, api.Mount{Name: "volume", MountPath: volume})
	all, err := fleet.VolumeFiles(volume)
	if err != nil {
		return err
	}
	size := 0
	for i, file := range all {
		name := "own-" + strconv.Itoa(i)
		if file.Folder {
			made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: name, EmptyDir: &api.EmptyDir{}})
			runs.VolumeMounts = append(runs.VolumeMounts, api.Mount{Name: name, MountPath: file.Path})
			continue
		}
		size += len(file.Data)
		files[name] = file.Data
		runs.VolumeMounts = append(runs.VolumeMounts,
			api.Mount{Name: "files", MountPath: file.Path, SubPath: name, ReadOnly: true})
	}
	if size > maxSecret {
		return fmt.Errorf("its files have %d bytes, and a secret of Kubernetes holds %d: give it less to begin "+
			"with, such as fewer operations", size, maxSecret)
	}
	made.Spec.SecurityContext = restricted()
	if made.Spec.InitContainers, err = p.setups(*runs); err != nil {
		return err
	}
	return h.orderStarter(runs, files)
}

// restricted returns the security settings of pods with programs of ours, as the standard "restricted" of
// Kubernetes demands them.
func restricted() *api.PodSecurity {
	return &api.PodSecurity{RunAsNonRoot: true, RunAsUser: nobody, RunAsGroup: nobody, FSGroup: nobody,
		SeccompProfile: map[string]string{"type": "RuntimeDefault"}}
}

// setupPrefix begins the names of what prepares a server in its pod.
const setupPrefix = "setup-"

// setups returns what prepares a server, in its pod and as its own container, but for what they run.
func (p *pod) setups(runs api.Container) ([]api.Container, error) {
	if p.Spec.Server == nil {
		return nil, nil
	}
	var all []api.Container
	for i, setup := range p.Spec.Server.Setup {
		preparing, first := p.Spec, runs
		preparing.Program, preparing.Args = setup.Program, setup.Args
		var err error
		if first.Command, err = p.deployment.shared().Command(preparing); err != nil {
			return nil, err
		}
		first.Command = literals(first.Command)
		first.Name = setupPrefix + strconv.Itoa(i)
		all = append(all, first)
	}
	return all, nil
}

// orderStarter gives the starter of the pod, where it has one, its orders among the files.
func (h *homePod) orderStarter(runs *api.Container, files map[string][]byte) (err error) {
	if h.words == nil {
		return nil
	}
	const key = "orders"
	faults := h.Orders(net.JoinHostPort(anyAddress, strconv.Itoa(starterPort)))
	files[key], err = containers.Packed(lab.StarterOrders{Run: h.words, Faults: faults}, maxSecret)
	runs.VolumeMounts = append(runs.VolumeMounts, api.Mount{Name: "files", MountPath: lab.StarterOrdersFile,
		SubPath: key, ReadOnly: true})
	return err
}

// prepared fails when a command that prepares a server in its pod has.
func prepared(pod api.Pod) error {
	for _, status := range pod.Status.InitStatuses {
		if how := status.State.Terminated; how != nil && how.ExitCode != 0 {
			return fmt.Errorf("%s, which prepares it, ended: exit status %d", status.Name, how.ExitCode)
		}
	}
	return nil
}

// end ends and removes a pod and its secret. It asks the server whether the pod is gone, since no event tells
// of one that never came. If no node says that the pod has ended it is removed all the same: its unit ends
// without a conductor.
func (h *homePod) end(ctx context.Context) error {
	p := h.pod
	c, grace := p.deployment.cluster, time.Second
	if p.Spec.Foreign && p.Spec.Server == nil {
		grace = stopGrace
	}
	err := c.API.Delete(ctx, c.ours("secrets", p.name))
	if err != nil {
		return err
	}
	if err := p.delete(ctx, grace); err != nil {
		return err
	}
	begun, forced := time.Now(), false
	return fleet.Until(ctx, watchAgain, func() (bool, error) {
		err := c.API.Do(ctx, http.MethodGet, c.ours("pods", p.name), nil, nil)
		if api.NotFound(err) {
			return true, nil
		}
		if err == nil && !forced && time.Since(begun) > removePatience/2 {
			forced, err = true, p.delete(ctx, 0)
		}
		return err != nil, err
	})
}

// reach returns the address at which this host reaches a unit; "": it does not listen.
func (d *deployment) reach(name string) string {
	if d.Endpoints[name].Dial == "" {
		return ""
	}
	return d.forwards.To(name)
}

// connectTo connects to an endpoint through the cluster's server.
func (d *deployment) connectTo(name string) (net.Conn, error) {
	_, text, err := net.SplitHostPort(d.Endpoints[name].Dial)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	p := d.latest(name)
	if err != nil || p == nil {
		return nil, errors.Join(err, errors.New("it has no pod"))
	}
	return d.cluster.API.Forward(d.Watching, d.cluster.namespace, p.name, port)
}

// latest returns the pod of a unit, or of what prepares it.
func (d *deployment) latest(unit string) *pod {
	if p := d.Named(unit); p != nil {
		return p
	}
	for _, p := range slices.Backward(d.Prepared()) {
		if p.Spec.Name == unit {
			return p
		}
	}
	return nil
}

// lost reports that the node of a pod of the user's cluster does not answer to Kubernetes any
// more: the pod ran, and still does as far as is known, and is not ready.
func lost(pod api.Pod) bool {
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "False" && condition.Reason == "" // with a reason it is the program
		}
	}
	return false
}
