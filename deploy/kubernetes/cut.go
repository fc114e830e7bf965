package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/lab"
)

// On a cluster of the user's, a unit is cut off by a second container in its pod, the cutter, which is in the
// same network namespace. It waits for commands (api.Client.Exec) and filters the packets of the pod.

// cutter is the name of this container. Kubelets sort the statuses of containers by name, and that of the
// unit has to be the first.
const cutter = unitContainer + "-network"

// cutTools describes the image of cutters, which has three programs of this host. It describes a server,
// since the image of a server has the programs of its setup, too (containers.Images).
func cutTools() lab.UnitSpec {
	return lab.UnitSpec{Name: cutter, Runnable: lab.Runnable{Program: "nft", Foreign: true,
		Server: &lab.Server{Setup: []lab.ServerSetup{{Program: "bash"}, {Program: "timeout"}}}}}
}

// shell is the path of bash in that image.
const shell = "/bin/bash"

// Commands of nft in the network of a pod. One that is cut off drops all packets except those of its
// loopback, which the unit may use, and through which the API server reaches the unit's control port.
const (
	dropAll = "add table inet cleave; " +
		"add chain inet cleave arrives { type filter hook input priority -300; }; " +
		"add rule inet cleave arrives iif != lo drop; " +
		"add chain inet cleave leaves { type filter hook output priority -300; }; " +
		"add rule inet cleave leaves oif != lo drop"
	dropNothing = "add table inet cleave; delete table inet cleave" // also if there is none
)

// callPort is a command of a cutter. It calls a port of an address, and prints the exit status: 124 if there
// is no answer for a second.
const callPort = `timeout 1 bash -c 'exec 3<>/dev/tcp/%s/%d' 2>&1; echo "status $?"`

// answerPatience limits how long a pod may take to get an answer from that of the lead.
const answerPatience = 20 * time.Second

// cutRights returns the rights that cuts need.
func cutRights() []right { return []right{{"get", "pods", "exec"}, {"create", "pods", "exec"}} }

// mayBeCut reports whether the fault cut is planned for a unit.
func mayBeCut(spec lab.UnitSpec) bool { return slices.Contains(spec.Faults, lab.FaultCut) }

// checkCuts returns what this host lacks for the cuts of a layout, and which rights we lack on the cluster.
func (u *UserCluster) checkCuts(ctx context.Context, layout lab.Layout) error {
	if !slices.ContainsFunc(layout.Units, mayBeCut) {
		return nil
	}
	missing := lab.MissingPrograms("the fault cut on "+u.Context,
		map[string]string{"nft": "nftables", "bash": "bash", "timeout": "coreutils"})
	return errors.Join(missing, u.require(ctx, cutRights()))
}

// addCutter adds the cutter to a pod, as its first container: the kubelet starts containers in their order,
// so the cutter runs before the unit.
func (u *userPod) addCutter(made *api.Pod) {
	root, nonRoot := 0, false
	made.Spec.Containers = slices.Insert(made.Spec.Containers, 0, api.Container{
		Name: cutter, Image: u.pod.deployment.deployer.images.Of(cutTools()), ImagePullPolicy: "IfNotPresent",
		Command:   []string{shell, "-c", "trap exit TERM; sleep infinity & wait"},
		Resources: resources(lab.Limits{}),
		SecurityContext: api.SecurityContext{RunAsUser: &root, RunAsNonRoot: &nonRoot,
			ReadOnlyRootFilesystem: true,
			Capabilities:           api.Capabilities{Drop: []string{"ALL"}, Add: []string{"NET_ADMIN"}}},
	})
}

// cutByFilter implements fleet.Platform.Cut. Calls from the pod to that of the trial's lead prove the cut and
// its end: they are answered before, are not answered while the pod is cut off, and are answered again.
func (d *deployment) cutByFilter(ctx context.Context, p *pod, off bool) error {
	if !off {
		return d.join(ctx, p)
	}
	if err := d.awaitAnswer(ctx, p); err != nil {
		return fmt.Errorf("before it is cut off: %w: let pods of the namespaces %s* reach each other, since "+
			"nothing else proves the fault", err, namespacePrefix)
	}
	err := d.filter(ctx, p, dropAll)
	if err == nil {
		var answered bool
		if answered, err = d.calls(ctx, p); answered {
			err = fmt.Errorf("its pod still gets answers from that of %s", d.lead)
		}
	}
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerPatience)
	defer cancel()
	return errors.Join(err, d.filter(ctx, p, dropNothing))
}

// filter changes the filter of a pod's network by commands of nft.
func (d *deployment) filter(ctx context.Context, p *pod, commands string) error {
	_, err := d.command(ctx, p, "nft '"+commands+"'")
	return err
}

// join connects a pod again that was cut off. Kubernetes may meanwhile have taken a pod with a health check
// out of its service. join then waits until Kubernetes declares the pod ready again, and the fleet waits
// until all nodes route calls to it.
func (d *deployment) join(ctx context.Context, p *pod) error {
	if err := d.filter(ctx, p, dropNothing); err != nil {
		return err
	}
	if err := d.awaitAnswer(ctx, p); err != nil {
		return err
	}
	if p.Spec.Container == nil || p.probe(p.Spec.Container.Health) == nil {
		return nil
	}
	return p.awaitDeclared(ctx)
}

// awaitAnswer waits until a call from a pod to that of the lead is answered.
func (d *deployment) awaitAnswer(ctx context.Context, p *pod) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerPatience,
		fmt.Errorf("its pod gets no answer from that of %s for %v", d.lead, answerPatience))
	defer cancel()
	return fleet.Until(ctx, watchAgain, func() (bool, error) {
		answered, err := d.calls(ctx, p)
		return answered || err != nil, err
	})
}

// calls reports whether a call from a pod to that of the lead is answered, be it with a refusal.
func (d *deployment) calls(ctx context.Context, p *pod) (answered bool, err error) {
	lead := d.Named(d.lead)
	if lead == nil {
		return false, fmt.Errorf("the trial has no pod %s", d.lead)
	}
	printed, err := d.command(ctx, p, fmt.Sprintf(callPort, lead.address, containers.ControlPort))
	return strings.Contains(printed, "status 0") || strings.Contains(printed, "Connection refused"), err
}

// command runs a command of bash in the cutter of a pod and returns what it prints.
func (d *deployment) command(ctx context.Context, p *pod, script string) (printed string, err error) {
	return d.cluster.API.Exec(ctx, d.cluster.namespace, p.name, cutter, shell, "-c", script)
}

// reachUncut returns the address at which this host reaches a unit, or "" if the unit is cut off: a forward
// accepts connections all the same, so that dialling it would prove nothing.
func (d *deployment) reachUncut(unit string) string {
	if d.Has(unit, lab.FaultCut) {
		return ""
	}
	return d.reach(unit)
}
