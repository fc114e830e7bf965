package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// pullPatience limits how long a pod may take until its unit can be reached. Its node may have to pull the
// image, and to set up a server.
const pullPatience = 5 * time.Minute

// maxSecret is the largest size of a Kubernetes secret, in bytes.
const maxSecret = 1 << 20

// secretMode is the mode of files from a secret. Root owns them, and their group is that of the pod's user.
const secretMode = 0o440

// userPod implements sitePod for a cluster of the user's. The pod's starter does the faults.
type userPod struct {
	fleet.StarterLife
	pod     *pod
	command []string // that the starter runs; nil: the pod has no starter
}

// newSitePod implements site.
func (s *userSite) newSitePod(p *pod) sitePod {
	// starter is nil if no fault is planned that it can do.
	starter := fleet.NewStarter(p.Spec, func(ctx context.Context) (net.Conn, error) {
		c := p.deployment.cluster
		return c.API.Forward(ctx, c.namespace, p.name, containers.StarterPort)
	})
	made := &userPod{StarterLife: starter.Life(p.deployment.Watching), pod: p}
	p.life = made.Lives
	return made
}

// next returns the next life of a unit, in the pod of its former life.
func (d *deployment) next(_ context.Context, ended *pod, _ bool) (*pod, error) {
	p := *ended
	p.Unit = fleet.NewUnit(ended.Spec)
	p.started = false
	life := &userPod{StarterLife: ended.sitePod.(*userPod).Starter.Life(d.Watching), pod: &p}
	p.sitePod = life
	p.life = life.Lives
	return &p, nil
}

// begin implements sitePod: the starter starts a further life in the same pod.
func (u *userPod) begin(ctx context.Context) (bool, error) {
	if !u.pod.Further {
		return false, nil
	}
	return true, u.Again(ctx, u.pod.Unit, u.pod.connect, u.pod.deployment.Endpoints[u.pod.Spec.Name].Bind)
}

// dial connects to the pod's unit through the API server. It fails as soon as the program has ended, or the
// pod is gone.
func (u *userPod) dial(ctx context.Context) (net.Conn, error) {
	d, p := u.pod.deployment, u.pod
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		_, err := d.pods.awaitPod(ctx, p.name, func(pod api.Pod, gone bool) (bool, error) {
			return false, whyEnded(pod, gone)
		})
		cancel(err)
	}()
	return fleet.DialThrough(ctx, func(ctx context.Context) (net.Conn, error) {
		return d.cluster.API.Forward(ctx, d.cluster.namespace, p.name, containers.ControlPort)
	}, p.token)
}

// adapt removes from the container the folders of this host, the user, and what the security standard
// "restricted" forbids. A unit with faults gets the starter as its first process. Described containers are
// not changed.
func (u *userPod) adapt(wanted *containers.Container) {
	if u.pod.Spec.Container != nil {
		return
	}
	isOfThisHost := func(m lab.ContainerMount) bool { return m.Kind == lab.MountBind }
	wanted.Mounts = slices.DeleteFunc(wanted.Mounts, isOfThisHost)
	wanted.User = ""
	wanted.ReadOnly = true
	wanted.CapDrop = []string{"ALL"}
	wanted.CapAdd = nil
	wanted.SecurityOpt = []string{"no-new-privileges"}
	if u.Starter != nil && !u.pod.Prepares {
		u.command = wanted.Entrypoint
		wanted.Entrypoint = []string{"/" + lab.StarterProgram, lab.StarterRuns}
	}
}

// finish implements sitePod. It adds the login of the registry, the files that the pod gets from this host,
// for which it makes a secret, and the cutter.
func (u *userPod) finish(ctx context.Context, made *api.Pod) error {
	p, c := u.pod, u.pod.deployment.cluster
	made.Spec.Containers[0].ImagePullPolicy = "IfNotPresent"
	if c.logsIn {
		made.Spec.ImagePullSecrets = []api.Meta{{Name: pullSecret}}
	}
	data, err := u.giveFiles(made)
	if err != nil {
		return err
	}
	if mayBeCut(p.Spec) && !p.Prepares {
		u.addCutter(made)
	}
	if len(data) == 0 {
		return nil
	}
	files := api.Secret{Data: data}
	files.Metadata.Name = p.name
	return c.API.Do(ctx, http.MethodPost, c.ours("secrets"), files, nil)
}

// giveFiles gives the container of a pod the files of this host that it needs, and returns the data of the
// secret that has them. A described container gets copies of what it mounts, which every user of the
// container may read; any other one a volume with the files of its unit's folder, and the orders of its
// starter.
func (u *userPod) giveFiles(made *api.Pod) (data map[string][]byte, err error) {
	p, container := u.pod, &made.Spec.Containers[0]
	if p.Spec.Container != nil {
		all, err := containers.CopyMounts(p.Spec)
		return u.mountFiles(made, all, 0o444), err
	}
	volume := fleet.Volume(p.deployment.dir, p.Spec)
	made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: "volume", EmptyDir: &api.EmptyDir{}})
	container.VolumeMounts = append(container.VolumeMounts, api.Mount{Name: "volume", MountPath: volume})
	own, err := fleet.VolumeFiles(volume)
	if err != nil {
		return nil, err
	}
	var all []containers.FileCopy
	for _, file := range own {
		all = append(all, containers.FileCopy{Path: file.Path, Folder: file.Folder, Data: file.Data})
	}
	if u.command != nil {
		orders, err := containers.Packed(lab.StarterOrders{Run: u.command,
			Faults: u.FaultSettings(containers.AnyAddress(containers.StarterPort))}, maxSecret)
		if err != nil {
			return nil, err
		}
		all = append(all, containers.FileCopy{Path: lab.StarterOrdersFile, Data: orders})
	}
	data = u.mountFiles(made, all, secretMode)
	made.Spec.SecurityContext = restricted()
	if made.Spec.InitContainers, err = p.setups(*container); err != nil {
		return nil, err
	}
	return data, checkSecret(data)
}

// mountFiles mounts files and folders into the container of a pod: folders as volumes of the pod, empty at
// first, and files, with a mode, from the secret of the pod, whose data it returns.
func (u *userPod) mountFiles(made *api.Pod, all []containers.FileCopy, mode int) map[string][]byte {
	const volume = "files"
	data := map[string][]byte{}
	secret := &api.InSecret{Name: u.pod.name, Mode: mode}
	container := &made.Spec.Containers[0]
	for i, one := range all {
		name := "file-" + strconv.Itoa(i)
		mount := api.Mount{Name: name, MountPath: one.Path}
		if one.Folder {
			made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: name, EmptyDir: &api.EmptyDir{}})
		} else {
			item := api.SecretItem{Key: name, Path: name, Mode: mode}
			if one.Executable {
				item.Mode |= 0o111
			}
			data[name] = one.Data
			secret.Items = append(secret.Items, item)
			mount = api.Mount{Name: volume, MountPath: one.Path, SubPath: name, ReadOnly: true}
		}
		container.VolumeMounts = append(container.VolumeMounts, mount)
	}
	if len(data) > 0 {
		made.Spec.Volumes = append(made.Spec.Volumes, api.Volume{Name: volume, Secret: secret})
	}
	return data
}

// checkSecret returns an error if files, with the orders of a starter, do not fit into one secret.
func checkSecret(files map[string][]byte) error {
	size := 0
	for _, data := range files {
		size += len(data)
	}
	if size > maxSecret {
		return fmt.Errorf("its files have %d bytes, and a secret of Kubernetes holds %d: give it less to begin "+
			"with, such as fewer operations", size, maxSecret)
	}
	return nil
}

// restricted returns the security settings of pods of our programs: those of the Kubernetes security standard
// "restricted".
func restricted() *api.PodSecurity {
	return &api.PodSecurity{RunAsNonRoot: true, RunAsUser: containers.Nobody,
		RunAsGroup: containers.Nobody, FSGroup: containers.Nobody,
		SeccompProfile: map[string]string{"type": "RuntimeDefault"}}
}

// setupPrefix begins the names of init containers that set up a server.
const setupPrefix = "setup-"

// setups returns the init containers that set up a server: copies of its container with other commands.
func (p *pod) setups(server api.Container) ([]api.Container, error) {
	if p.Spec.Server == nil {
		return nil, nil
	}
	var all []api.Container
	for i, setup := range p.Spec.Server.Setup {
		preparing, container := p.Spec, server
		preparing.Program = setup.Program
		preparing.Args = setup.Args
		var err error
		if container.Command, err = p.deployment.shared().Command(preparing); err != nil {
			return nil, err
		}
		container.Command = literals(container.Command)
		container.Name = setupPrefix + strconv.Itoa(i)
		all = append(all, container)
	}
	return all, nil
}

// setupFailure returns the error of a failed init container; nil: none has failed.
func setupFailure(pod api.Pod) error {
	for _, status := range pod.Status.InitStatuses {
		if how := status.State.Terminated; how != nil && how.ExitCode != 0 {
			return fmt.Errorf("%s, which prepares it, ended: exit status %d", status.Name, how.ExitCode)
		}
	}
	return nil
}

// end ends and removes a pod and its secret. It asks the server whether the pod is gone, since there are no
// events of a pod that was never made. If the node does not report the end of the pod in time, end removes
// the pod by force: its unit ends by itself when it hears nothing of its conductor.
func (u *userPod) end(ctx context.Context) error {
	p := u.pod
	c, grace := p.deployment.cluster, time.Second
	if p.Spec.IsUsersProgram() { // give it time to clean up
		grace = stopGrace
	}
	err := c.API.Delete(ctx, c.ours("secrets", p.name))
	if err != nil {
		return err
	}
	if err := p.delete(ctx, grace); err != nil {
		return err
	}
	begun := time.Now()
	forced := false
	return fleet.Until(ctx, watchAgain, func() (bool, error) {
		err := c.API.Do(ctx, http.MethodGet, c.ours("pods", p.name), nil, nil)
		if api.NotFound(err) {
			return true, nil
		}
		if err == nil && !forced && time.Since(begun) > removePatience/2 {
			forced = true
			err = p.delete(ctx, 0)
		}
		return err != nil, err
	})
}

// reach returns the address at which this host reaches an endpoint, which is a forward; "" if it is unknown.
func (d *deployment) reach(name string) string {
	if d.Endpoints[name].Dial == "" {
		return ""
	}
	return d.forwards.To(name)
}

// connectTo connects to an endpoint through the API server.
func (d *deployment) connectTo(name string) (net.Conn, error) {
	_, text, err := net.SplitHostPort(d.Endpoints[name].Dial)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	unit, _, _ := strings.Cut(name, ":") // a further port follows (lab.PortOf)
	p := d.latest(unit)
	if p == nil {
		return nil, errors.New("it has no pod")
	}
	if d.Has(p.Spec.Name, lab.FaultCut) { // the API server would reach it all the same
		return nil, errors.New("it is cut off")
	}
	return d.cluster.API.Forward(d.Watching, d.cluster.namespace, p.name, port)
}

// latest returns the pod of a unit, or else the last one of a command that prepares; nil: there is none.
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

// lost reports whether Kubernetes has lost the node of a pod: then the pod's last known state is running, but
// Kubernetes has declared it not ready, without a reason.
func lost(pod api.Pod) bool {
	if len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].State.Running == nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "False" && condition.Reason == "" // a reason names the program's fault
		}
	}
	return false
}
