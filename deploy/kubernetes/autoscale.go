package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/deploy/containers"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/lab"
)

// scaled is a unit whose replicas the cluster makes: by a ReplicaSet and, from the start of the load, a
// HorizontalPodAutoscaler. That asks metrics-server every 15 s and makes as many replicas as are needed for
// the wanted CPU utilization. It removes none, since a removed replica could not report.
type scaled struct {
	specs []lab.UnitSpec // the first, and those on standby
	token string         // proves to all of them who their conductor is
}

// arrivals is the capacity of the channel of replicas that have arrived. A layout has no more replicas.
const arrivals = lab.MaxReplicas

// isScaled reports whether the cluster makes the replicas of a unit.
func isScaled(spec lab.UnitSpec) bool { return spec.Autoscale != nil || spec.Standby }

// startScaled starts the scaled units among specs, with one replica each.
func (d *deployment) startScaled(ctx context.Context, specs []lab.UnitSpec) error {
	for _, first := range specs {
		if first.Autoscale == nil {
			continue
		}
		s := &scaled{specs: []lab.UnitSpec{first}}
		for _, spec := range specs {
			if spec.Standby && spec.Group == first.Name {
				s.specs = append(s.specs, spec)
			}
		}
		if err := d.makeReplicaSet(ctx, s); err != nil {
			return fmt.Errorf("start unit %s: %w", first.Name, err)
		}
	}
	return nil
}

// object is a JSON object.
type object map[string]any

// makeReplicaSet makes the ReplicaSet of a scaled unit and waits until its first replica can be used. Then it
// adopts further replicas in the background.
func (d *deployment) makeReplicaSet(ctx context.Context, s *scaled) error {
	first := s.specs[0]
	if err := fleet.MakeVolume(d.dir, first, d.Endpoints); err != nil {
		return err
	}
	one := d.newPod(first) // never started: its description is the template of all replicas
	template, err := one.description()
	if err != nil {
		return err
	}
	s.token = one.token
	// Pods begin without labelUnit: the service selects a pod only when adopt has added that label.
	labels := map[string]string{labelTrial: d.trial, labelGroup: first.Name}
	template.Metadata.Labels = labels
	template.Spec.RestartPolicy = "Always"
	// The autoscaler computes the utilization relative to the request, which is the limit here.
	request := maps.Clone(template.Spec.Containers[0].Resources.Limits)
	template.Spec.Containers[0].Resources.Requests = request
	d.mu.Lock()
	d.scaled = append(d.scaled, s)
	d.mu.Unlock()
	set := object{"metadata": object{"name": d.setOf(first.Name)}, "spec": object{
		"replicas": 1, "selector": object{"matchLabels": labels},
		"template": object{"metadata": template.Metadata, "spec": template.Spec},
	}}
	if err := d.cluster.API.Do(ctx, http.MethodPost, d.cluster.inGroup(replicaSets), set, nil); err != nil {
		return err
	}
	known := map[string]bool{}
	if _, err := d.adopt(ctx, s, first, known); err != nil {
		return err
	}
	go d.adoptOthers(s, known)
	return nil
}

// setOf returns the name of a unit's ReplicaSet and of its autoscaler.
func (d *deployment) setOf(unit string) string { return d.trial + "-" + unit }

// adoptOthers adopts the pods that the cluster adds, until the deployment ends or no unit is left on standby.
func (d *deployment) adoptOthers(s *scaled, known map[string]bool) {
	for _, spec := range s.specs[1:] {
		arrived, err := d.adopt(d.Watching, s, spec, known)
		if d.Watching.Err() != nil {
			return
		}
		if err != nil {
			d.Fail(fmt.Errorf("a replica of unit %s that Kubernetes has added: %w", s.specs[0].Name, err))
			return
		}
		d.arrived <- arrived // its capacity suffices
	}
}

// adopt waits for a new pod of a scaled unit and makes it the unit of spec. It returns when the unit can be
// called at the address of its service.
func (d *deployment) adopt(
	ctx context.Context, s *scaled, spec lab.UnitSpec, known map[string]bool,
) (lab.Arrived, error) {
	state, asked, err := d.pods.awaitNew(ctx, s.specs[0].Name, known)
	if err != nil {
		return lab.Arrived{}, err
	}
	p := d.newPod(spec)
	p.scaled = true
	p.token = s.token
	known[state.Metadata.Name] = true
	d.mu.Lock()
	p.name = state.Metadata.Name
	d.mu.Unlock()
	d.Add(p)
	ctx, cancel := context.WithTimeoutCause(ctx, upPatience, fmt.Errorf("not up after %v", upPatience))
	defer cancel()
	if err := p.find(state); err != nil {
		return lab.Arrived{}, err
	}
	if err := p.connect(ctx); err != nil {
		return lab.Arrived{}, err
	}
	if err := p.AwaitListening(ctx, net.JoinHostPort(state.Status.PodIP, strconv.Itoa(containers.FirstPort)),
		upPatience); err != nil {
		return lab.Arrived{}, err
	}
	labelled := map[string]any{"metadata": map[string]any{"labels": map[string]string{labelUnit: spec.Name}}}
	if err := d.cluster.API.Do(ctx, http.MethodPatch, d.cluster.ours("pods", p.name), labelled,
		nil); err != nil {
		return lab.Arrived{}, err
	}
	if err := d.AwaitOpen(ctx, p); err != nil {
		return lab.Arrived{}, err
	}
	return lab.Arrived{
		Unit:  lab.Unit{Name: spec.Name, Role: spec.Role, PID: p.HostPID(), Span: lab.SpanContainer},
		Asked: asked, Ready: time.Now(),
	}, nil
}

// Command implements lab.Deployment. It makes the autoscalers with the start of the load.
func (d *deployment) Command(command lab.Command) error {
	if command.Command == lab.CommandStart {
		for _, s := range d.scaled {
			if err := d.autoscale(s.specs[0]); err != nil {
				return err
			}
		}
	}
	return d.Supervisor.Command(command)
}

// autoscale makes the autoscaler of a unit.
func (d *deployment) autoscale(unit lab.UnitSpec) error {
	name := d.setOf(unit.Name)
	utilization := int(math.Round(100 * unit.Autoscale.CPU)) // in percent of the limit
	autoscaler := object{"metadata": object{"name": name}, "spec": object{
		"scaleTargetRef": object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name},
		"minReplicas":    1, "maxReplicas": unit.Autoscale.Max,
		"metrics": []object{{"type": "Resource", "resource": object{"name": "cpu",
			"target": object{"type": "Utilization", "averageUtilization": utilization}}}},
		"behavior": object{"scaleDown": object{"selectPolicy": "Disabled"}},
	}}
	if err := d.cluster.API.Do(d.Watching, http.MethodPost, d.cluster.inGroup(autoscalers), autoscaler,
		nil); err != nil {
		return fmt.Errorf("have Kubernetes scale unit %s: %w", unit.Name, err)
	}
	return nil
}

// Arrivals implements lab.Deployment.
func (d *deployment) Arrivals(ctx context.Context, tell func(lab.Arrived) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case arrived := <-d.arrived:
			if err := tell(arrived); err != nil {
				return err
			}
		}
	}
}

// onStandby returns the units that the cluster may still add.
func (d *deployment) onStandby() (units []lab.Unit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.scaled {
		for _, spec := range s.specs {
			if d.Named(spec.Name) == nil {
				units = append(units, lab.Unit{Name: spec.Name, Role: spec.Role, Standby: true})
			}
		}
	}
	return units
}

// endScaling removes autoscalers and ReplicaSets, and all their pods, also those that were not adopted yet.
func (d *deployment) endScaling() error {
	if len(d.scaled) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(d.Watching, removePatience)
	defer cancel()
	var problems []error
	for _, s := range d.scaled {
		for _, kind := range []string{autoscalers, replicaSets} {
			path := d.cluster.inGroup(kind) + "/" + d.setOf(s.specs[0].Name) + "?propagationPolicy=Background"
			problems = append(problems, d.cluster.API.Delete(ctx, path))
		}
		for _, spec := range s.specs {
			if p := d.Named(spec.Name); p != nil {
				_ = d.Doom(p.Unit) // it may have ended
			}
		}
		itsPods := d.cluster.ours("pods") + "?gracePeriodSeconds=0&labelSelector=" +
			url.QueryEscape(labelTrial+"="+d.trial+","+labelGroup+"="+s.specs[0].Name)
		problems = append(problems, d.cluster.API.Delete(ctx, itsPods))
	}
	return errors.Join(problems...)
}
