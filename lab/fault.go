package lab

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Fault is a fault to inject into a trial.
type Fault struct {
	// Target is a unit or a backing service of the layout, a node of its deployment, or EveryUnit.
	Target string `json:"target"`
	// Kind is the kind of fault.
	Kind FaultKind `json:"kind"`
	// After is the time of the fault, in seconds since the start of the load.
	After float64 `json:"after_seconds"`
	// Heal is the time from when the fault has taken effect until its healing begins, in seconds. It is
	// 0 for kinds that pass without healing (FaultKind.Passes).
	Heal float64 `json:"heal_seconds"`
	// Delay (slow) is added to the latency of packets to the target, in seconds.
	Delay float64 `json:"delay_seconds,omitempty"`
	// Rate (slow) limits the traffic of the target, in bytes per second in each direction; 0
	// means no limit.
	Rate float64 `json:"rate_bytes_per_second,omitempty"`
}

// EveryUnit as a target stands for all units of the system, without the lead unit (Layout.Lead), such as the
// generator. The fault is injected into one after another, with a pause as long as the fault in between.
const EveryUnit = "every-unit"

// FaultKind is a kind of fault.
type FaultKind string

// The kinds of faults. Capabilities.Faults lists those that a deployer supports.
const (
	// FaultKill ends the target with SIGKILL. Healing starts it again, with the same address
	// and files. A killed node loses all processes, its memory and its network.
	FaultKill FaultKind = "kill"
	// FaultRestart ends the target with SIGKILL and starts it again at once: it is down for
	// the time of its start. It has no Heal.
	FaultRestart FaultKind = "restart"
	// FaultPause stops every process of the target; healing continues them.
	FaultPause FaultKind = "pause"
	// FaultCut disconnects the target from the network, a node with all its units.
	FaultCut FaultKind = "cut"
	// FaultSlow slows down the traffic of the target (Delay, Rate).
	FaultSlow FaultKind = "slow"
	// FaultFill fills the target's volume: writes to it fail.
	FaultFill FaultKind = "fill"
	// FaultDrain makes the platform drain a node, as for maintenance: its units end and are
	// started on other nodes. Healing makes the node schedulable again.
	FaultDrain FaultKind = "drain"
	// FaultUpdate makes the platform replace the target's process, as for a new version of
	// its program, by the platform's own rolling update: one replica after another. It has
	// no Heal.
	FaultUpdate FaultKind = "update"
)

// FaultKinds lists the kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultKill, FaultRestart, FaultPause, FaultCut, FaultSlow, FaultFill, FaultDrain,
		FaultUpdate}
}

// Ends reports whether the fault ends the target's processes, so that the target must be started again.
func (k FaultKind) Ends() bool { return k == FaultKill || k == FaultRestart }

// Replaces reports whether the fault itself ends processes and starts new ones: once it has
// taken effect, all units are usable.
func (k FaultKind) Replaces() bool { return k == FaultDrain || k == FaultUpdate }

// StopsProcesses reports whether running processes end, whether or not the fault itself starts new ones.
func (k FaultKind) StopsProcesses() bool { return k.Ends() || k.Replaces() }

// Passes reports whether the fault ends without healing: it has no Heal.
func (k FaultKind) Passes() bool { return k == FaultRestart || k == FaultUpdate }

// Excludes reports whether a target that has a fault of kind k cannot get one of kind next. While it is
// paused or cut off it cannot be started again, since the new process would be neither. While it is killed
// it has no process and no link to harm; but a killed node without units can be drained.
func (k FaultKind) Excludes(next FaultKind) bool {
	switch k {
	case next:
		return true
	case FaultPause, FaultCut:
		return next.StopsProcesses()
	case FaultKill:
		return next != FaultDrain
	}
	return false
}

// DefaultHeal returns the default duration of a fault, in seconds.
func (k FaultKind) DefaultHeal() float64 {
	if k.Passes() {
		return 0
	}
	return 1
}

// Check returns an error if the delay and the rate do not fit the kind. It does not check times and targets.
func (f Fault) Check() error {
	switch slow := f.Kind == FaultSlow; {
	case !slow && (f.Delay != 0 || f.Rate != 0):
		return fmt.Errorf("%s has a delay or a rate, which only %s has", f.Kind, FaultSlow)
	case f.Delay < 0 || f.Rate < 0:
		return fmt.Errorf("its delay is %g s and its rate %g bytes per second: neither can be negative", f.Delay,
			f.Rate)
	case slow && f.Delay == 0 && f.Rate == 0:
		return fmt.Errorf("%s needs a delay, a rate or both, such as delay=50ms and rate=100KiB", f.Kind)
	}
	return nil
}

// PreparedFor returns the layout with the kinds of faults of each unit in UnitSpec.Faults, for which
// deployers prepare it. The layout must already have the units of its backing services.
func (l Layout) PreparedFor(faults []Fault) Layout {
	l.Units = slices.Clone(l.Units)
	for i, u := range l.Units {
		for _, f := range faults {
			isOneOfAll := f.Target == EveryUnit && u.Server == nil && u.Name != l.Lead
			if f.Target == u.Name || isOneOfAll {
				l.Units[i].Faults = append(slices.Clip(l.Units[i].Faults), f.Kind)
			}
		}
	}
	return l
}

// FaultRecord records a fault and its effects.
type FaultRecord struct {
	Fault
	// Began is the time at which the fault had taken effect, in seconds since the start of the load.
	Began  float64 `json:"began_seconds"`
	Healed float64 `json:"healed_seconds"` // when the target could be used again; 0: never
	// Noticed is the time until the platform reported the loss of a node that was killed or cut off, in
	// seconds; 0: it did not report it, or reports no losses.
	Noticed   float64 `json:"noticed_seconds,omitempty"`
	Effective bool    `json:"effective"`       // the fault has been observed to take effect
	Proof     string  `json:"proof,omitempty"` // describes this observation
	Error     string  `json:"error,omitempty"` // what went wrong; absent: nothing
}

// Harmer injects faults into units and nodes. The Target of a fault is the name of one of them. The caller
// decides when a fault begins and ends.
type Harmer interface {
	// Harm injects a fault and returns when it has taken effect, with a description of what was observed.
	// From then on the trial does not fail because the unit is absent.
	Harm(ctx context.Context, fault Fault) (proof string, err error)
	// Heal ends a fault and returns when the target is usable again.
	Heal(ctx context.Context, fault Fault) error
	// Noticed returns the time that the platform needed to report the loss of a node, in its last kill or cut;
	// 0: it did not report it before the node was back, or reports no losses.
	Noticed(node string) time.Duration
}

// Injector injects the faults of a trial at their times.
type Injector interface {
	// Check returns an error if faults cannot be injected into a layout, such as for an unknown target.
	Check(faults []Fault, layout Layout) error
	// Begin starts to inject the faults, whose times count from now, and returns at once.
	// After the end of ctx it neither injects nor heals.
	Begin(ctx context.Context, faults []Fault, targets []FaultTarget) Injection
}

// Injection is a running series of faults.
type Injection interface {
	// Over says that the load has ended: no further fault begins.
	Over()
	// End calls Over, waits until all running faults are healed, and returns the record of each, in the order
	// of injection. A fault of EveryUnit has one record per unit.
	End() []FaultRecord
}

// FaultTarget is a unit, a backing service or a node of a trial into which faults can be injected.
type FaultTarget struct {
	Name string // as in Fault.Target
	// Unit is true for units of the system, false for backing services and nodes.
	Unit bool
	// Group names the unit of which the target is a further replica. It is empty for the first replica, for a
	// unit without replicas, and for targets that are not units of the system.
	Group  string
	Harmer // harms and heals the target
}
