package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// upPatience limits how long a pod of a private cluster may take until its unit can be reached.
	upPatience = 90 * time.Second
	// logPatience limits the wait for the rest of the log of a unit that could not be reached.
	logPatience = 5 * time.Second
	// stopGrace is the time that a foreign program has between SIGTERM and SIGKILL.
	stopGrace = 10 * time.Second
	// removePatience limits the end of a pod: stopGrace, and the delay of the kubelet.
	removePatience = stopGrace + 20*time.Second
)

// pod is one life of a unit. On a cluster of the user's, further lives of a unit share the Kubernetes pod.
type pod struct {
	*fleet.Unit
	sitePod
	deployment *deployment
	name       string            // in the cluster; "" until the pod is made
	address    string            // IP address of the pod
	nodeName   string            // name of its node
	node       *private.Node     // its node; nil on a cluster of the user's
	container  private.Container // on that node
	followed   chan struct{}     // closed at the end of the log
	paused     bool              // it was paused, and may still be
	scaled     bool              // the cluster has made it as a replica
	removed    bool
	started    bool            // the program of this life runs, or has run
	token      string          // proves to the unit who its conductor is
	life       context.Context // ends when a fault ends this life, and with the deployment
}

// sitePod implements what differs between the pods of a private cluster (privatePod) and one of the user's
// (userPod): how a pod is made, reached and removed, and has faults.
type sitePod interface {
	// begin starts a further life in an existing pod and returns true. It returns false if the pod has to be
	// made.
	begin(ctx context.Context) (bool, error)
	// adapt removes from the container what its node cannot give it.
	adapt(wanted *containers.Container)
	// finish completes the description of the pod, and makes the objects that the pod needs.
	finish(ctx context.Context, made *api.Pod) error
	// dial connects to the pod's unit, as its conductor.
	dial(ctx context.Context) (net.Conn, error)
	// end ends the pod, whatever state it is in, and removes it.
	end(ctx context.Context) error

	Kill(ctx context.Context) (proof string, err error)
	Pause(ctx context.Context) (proof string, err error)
	Resume(ctx context.Context) error
}

// newPod returns the first life of a unit, whose pod is not made yet.
func (d *deployment) newPod(spec lab.UnitSpec) *pod {
	p := &pod{Unit: fleet.NewUnit(spec), deployment: d, followed: make(chan struct{}), life: d.Watching}
	p.sitePod = d.deployer.site.newSitePod(p)
	p.Healthy = p.awaitHealthy
	return p
}

// Start implements fleet.Instance.
func (p *pod) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil && !p.started {
			close(p.Ended)
		}
	}()
	d := p.deployment
	if begun, err := p.begin(ctx); begun || err != nil {
		return err
	}
	if err := containers.MakeVolume(d.dir, p.Spec, d.trialOf(p.Spec).Endpoints); err != nil {
		return err
	}
	patience := d.cluster.patience
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not up after %v", patience))
	defer cancel()
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("start unit %s: %w", p.Spec.Name, err)
	}
	return p.connect(ctx)
}

// connect connects to the unit of a running pod.
func (p *pod) connect(ctx context.Context) error {
	p.started = true
	return p.deployment.Connect(p.Unit, func() (net.Conn, error) {
		connection, err := p.dial(ctx)
		if err != nil {
			// Kubernetes may report the end of a program before it delivers the end of the log.
			select {
			case <-p.followed:
			case <-time.After(logPatience):
			}
		}
		return connection, err
	}, p.await)
}

// run makes the pod, waits until its program runs, or has run, and then calls find.
func (p *pod) run(ctx context.Context) error {
	d := p.deployment
	made, err := p.description()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.podsNamed++
	p.name = fmt.Sprintf("%s-%s-%d", d.trial, p.Spec.Name, d.podsNamed)
	d.mu.Unlock()
	made.Metadata.Name = p.name
	if err := p.finish(ctx, &made); err != nil {
		return err
	}
	if err := d.cluster.API.Do(ctx, http.MethodPost, d.cluster.ours("pods"), made, nil); err != nil {
		if len(made.Spec.Containers) > 1 && api.Forbidden(err) {
			err = fmt.Errorf("its fault cut takes a container of root with the capability NET_ADMIN: %w", err)
		}
		return d.cluster.advised(err)
	}
	state, err := d.pods.awaitPod(ctx, p.name, started)
	if err != nil {
		return err
	}
	return p.find(state)
}

// advised adds advice to the error with which the cluster refuses a pod.
func (c *cluster) advised(err error) error {
	if api.Forbidden(err) {
		return fmt.Errorf("%w: it is a quota, or a rule, of %s: have its administrator widen it for namespaces %s*",
			err, c.name, namespacePrefix)
	}
	return err
}

// find records the address, node, container and process of a pod that runs, or has run. It follows the pod's
// log and binds the pod to its processors.
func (p *pod) find(state api.Pod) error {
	p.started = true
	d := p.deployment
	status := state.Status.ContainerStatuses[0]
	d.mu.Lock() // account reads these fields at any time
	p.address = state.Status.PodIP
	p.node = d.cluster.Named(state.Spec.NodeName)
	p.nodeName = state.Spec.NodeName
	p.container = private.Container{Pod: state.Metadata.UID, Class: state.Status.QOSClass,
		ID: status.ContainerID}
	d.mu.Unlock()
	if status.State.Terminated == nil && p.node != nil {
		p.SetHostPID(p.node.PID(p.container)) // 0 if it has just ended
	}
	if err := d.follow(p.name, unitContainer, p.Log, p.followed); err != nil {
		return err
	}
	return p.bind()
}

// follow copies the log of a container of a pod until its program or the cluster ends, and then closes over.
func (d *deployment) follow(pod, container string, into io.Writer, over chan struct{}) error {
	log, err := d.cluster.API.Stream(d.Watching,
		d.cluster.ours("pods", pod, "log?follow=true&container="+container))
	if err != nil {
		return err
	}
	go func() {
		defer close(over)
		_, _ = io.Copy(into, log)
		_ = log.Close()
	}()
	return nil
}

// started reports whether the program of a pod runs, or has run. It returns an error if it never will.
func started(pod api.Pod, gone bool) (bool, error) {
	if gone {
		return false, errors.New("somebody has removed its pod")
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == "PodScheduled" && condition.Reason == "Unschedulable" {
			return false, fmt.Errorf("no node takes it: %s", condition.Message)
		}
	}
	if pod.Status.Phase == "Failed" && len(pod.Status.ContainerStatuses) == 0 {
		return false, fmt.Errorf("its node refuses it: %s", pod.Status.Message)
	}
	if err := setupFailure(pod); err != nil {
		return false, err
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return false, nil
	}
	for _, status := range pod.Status.ContainerStatuses {
		if err := hopeless(status.State.Waiting); err != nil {
			return false, err
		}
	}
	state := pod.Status.ContainerStatuses[0].State
	isReachable := state.Running != nil && pod.Status.PodIP != ""
	return isReachable || state.Terminated != nil, nil
}

// hopeless returns an error if a container that waits will never run. waiting is nil if it does not wait.
func hopeless(waiting *api.Waiting) error {
	reasons := []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
	if waiting == nil || !slices.Contains(reasons, waiting.Reason) {
		return nil
	}
	err := fmt.Errorf("%s: %s", waiting.Reason, waiting.Message)
	if strings.Contains(waiting.Reason, "Pull") {
		err = fmt.Errorf("%w: look whether the nodes reach the registry, and may read there", err)
	}
	return err
}

// description returns the pod as the cluster shall make it, without a name. Everybody who may use the cluster
// can read it: it holds no secrets of our units, but the whole environment of a foreign one.
func (p *pod) description() (made api.Pod, err error) {
	d, spec := p.deployment, p.Spec
	control := containers.AnyAddress(containers.ControlPort)
	if p.Prepares {
		control = ""
	}
	wanted, err := d.trialOf(spec).Describe(spec, control)
	if err != nil {
		return made, err
	}
	p.token = wanted.Token
	p.adapt(&wanted)
	made.Metadata.Labels = map[string]string{labelTrial: d.trial, labelUnit: spec.Name,
		labelNames: cmp.Or(spec.Group, spec.Name)}
	made.Spec = api.PodSpec{RestartPolicy: "Never", Hostname: wanted.Hostname,
		HostAliases: slices.Clone(d.aliases), TopologySpreadConstraints: []api.Spread{d.spread()}}
	for _, entry := range wanted.Hosts {
		name, address, _ := strings.Cut(entry, ":")
		made.Spec.HostAliases = append(made.Spec.HostAliases, api.HostAlias{IP: address, Hostnames: []string{name}})
	}
	if node := d.nodeFor(spec); node != "" {
		made.Spec.NodeSelector = map[string]string{hostname: node}
	}
	made.Spec.Containers = []api.Container{p.program(wanted)}
	err = mount(&made.Spec, wanted.Mounts)
	return made, err
}

// unitContainer is the name of the container of a pod that is its unit. Its status is the first one of the
// pod, because kubelets sort statuses by name (see cutter).
const unitContainer = "unit"

// program returns the container of the pod, without its mounts.
func (p *pod) program(wanted containers.Container) api.Container {
	d := p.deployment
	command, args := wanted.Run()
	container := api.Container{
		Name: unitContainer, Image: d.deployer.images.Of(p.Spec), ImagePullPolicy: "Never",
		Resources: resources(p.Spec.Limits), WorkingDir: wanted.Dir, TTY: wanted.Terminal,
		Command: literals(command), Args: literals(args), ReadinessProbe: p.probe(wanted.Health),
		SecurityContext: api.SecurityContext{ReadOnlyRootFilesystem: wanted.ReadOnly,
			// The only option that Preflight admits is no-new-privileges.
			AllowPrivilegeEscalation: len(wanted.SecurityOpt) == 0,
			Capabilities:             api.Capabilities{Add: wanted.CapAdd, Drop: wanted.CapDrop}},
	}
	for _, variable := range literals(wanted.Env) {
		name, value, _ := strings.Cut(variable, "=")
		container.Env = append(container.Env, api.Variable{Name: name, Value: value})
	}
	if user, group, _ := strings.Cut(wanted.User, ":"); user != "" {
		uid, _ := strconv.Atoi(user) // Preflight has checked that they are numbers
		container.SecurityContext.RunAsUser = &uid
		if gid, err := strconv.Atoi(group); err == nil {
			container.SecurityContext.RunAsGroup = &gid
		}
	}
	return container
}

// mount adds mounts to the container of a pod, with their volumes.
func mount(pod *api.PodSpec, mounts []lab.ContainerMount) error {
	container := &pod.Containers[0]
	for i, m := range mounts {
		volume := api.Volume{Name: "mount-" + strconv.Itoa(i)}
		switch {
		case m.Kind == lab.MountMemory:
			volume.EmptyDir = &api.EmptyDir{Medium: "Memory"}
			size, err := containers.SizeOf(m)
			if err != nil {
				return err
			}
			if size > 0 {
				volume.EmptyDir.SizeLimit = strconv.FormatInt(size, 10)
			}
		case m.Kind == lab.MountVolume && m.Source == "": // a volume that ends with the pod
			volume.EmptyDir = &api.EmptyDir{}
		default:
			volume.HostPath = &api.HostPath{Path: m.Source}
		}
		pod.Volumes = append(pod.Volumes, volume)
		container.VolumeMounts = append(container.VolumeMounts,
			api.Mount{Name: volume.Name, MountPath: m.Target, ReadOnly: m.ReadOnly})
	}
	return nil
}

// spread returns a rule for the scheduler to give all nodes the same number of the trial's pods. Without it
// the scheduler would choose nodes at random, since pods request no processor time or memory.
func (d *deployment) spread() api.Spread {
	rule := api.Spread{MaxSkew: 1, TopologyKey: hostname, WhenUnsatisfiable: "ScheduleAnyway"}
	rule.LabelSelector.MatchLabels = map[string]string{labelTrial: d.trial}
	return rule
}

// nodeFor returns the node of the cluster on which a unit has to run; "": any.
func (d *deployment) nodeFor(spec lab.UnitSpec) string {
	node := d.placed[spec.Node]
	if spec.Name == d.lead {
		return cmp.Or(node, d.cluster.leadNode)
	}
	return node
}

// resources returns the limits of a container. It requests nothing, so that reservations of the scheduler
// have no influence on what units get.
func resources(limits lab.Limits) api.Resources {
	r := api.Resources{Requests: map[string]string{"cpu": "0", "memory": "0"}, Limits: map[string]string{}}
	if limits.CPU > 0 {
		r.Limits["cpu"] = strconv.FormatFloat(limits.CPU, 'f', 3, 64)
	}
	if limits.Memory > 0 {
		r.Limits["memory"] = strconv.FormatInt(limits.Memory, 10)
	}
	return r
}

// await waits until the program ends and reports how to the supervisor.
func (p *pod) await() {
	defer close(p.Ended)
	d := p.deployment
	// On a private cluster only faults cut off nodes, and the pods there go on running.
	isLost := func(pod api.Pod) bool { return d.deployer.images.IsRemote && lost(pod) }
	state, err := d.pods.awaitPod(p.life, p.name, func(pod api.Pod, gone bool) (bool, error) {
		return gone || isLost(pod) || ended(pod) != nil, nil
	})
	if err != nil { // a fault or the deployment has ended this life
		return
	}
	nodeLost := isLost(state)
	if !nodeLost { // the log of a lost node does not end
		<-p.followed
	}
	switch how := ended(state); {
	case nodeLost:
		err = fmt.Errorf("its node %s does not answer to Kubernetes any more", state.Spec.NodeName)
	case how == nil:
		err = errors.New("somebody has removed its pod")
	default:
		err = fleet.HowEnded(p.Spec, how.ExitCode,
			how.Reason == "OOMKilled" || how.ExitCode == lab.StarterOutOfMemory, nil)
	}
	d.JudgeEnd(p.Unit, err)
}

// ended returns how the program of a pod has ended, also if the cluster has started it again; nil if it has
// not ended.
func ended(pod api.Pod) *api.Terminated {
	if len(pod.Status.ContainerStatuses) == 0 {
		return nil
	}
	status := pod.Status.ContainerStatuses[0]
	return cmp.Or(status.State.Terminated, status.LastState.Terminated)
}

// End implements fleet.Instance. It returns when the pod is gone from the cluster.
func (p *pod) End(ctx context.Context) error {
	if err := p.delete(ctx, stopGrace); err != nil {
		return err
	}
	return p.awaitGone(ctx)
}

// awaitGone waits until the pod is gone from the cluster.
func (p *pod) awaitGone(ctx context.Context) error {
	_, err := p.deployment.pods.awaitPod(ctx, p.name,
		func(_ api.Pod, gone bool) (bool, error) { return gone, nil })
	return err
}

// evict lets the cluster evict the pod from its node, as an administrator would. Unlike a deletion, the
// cluster may refuse an eviction that violates a disruption budget.
func (p *pod) evict(ctx context.Context) error {
	eviction := map[string]any{"apiVersion": "policy/v1", "kind": "Eviction",
		"metadata":      map[string]string{"name": p.name},
		"deleteOptions": map[string]int{"gracePeriodSeconds": int(stopGrace.Seconds())}}
	err := p.deployment.cluster.API.Do(ctx, http.MethodPost,
		p.deployment.cluster.ours("pods", p.name, "eviction"), eviction, nil)
	if err != nil && !api.NotFound(err) {
		return err
	}
	return p.awaitGone(ctx)
}

// delete has the cluster delete the pod, and give its programs a time to end.
func (p *pod) delete(ctx context.Context, grace time.Duration) error {
	c := p.deployment.cluster
	query := fmt.Sprintf("?gracePeriodSeconds=%d", grace/time.Second)
	return c.API.Delete(ctx, c.ours("pods", p.name)+query)
}

// remove ends the pod, whatever state it is in, and removes it.
func (p *pod) remove(ctx context.Context) error {
	if p.name == "" || p.removed {
		return nil
	}
	_ = p.deployment.Doom(p.Unit) // it may have ended
	ctx, cancel := context.WithTimeoutCause(ctx, removePatience,
		fmt.Errorf("the pod of unit %s is not removed after %v", p.Spec.Name, removePatience))
	defer cancel()
	err := p.end(ctx)
	p.removed = err == nil
	return err
}

// literals escapes texts for Kubernetes, which replaces $(NAME) by a variable and $$ by $.
func literals(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = strings.ReplaceAll(text, "$", "$$")
	}
	return all
}
