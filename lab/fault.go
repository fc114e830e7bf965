package lab

import "context"

// Fault is something that is done to a trial on purpose.
type Fault struct {
	// Target is a unit or a backing service of the layout, or EveryUnit.
	Target string `json:"target"`
	// Kind says what is done.
	Kind FaultKind `json:"kind"`
	// After is when, in seconds since the start of the load.
	After float64 `json:"after_seconds"`
	// Heal is how long it lasts before the target is started again, in seconds.
	Heal float64 `json:"heal_seconds"`
}

// EveryUnit as a target stands for all units of the system, the one that loads it
// left out. They have the fault one after another, and between two of them all is
// well for as long as the fault lasts.
const EveryUnit = "every-unit"

// FaultKind names what is done to a target.
type FaultKind string

// The kinds of faults.
const (
	// FaultKill ends the target with SIGKILL.
	FaultKill FaultKind = "kill"
)

// FaultRecord is what became of a fault.
type FaultRecord struct {
	Fault
	// Began and Healed are seconds since the start of the load: when the target was
	// gone, and when it could be used again.
	Began  float64 `json:"began_seconds"`
	Healed float64 `json:"healed_seconds"`
	// Effective: the target was really gone; Error says what went wrong.
	Effective bool   `json:"effective"`
	Error     string `json:"error,omitempty"`
}

// Restarter can be killed and started again, with the same address and content.
// Deployments and backing services may be one.
type Restarter interface {
	// Kill ends the named part with SIGKILL and returns when it is gone. From then
	// on its absence is no failure of the trial.
	Kill(name string) error
	// Restart starts it again and returns when it is ready to be used.
	Restart(ctx context.Context, name string) error
}

// Injector does faults to running trials.
type Injector interface {
	// Check says why faults cannot be done to a layout: a target that is not there.
	Check(faults []Fault, layout Layout) error
	// Begin plays the faults, whose times count from now on, and returns at once.
	// When ctx ends, nothing more is done, healing included.
	Begin(ctx context.Context, faults []Fault, targets []FaultTarget) Injection
}

// Injection is faults being played.
type Injection interface {
	// End is called when the load is over. No fault begins any more; End waits until
	// those under way are healed and returns what became of each, in the order of
	// doing. A fault of EveryUnit has one record per unit.
	End() []FaultRecord
}

// FaultTarget is a part of a trial that faults can be done to.
type FaultTarget struct {
	Name string
	// Unit is true for units of the system, false for backing services.
	Unit bool
	// Processes are those that the target consists of now.
	Processes func() []Unit
	// Parts kills and restarts the target by its name.
	Parts Restarter
}
