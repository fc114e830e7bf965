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
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/images"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/lab"
)

const (
	// upPatience is how long a pod may take until its unit can be reached.
	upPatience = 90 * time.Second
	// logPatience is how long the end of the log of a program may take that did not come up.
	logPatience = 5 * time.Second
	// stopGrace is how long a foreign program has between SIGTERM and SIGKILL.
	stopGrace = 10 * time.Second
	// removePatience bounds the end of a pod: stopGrace, and what the kubelet takes.
	removePatience = stopGrace + 20*time.Second
)

// pod is one life of a unit.
type pod struct {
	*fleet.Unit
	deployment *deployment
	name       string // by which the cluster knows it; "" until it is made
	address    string // its own
	nodeName   string
	node       *private.Node // of that name; nil: it is the user's
	container  private.Container
	followed   chan struct{}
	paused     bool // it was, once
	scaled     bool // the cluster has made it
	removed    bool
	again      bool // a starter begins it in the pod of its former life

	token   string          // of its unit
	starter *fleet.Starter  // nil: it has none, or no faults
	lives   context.Context // until a starter ends it, or the deployment
	over    context.CancelFunc
}

func (d *deployment) newPod(spec lab.UnitSpec) *pod {
	p := &pod{Unit: fleet.NewUnit(spec), deployment: d, followed: make(chan struct{})}
	p.lives, p.over = context.WithCancel(d.Watching)
	if d.deployer.users != nil {
		p.starter = fleet.NewStarter(spec, func(ctx context.Context) (net.Conn, error) {
			return d.cluster.API.Forward(ctx, d.cluster.namespace, p.name, starterPort)
		})
	}
	return p
}

// Start implements fleet.Instance.
func (p *pod) Start(ctx context.Context) error {
	d := p.deployment
	if p.again {
		return p.starter.Again(ctx, p.Unit, p.connect, d.Endpoints[p.Spec.Name].Bind)
	}
	makeVolume := containers.MakeVolume
	if d.deployer.users != nil { // whose pods get what is in it, not the folder
		makeVolume = fleet.MakeVolume
	}
	if err := makeVolume(d.dir, p.Spec, d.trialOf(p.Spec).Endpoints); err != nil {
		return err
	}
	patience := upPatience
	if d.deployer.users != nil {
		patience = pullPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not up after %v", patience))
	defer cancel()
	var err error
	if p.token, err = p.run(ctx); err != nil {
		return fmt.Errorf("start unit %s: %w", p.Spec.Name, err)
	}
	return p.connect(ctx)
}

// connect connects to the unit of a pod that runs.
func (p *pod) connect(ctx context.Context) error {
	if p.Spec.Foreign || p.Prepares {
		go p.await()
		return nil
	}
	return p.control(ctx, p.token)
}

// control connects to the unit in a pod that runs.
func (p *pod) control(ctx context.Context, token string) error {
	d := p.deployment
	connection, err := p.dial(ctx, token)
	if err != nil {
		p.awaitLog()
		return fmt.Errorf("start unit %s: %w%s", p.Spec.Name, err, p.Log.LastWords())
	}
	d.Controlled(p.Unit, connection, p.await)
	return nil
}

// awaitLog waits a while for the rest of the log. Kubernetes may tell that a program has ended before it
// brings what the program wrote last.
func (p *pod) awaitLog() {
	select {
	case <-p.followed:
	case <-time.After(logPatience):
	}
}

// run makes the pod, waits until its program runs, or has run, and finds its process. It
// returns the token of its unit.
func (p *pod) run(ctx context.Context) (token string, err error) {
	d := p.deployment
	made, token, err := p.description()
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	d.lives++
	p.name = fmt.Sprintf("%s-%s-%d", d.trial, p.Spec.Name, d.lives)
	d.mu.Unlock()
	made.Metadata.Name = p.name
	if d.deployer.users != nil {
		if err := p.makeForeign(ctx, &made); err != nil {
			return "", err
		}
	}
	if err := d.cluster.API.Do(ctx, http.MethodPost, d.cluster.ours("pods"), made, nil); err != nil {
		return "", p.advised(err)
	}
	state, err := d.told.await(ctx, p.name, started)
	if err != nil {
		return "", err
	}
	return token, p.find(state)
}

// find notes which process of which node a pod is that runs, or has run, with its address, and follows its
// log.
func (p *pod) find(state api.Pod) error {
	d := p.deployment
	status := state.Status.ContainerStatuses[0]
	d.mu.Lock() // who follows accounts looks at any time
	p.address = state.Status.PodIP
	p.node, p.nodeName = d.cluster.Named(state.Spec.NodeName), state.Spec.NodeName
	p.container = private.Container{Pod: state.Metadata.UID, Class: state.Status.QOSClass,
		ID: status.ContainerID}
	d.mu.Unlock()
	if status.State.Terminated == nil && p.node != nil {
		p.SetHostPID(p.node.PID(p.container)) // 0 where it has ended just now
	}
	log, err := d.cluster.API.Stream(d.Watching, d.cluster.ours("pods", p.name, "log?follow=true"))
	if err != nil {
		return err
	}
	go func() {
		defer close(p.followed)
		_, _ = io.Copy(p.Log, log) // it ends with the program, or with the cluster
		_ = log.Close()
	}()
	return p.bind()
}

// bind keeps the unit on its processors, on which it has begun (containers.Trial.Binds), and proves it.
// Kubernetes cannot be told them.
func (p *pod) bind() error {
	processors, err := launch.Processors(p.Spec.Cores)
	if err != nil || len(processors) == 0 || p.HostPID() == 0 {
		return err
	}
	if err := p.node.Bind(p.container, launch.List(processors)); err != nil && p.runs() {
		return fmt.Errorf("bind it to the processors %v: %w", processors, err)
	}
	return launch.AwaitBound(p.deployment.Watching, p.HostPID(), p.Spec.Cores)
}

// hopeless are reasons for which a container waits in vain.
func hopeless() []string {
	return []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
}

// started reports whether the program of a pod runs, or has run. It fails where it never
// will.
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
	if err := prepared(pod); err != nil {
		return false, err
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return false, nil
	}
	state := pod.Status.ContainerStatuses[0].State
	if state.Waiting != nil && slices.Contains(hopeless(), state.Waiting.Reason) {
		err := fmt.Errorf("%s: %s", state.Waiting.Reason, state.Waiting.Message)
		if strings.Contains(state.Waiting.Reason, "Pull") {
			err = fmt.Errorf("%w: look whether the nodes reach the registry, and may read there", err)
		}
		return false, err
	}
	return (state.Running != nil && pod.Status.PodIP != "") || state.Terminated != nil, nil
}

// description returns what the pod is made of. Nothing secret is in it: it can be read by
// whoever may ask the cluster.
func (p *pod) description() (made api.Pod, token string, err error) {
	d, spec := p.deployment, p.Spec
	control := net.JoinHostPort(anyAddress, strconv.Itoa(controlPort))
	if p.Prepares {
		control = ""
	}
	is, err := d.trialOf(spec).Describe(spec, control)
	if err != nil {
		return made, "", err
	}
	made.Metadata.Labels = map[string]string{labelTrial: d.trial, labelUnit: spec.Name,
		labelNames: cmp.Or(spec.Group, spec.Name)}
	made.Spec = api.PodSpec{RestartPolicy: "Never", Hostname: is.Hostname, HostAliases: slices.Clone(d.found),
		TopologySpreadConstraints: []api.Spread{d.spread()}}
	for _, entry := range is.Hosts {
		name, address, _ := strings.Cut(entry, ":")
		made.Spec.HostAliases = append(made.Spec.HostAliases, api.HostAlias{IP: address, Hostnames: []string{name}})
	}
	if node := d.wanted(spec); node != "" {
		made.Spec.NodeSelector = map[string]string{hostname: node}
	}
	made.Spec.Containers = []api.Container{p.program(is)}
	if d.deployer.users != nil { // whose nodes have nothing of this host
		is.Mounts = slices.DeleteFunc(is.Mounts, func(m lab.ContainerMount) bool { return m.Kind == lab.MountBind })
	}
	return made, is.Token, mount(&made.Spec, is.Mounts)
}

// program returns what the program of the pod is made of, without its mounts.
func (p *pod) program(is containers.Container) api.Container {
	d := p.deployment
	command, args := is.Run()
	runs := api.Container{
		Name: "unit", Image: d.images[d.deployer.contentOf(p.Spec)], ImagePullPolicy: "Never",
		Resources: resources(p.Spec.Limits), WorkingDir: is.Dir, TTY: is.Terminal,
		Command: literals(command), Args: literals(args), ReadinessProbe: p.probe(is.Health),
		SecurityContext: api.SecurityContext{ReadOnlyRootFilesystem: is.ReadOnly,
			// all options that Preflight lets through forbid it
			AllowPrivilegeEscalation: len(is.SecurityOpt) == 0,
			Capabilities:             api.Capabilities{Add: is.CapAdd, Drop: is.CapDrop}},
	}
	for _, variable := range literals(is.Env) {
		name, value, _ := strings.Cut(variable, "=")
		runs.Env = append(runs.Env, api.Variable{Name: name, Value: value})
	}
	if user, group, _ := strings.Cut(is.User, ":"); user != "" {
		uid, _ := strconv.Atoi(user) // Preflight has seen that they are numbers
		runs.SecurityContext.RunAsUser = &uid
		if gid, err := strconv.Atoi(group); err == nil {
			runs.SecurityContext.RunAsGroup = &gid
		}
	}
	return runs
}

// mount gives the container of a pod what it has mounted.
func mount(pod *api.PodSpec, mounts []lab.ContainerMount) error {
	runs := &pod.Containers[0]
	for i, m := range mounts {
		volume := api.Volume{Name: "mount-" + strconv.Itoa(i), HostPath: &api.HostPath{Path: m.Source}}
		if m.Kind == lab.MountMemory {
			volume.HostPath, volume.EmptyDir = nil, &api.EmptyDir{Medium: "Memory"}
			size, err := containers.SizeOf(m)
			if err != nil {
				return err
			}
			if size > 0 {
				volume.EmptyDir.SizeLimit = strconv.FormatInt(size, 10)
			}
		}
		pod.Volumes = append(pod.Volumes, volume)
		runs.VolumeMounts = append(runs.VolumeMounts, api.Mount{Name: volume.Name, MountPath: m.Target,
			ReadOnly: m.ReadOnly})
	}
	return nil
}

// spread returns the rule by which the scheduler gives all nodes as many pods of the trial. Pods ask for no
// processor time or memory, so that it would choose at random among nodes.
func (d *deployment) spread() api.Spread {
	rule := api.Spread{MaxSkew: 1, TopologyKey: hostname, WhenUnsatisfiable: "ScheduleAnyway"}
	rule.LabelSelector.MatchLabels = map[string]string{labelTrial: d.trial}
	return rule
}

// wanted returns the node of the cluster where a unit has to be; "": anywhere. The unit that leads
// the trial is on the first of ours, which has no faults.
func (d *deployment) wanted(spec lab.UnitSpec) string {
	if node := d.placed[spec.Node]; node != "" || spec.Name != d.lead || d.deployer.users != nil {
		return node
	}
	return private.Nodes()[0]
}

// resources limit a program. It asks for none of its limit: what units get, the trial
// shall show, not the scheduler's arithmetic.
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

// await waits for the end of the program and judges it.
func (p *pod) await() {
	defer close(p.Ended)
	d := p.deployment
	state, err := d.told.await(p.lives, p.name, func(pod api.Pod, gone bool) (bool, error) {
		if d.deployer.users != nil && lost(pod) {
			return true, nil
		}
		return gone || ended(pod) != nil, nil
	})
	if err != nil { // it has ended by a fault, or with the deployment
		return
	}
	away := d.deployer.users != nil && lost(state)
	if !away { // else its log does not end
		<-p.followed
	}
	switch how := ended(state); {
	case away:
		err = fmt.Errorf("its node %s does not answer to Kubernetes any more", state.Spec.NodeName)
	case how == nil:
		err = errors.New("somebody has removed its pod")
	default:
		err = fleet.HowEnded(p.Spec, how.ExitCode,
			how.Reason == "OOMKilled" || how.ExitCode == lab.StarterOutOfMemory, nil)
	}
	d.JudgeEnd(p.Unit, err)
}

// ended returns how the program of a pod has ended, even where the cluster has begun it anew; nil:
// it has not.
func ended(pod api.Pod) *api.Terminated {
	if len(pod.Status.ContainerStatuses) == 0 {
		return nil
	}
	status := pod.Status.ContainerStatuses[0]
	return cmp.Or(status.State.Terminated, status.LastState.Terminated)
}

// runs reports whether the program runs.
func (p *pod) runs() bool {
	return p.HostPID() != 0 && syscall.Kill(p.HostPID(), 0) == nil && p.node.PID(p.container) == p.HostPID()
}

// kill ends every process of the pod and waits until they are gone.
func (p *pod) kill(ctx context.Context) error {
	if p.paused { // then it would not end
		if err := p.node.Resume(ctx, p.container); err != nil {
			return err
		}
	}
	for p.runs() {
		if err := syscall.Kill(p.HostPID(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end after kill -9: %w", p.HostPID(), context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

// End implements fleet.Instance. It returns when the cluster has the pod no more.
func (p *pod) End(ctx context.Context) error {
	if err := p.delete(ctx, stopGrace); err != nil {
		return err
	}
	return p.awaitGone(ctx)
}

// awaitGone waits until the cluster has the pod no more.
func (p *pod) awaitGone(ctx context.Context) error {
	_, err := p.deployment.told.await(ctx, p.name,
		func(_ api.Pod, gone bool) (bool, error) { return gone, nil })
	return err
}

// evict has the cluster end the pod and take it from its node. It could refuse that, were
// there a budget of disruptions, which is why an administrator asks for this and does not delete.
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

func (p *pod) delete(ctx context.Context, grace time.Duration) error {
	path := p.deployment.cluster.ours("pods", p.name) + "?gracePeriodSeconds=" +
		strconv.Itoa(int(grace.Seconds()))
	err := p.deployment.cluster.API.Do(ctx, http.MethodDelete, path, nil, nil)
	if api.NotFound(err) {
		return nil
	}
	return err
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
	var err error
	if p.deployment.deployer.users != nil {
		err := p.removeForeign(ctx)
		p.removed = err == nil
		return err
	}
	if p.Spec.Foreign && p.Spec.Server == nil && p.runs() {
		err = p.End(ctx)
	}
	if p.node != nil {
		err = errors.Join(err, p.kill(ctx))
	}
	err = errors.Join(err, p.delete(ctx, 0))
	p.removed = err == nil
	return err
}
