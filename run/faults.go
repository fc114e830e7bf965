package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// PlanError says that a plan asks for what cannot be.
type PlanError struct{ cause error }

// Error implements error.
func (p *PlanError) Error() string { return p.cause.Error() }

// Unwrap returns the cause.
func (p *PlanError) Unwrap() error { return p.cause }

// checkFaults refuses faults that cannot be done to a layout.
func (c *Conductor) checkFaults(faults []lab.Fault, layout lab.Layout) error {
	if len(faults) == 0 {
		return nil
	}
	if c.Injector == nil {
		return errors.New("nothing here can do faults to a trial")
	}
	problems := []error{c.Injector.Check(faults, layout)}
	for _, spec := range layout.Services {
		named := func(f lab.Fault) bool { return f.Target == spec.Name }
		if permanent, is := c.Backings[spec.Kind].(lab.PermanentBacking); is && slices.ContainsFunc(faults, named) {
			problems = append(problems, fmt.Errorf("fault of %q: %s", spec.Name, permanent.Permanent()))
		}
	}
	return errors.Join(problems...)
}

// targets are the units and backing services of a trial.
func targets(deployment lab.Deployment, layout lab.Layout, metering lab.Metering) []lab.FaultTarget {
	restarter, can := deployment.(lab.Restarter)
	if !can {
		restarter = permanent{}
	}
	var all []lab.FaultTarget
	for _, unit := range deployment.Units() {
		if unit.Name == layout.Lead {
			continue
		}
		processes := func() []lab.Unit {
			return slices.DeleteFunc(deployment.Units(), func(u lab.Unit) bool { return u.Name != unit.Name })
		}
		all = append(all, lab.FaultTarget{
			Name: unit.Name, Unit: slices.ContainsFunc(layout.Units, func(spec lab.UnitSpec) bool { return spec.Name == unit.Name }),
			Processes: processes, Parts: metered{restarter, metering, processes},
		})
	}
	return all
}

// permanent is what cannot be killed and started again.
type permanent struct{}

func (permanent) Kill(string) error {
	return errors.New("what runs it cannot kill it and start it again")
}

func (permanent) Restart(context.Context, string) error { return errors.ErrUnsupported }

// metered keeps the meter informed of what is killed and started again.
type metered struct {
	lab.Restarter
	metering  lab.Metering
	processes func() []lab.Unit
}

// Kill implements lab.Restarter.
func (m metered) Kill(name string) error {
	for _, process := range m.processes() {
		if err := m.metering.Suspend(process.Name); err != nil {
			return fmt.Errorf("meter: %w", err)
		}
	}
	return m.Restarter.Kill(name)
}

// Restart implements lab.Restarter.
func (m metered) Restart(ctx context.Context, name string) error {
	if err := m.Restarter.Restart(ctx, name); err != nil {
		return err
	}
	for _, process := range m.processes() {
		if err := m.metering.Resume(process); err != nil {
			return fmt.Errorf("meter: %w", err)
		}
	}
	return nil
}

// unhealed is what the faults have left broken: the trial cannot go on.
func unhealed(records []lab.FaultRecord) error {
	var problems []error
	for _, r := range records {
		if r.Effective && r.Error != "" {
			problems = append(problems, fmt.Errorf("fault %s of %s: %s", r.Kind, r.Target, r.Error))
		}
	}
	return errors.Join(problems...)
}

// withFaults takes the value from an audit whose faults did not take effect: it
// has not seen what it was to judge.
func withFaults(audited lab.Audit, records []lab.FaultRecord) lab.Audit {
	for _, r := range records {
		if r.Effective {
			continue
		}
		if audited.Verdict == lab.AuditValid {
			audited.Verdict = lab.AuditUnknown
		}
		audited.Problems = append(audited.Problems, fmt.Sprintf("fault %s of %s did not take effect: %s", r.Kind, r.Target, r.Error))
	}
	return audited
}
