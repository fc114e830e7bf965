package lab

import "context"

// Fault is something that is done to a trial on purpose.
type Fault struct {
	// Target is a unit or a backing service of the layout. "every unit" stands for
	// all units of the system, one after another.
	Target string `json:"target"`
	// Kind says what is done.
	Kind FaultKind `json:"kind"`
	// After is when, in seconds since the start of the load.
	After float64 `json:"after_seconds"`
	// Heal is how long it lasts before the target is started again, in seconds.
	Heal float64 `json:"heal_seconds"`
}

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
	// Began and Healed are seconds since the start of the load.
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
