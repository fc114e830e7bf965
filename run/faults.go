package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cleave-lab/cleave/lab"
)

// PlanError is the error of a plan that no host could play, such as one with a fault that its deployer cannot
// do. Conductor.Lacks returns what only this host lacks for a plan.
type PlanError struct{ cause error }

// Error implements error.
func (p *PlanError) Error() string { return p.cause.Error() }

// Unwrap returns the cause.
func (p *PlanError) Unwrap() error { return p.cause }

// checkFaults returns an error for faults that cannot be done to a layout with its deployer.
func (c *Conductor) checkFaults(faults []lab.Fault, layout lab.Layout, deployer lab.Deployer) error {
	if len(faults) == 0 {
		return nil
	}
	problems := []error{c.Injector.Check(faults, layout)}
	for _, f := range faults {
		if _, isNode := layout.Node(f.Target); isNode {
			continue // the injector has checked it
		}
		can := deployer.Can().Faults
		isKnown := slices.Contains(lab.FaultKinds(), f.Kind)
		if isKnown && !slices.Contains(can, f.Kind) { // the injector refuses unknown kinds
			problems = append(problems, fmt.Errorf("fault %s of %q: the deployment %s cannot do it; it can: %v",
				f.Kind, f.Target, deployer.Name(), can))
		}
	}
	for _, spec := range layout.Services {
		named := func(f lab.Fault) bool { return f.Target == spec.Name }
		if permanent := c.Backings[spec.Kind].Permanent; permanent != "" && slices.ContainsFunc(faults, named) {
			problems = append(problems, fmt.Errorf("fault of %q: %s", spec.Name, permanent))
		}
		if spec.Replicated && slices.ContainsFunc(faults,
			func(f lab.Fault) bool { return named(f) && f.Kind == lab.FaultFill }) {
			problems = append(problems, fmt.Errorf("fault %s of %q: its data are on a replicated disk, "+
				"which cannot become full alone: use %s %s",
				lab.FaultFill, spec.Name, lab.KnobDisk, lab.DiskLocal))
		}
	}
	return errors.Join(problems...)
}

// targets returns the units and backing services of a trial and the nodes of its layout, without the lead
// unit, which controls the trial.
func targets(deployment lab.Deployment, layout lab.Layout, metering lab.Metering) []lab.FaultTarget {
	var all []lab.FaultTarget
	harmer := &metered{Deployment: deployment, metering: metering}
	for _, unit := range deployment.Units() {
		if unit.Name == layout.Lead {
			continue
		}
		target := lab.FaultTarget{Name: unit.Name, Harmer: harmer}
		i := slices.IndexFunc(layout.Units, func(spec lab.UnitSpec) bool { return spec.Name == unit.Name })
		if i >= 0 { // otherwise it is the server of a service
			target.Unit = true
			target.Group = layout.Units[i].Group
		}
		all = append(all, target)
	}
	for _, node := range layout.Nodes {
		if slices.ContainsFunc(all, func(t lab.FaultTarget) bool { return t.Name == node.Name }) {
			continue // a brick of the replicated disk is a node and metered as a unit
		}
		all = append(all, lab.FaultTarget{Name: node.Name, Harmer: harmer})
	}
	return all
}

// metered suspends and resumes the metering of units that faults kill and start again. Faults may overlap:
// one may begin or be healed while the units that another has ended are not running.
type metered struct {
	lab.Deployment
	metering lab.Metering
	ended    sync.Map // names of the units that a lab.Fault has ended, until it is healed
}

// Harm implements lab.Harmer. It suspends metering before the fault, because a killed process has no
// counters.
func (m *metered) Harm(ctx context.Context, f lab.Fault) (string, error) {
	var ended []string
	if f.Kind.StopsProcesses() {
		for _, unit := range m.Units() {
			if unit.Name == f.Target || m.NodeOf(unit.Name) == f.Target {
				ended = append(ended, unit.Name)
			}
		}
	}
	for _, unit := range ended {
		if err := m.metering.Suspend(unit); err != nil {
			return "", fmt.Errorf("meter: %w", err)
		}
	}
	proof, err := m.Deployment.Harm(ctx, f)
	switch {
	case err != nil:
		// The units stay suspended: if one still lives, resuming it would make the meter count its usage until
		// now twice. Nothing is lost, since the trial does not count (withFaults).
		return proof, err
	case f.Kind.Replaces():
		return proof, m.resume(ended)
	}
	m.ended.Store(f, ended)
	return proof, nil
}

// Heal implements lab.Harmer. It resumes the metering of the units that the fault has ended. The injector
// also heals a restart, at once.
func (m *metered) Heal(ctx context.Context, f lab.Fault) error {
	if err := m.Deployment.Heal(ctx, f); err != nil {
		return err
	}
	ended, _ := m.ended.LoadAndDelete(f)
	names, _ := ended.([]string) // none if the fault replaced the units: they are metered again
	return m.resume(names)
}

// resume resumes the metering of ended units, which have new processes.
func (m *metered) resume(ended []string) error {
	for _, again := range m.Units() {
		if slices.Contains(ended, again.Name) {
			if err := m.metering.Resume(again); err != nil {
				return fmt.Errorf("meter: %w", err)
			}
		}
	}
	return nil
}

// unhealed returns an error that names the faults that could not be healed, or nil.
func unhealed(records []lab.FaultRecord) error {
	var problems []error
	for _, r := range records {
		if r.Effective && r.Error != "" {
			problems = append(problems, fmt.Errorf("fault %s of %s: %s", r.Kind, r.Target, r.Error))
		}
	}
	return errors.Join(problems...)
}

// withFaults returns an audit with the faults that had no effect as problems. A valid audit becomes unknown,
// because it has not seen the system under these faults.
func withFaults(audited lab.Audit, records []lab.FaultRecord) lab.Audit {
	for _, r := range records {
		if r.Effective {
			continue
		}
		if audited.Verdict == lab.AuditValid {
			audited.Verdict = lab.AuditUnknown
		}
		audited.Problems = append(audited.Problems, fmt.Sprintf("fault %s of %s did not take effect: %s", r.Kind,
			r.Target, r.Error))
	}
	return audited
}
