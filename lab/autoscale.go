package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Autoscale lets the platform of a deployment choose the number of replicas of a unit.
type Autoscale struct {
	// Max is the highest number of replicas; the unit starts with one.
	Max int `json:"max" yaml:"max"`
	// CPU is the target for the mean CPU usage of the replicas, as a share of their limit of processors. While
	// they use more, the platform adds replicas.
	CPU float64 `json:"cpu" yaml:"cpu,share"`
}

// checkCanAutoscale returns an error if the variant has units to autoscale and the deployer's platform cannot
// do that.
func (v Variant) checkCanAutoscale(d Deployer) error {
	if len(v.Autoscale) == 0 {
		return nil
	}
	autoscale := d.Can().Autoscale
	if autoscale == nil {
		return fmt.Errorf("autoscale: the deployment %s adds no replicas by itself: use %s, or give a number of "+
			"replicas", v.Deployment, Kubernetes)
	}
	return autoscale()
}

// Arrived is a replica that was added.
type Arrived struct {
	Unit
	Asked, Ready time.Time // when the platform decided to add it, and when it was ready
}

// Arrival is a replica that was added during the load of a trial. Its times are in seconds
// since the beginning of the load.
type Arrival struct {
	Unit  string  `json:"unit"`
	Asked float64 `json:"asked_seconds"` // when the platform decided to add it
	Ready float64 `json:"ready_seconds"`
}

// mostReplicas returns the highest number of replicas of each unit, by its name: that of the variant, or the
// one up to which its platform may add some.
func (v Variant) mostReplicas() map[string]int {
	most := maps.Clone(v.Replicas)
	if most == nil {
		most = map[string]int{}
	}
	for unit, a := range v.Autoscale {
		most[unit] = a.Max
	}
	return most
}

// checkAutoscale returns an error if units of a layout cannot be scaled as the variant says.
func (v Variant) checkAutoscale(l Layout) error {
	var mistakes []error
	for _, name := range slices.Sorted(maps.Keys(v.Autoscale)) {
		a := v.Autoscale[name]
		unit, known := first(l.Units, func(u UnitSpec) bool { return u.Name == name })
		switch _, fixed := v.Replicas[name]; {
		case fixed:
			mistakes = append(mistakes, fmt.Errorf("autoscale: %s has a number of replicas, too: choose one", name))
		case a.Max < 2 || a.Max > MaxReplicas || a.CPU <= 0 || a.CPU > 1:
			mistakes = append(mistakes, fmt.Errorf("autoscale: %s goes up to %d replicas at %g of its processors: "+
				"use 2 to %d, and a share above 0 and up to 1", name, a.Max, a.CPU, MaxReplicas))
		case slices.ContainsFunc(l.Units, func(u UnitSpec) bool {
			return u.Name == l.Lead && slices.Contains(u.Peers, name)
		}):
			mistakes = append(mistakes, fmt.Errorf("autoscale: the generator connects to %s before replicas are "+
				"added: put a proxy in front of it that connects for each call, such as nginx", name))
		case !known: // checkReplicas refuses it
		case unit.Foreign:
			mistakes = append(mistakes, fmt.Errorf("autoscale: %s is not a program of Cleave's, and replicas of "+
				"others send no reports: give it a number of replicas", name))
		case unit.Reached != ReachUsual:
			mistakes = append(mistakes, fmt.Errorf("autoscale: %s shall be called at its %s address, but replicas "+
				"that the platform adds share one: give it a number of replicas", name, unit.Reached))
		case unit.Limits.CPU <= 0:
			mistakes = append(mistakes, fmt.Errorf("autoscale: %s has no limit of processors, of which cpu is a "+
				"share: give it one under limits", name))
		}
	}
	return errors.Join(mistakes...)
}

// autoscaling describes the units that the platform scales: "front: 1 to 3 replicas at 50 % of its
// processors".
func (v Variant) autoscaling() []string {
	var parts []string
	for _, unit := range slices.Sorted(maps.Keys(v.Autoscale)) {
		a := v.Autoscale[unit]
		parts = append(parts, fmt.Sprintf("%s: 1 to %d replicas at %s %% of its processors", unit, a.Max,
			Plain(100*a.CPU)))
	}
	return parts
}
