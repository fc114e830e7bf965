package lab

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Fault is something that is done to a trial on purpose.
type Fault struct {
	// Target is a unit or a backing service of the layout, a node of its deployment, or EveryUnit.
	Target string `json:"target"`
	// Kind says what is done.
	Kind FaultKind `json:"kind"`
	// After is the time of the fault, in seconds since the start of the load.
	After float64 `json:"after_seconds"`
	// Heal is the time until the target is started again, in seconds.
	Heal float64 `json:"heal_seconds"`
	// Delay (slow) is how much later what is sent to the target comes, in seconds.
	Delay float64 `json:"delay_seconds,omitempty"`
	// Rate (slow) is how much can be sent to the target and come from it at most, in bytes
	// per second in each direction; 0 means no limit.
	Rate float64 `json:"rate_bytes_per_second,omitempty"`
}

// EveryUnit as a target stands for all units of the system, without the generator. They have the fault one
// after another. Between two of them nothing is wrong for as long as the fault lasts.
const EveryUnit = "every-unit"

// FaultKind names what is done to a target.
type FaultKind string

// The kinds of faults. Deployers say which of them they can do (Capabilities.Faults).
const (
	// FaultKill ends the target with SIGKILL; it is started again when that is over,
	// with the same address and content. A node that is killed has lost all processes, its
	// memory and its network.
	FaultKill FaultKind = "kill"
	// FaultRestart ends it in the same way and starts it again at once: the target is
	// gone for as long as its start takes. It has no Heal.
	FaultRestart FaultKind = "restart"
	// FaultPause keeps every process of the target from running; it goes on afterwards.
	FaultPause FaultKind = "pause"
	// FaultCut takes the target off the network; a node with all units on it.
	FaultCut FaultKind = "cut"
	// FaultSlow slows down what is sent to the target and comes from it (Delay, Rate).
	FaultSlow FaultKind = "slow"
	// FaultFill lets the target's volume become full: nothing more can be written to it.
	FaultFill FaultKind = "fill"
	// FaultDrain has the platform empty a node, as for its maintenance: the units there end
	// and begin another life on other nodes. Healed, the node takes units again.
	FaultDrain FaultKind = "drain"
	// FaultUpdate has the platform put a new process in the target's place, as for a new
	// version of its program, in the way that it has for this: of a unit that runs several
	// times one replica after another. It has no Heal.
	FaultUpdate FaultKind = "update"
)

// FaultKinds lists the kinds of faults.
func FaultKinds() []FaultKind {
	return []FaultKind{FaultKill, FaultRestart, FaultPause, FaultCut, FaultSlow, FaultFill, FaultDrain,
		FaultUpdate}
}

// Ends reports whether the target's life ends with the fault, and another begins when it
// is healed.
func (k FaultKind) Ends() bool { return k == FaultKill || k == FaultRestart }

// Replaces reports whether lives end with the fault and others begin in it: when it has taken
// effect, all units can be used.
func (k FaultKind) Replaces() bool { return k == FaultDrain || k == FaultUpdate }

// Passes reports whether the fault is over by itself: it has no Heal.
func (k FaultKind) Passes() bool { return k == FaultRestart || k == FaultUpdate }

// DefaultHeal returns how long a fault lasts where nothing is said, in seconds.
func (k FaultKind) DefaultHeal() float64 {
	if k.Passes() {
		return 0
	}
	return 1
}

// Check returns the mistake in the delay and the rate of a fault. It does not look at times and targets.
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

// Readied returns the layout with the faults of each unit, so that deployers can prepare for them. Backing
// services are among the units already.
func (l Layout) Readied(faults []Fault) Layout {
	l.Units = slices.Clone(l.Units)
	for i, u := range l.Units {
		for _, f := range faults {
			if f.Target == u.Name || f.Target == EveryUnit && u.Server == nil && u.Name != l.Lead {
				l.Units[i].Faults = append(slices.Clip(l.Units[i].Faults), f.Kind)
			}
		}
	}
	return l
}

// FaultRecord records a fault and its effects.
type FaultRecord struct {
	Fault
	// Began and Healed are seconds since the start of the load: when the fault had
	// taken effect, and when the target could be used again.
	Began  float64 `json:"began_seconds"`
	Healed float64 `json:"healed_seconds"`
	// Noticed is the number of seconds until the platform reported the loss of a node that was killed or cut
	// off; 0: it has not reported it, or nobody looks.
	Noticed float64 `json:"noticed_seconds,omitempty"`
	// Effective: the fault has really taken effect, and Proof says what was seen of
	// that; Error says what went wrong.
	Effective bool   `json:"effective"`
	Proof     string `json:"proof,omitempty"`
	Error     string `json:"error,omitempty"`
}

// Harmer does faults to units and nodes. The Target of a fault is the name of one of them; others decide when
// it begins and ends.
type Harmer interface {
	// Harm does a fault and returns when it has taken effect, with what was seen of that.
	// From then on the trial does not fail because the unit is absent.
	Harm(ctx context.Context, fault Fault) (proof string, err error)
	// Heal undoes it and returns when the unit can be used again.
	Heal(ctx context.Context, fault Fault) error
	// Noticed returns how long the platform took to say of a node, which was last killed or cut off, that it
	// is lost; 0: it had not said so before the node was there again, or does not look.
	Noticed(node string) time.Duration
}

// Injector does faults to running trials.
type Injector interface {
	// Check returns why faults cannot be done to a layout, such as a target that it does not have.
	Check(faults []Fault, layout Layout) error
	// Begin plays the faults, whose times count from now on, and returns at once.
	// When ctx ends, nothing more is done, healing included.
	Begin(ctx context.Context, faults []Fault, targets []FaultTarget) Injection
}

// Injection is faults being played.
type Injection interface {
	// Over is called when the load is over: no fault begins any more.
	Over()
	// End does what Over does, waits until the faults under way are healed, and returns what became of each, in
	// the order of doing. A fault of EveryUnit has one record per unit.
	End() []FaultRecord
}

// FaultTarget is a part of a trial that faults can be done to.
type FaultTarget struct {
	Name string
	// Unit is true for units of the system, false for backing services.
	Unit bool
	// Group is the unit of which it is a replica; "": it is none, or the first.
	Group string
	// Parts harms and heals the target by its name.
	Parts Harmer
}
