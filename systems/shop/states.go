package shop

import (
	"slices"
)

// State is the state of an order.
type State string

// The states of an order.
const (
	StatePending   State = "pending"   // accepted, nothing done yet
	StateReserved  State = "reserved"  // the stock is reserved
	StatePaid      State = "paid"      // the money is captured
	StateConfirmed State = "confirmed" // sold, paid and shipped: final
	StateRejected  State = "rejected"  // refused, whatever was done is undone: final
	StateCancelled State = "cancelled" // a confirmed order, undone: final
)

// Transition is one step of an order from state to state.
type Transition struct{ From, To State }

// Transitions returns the state machine of an order. It has no other transitions.
func Transitions() []Transition {
	return []Transition{
		{StatePending, StateReserved},
		{StateReserved, StatePaid},
		{StatePaid, StateConfirmed},
		{StatePending, StateRejected},
		{StateReserved, StateRejected},
		{StatePaid, StateRejected},
		{StateConfirmed, StateCancelled},
	}
}

// States lists all states.
func States() []State {
	return []State{StatePending, StateReserved, StatePaid, StateConfirmed, StateRejected, StateCancelled}
}

// Known reports whether there is such a state.
func (s State) Known() bool { return slices.Contains(States(), s) }

// Final reports whether an order in this state is done. A confirmed order is
// done although it can still be cancelled.
func (s State) Final() bool {
	return s == StateConfirmed || s == StateRejected || s == StateCancelled
}

// MayReach reports whether transitions lead from s to later, or the two are the same. An observer may miss
// the states in between.
func (s State) MayReach(later State) bool {
	if s == later {
		return true
	}
	for _, t := range Transitions() {
		if t.From == s && t.To.MayReach(later) {
			return true
		}
	}
	return false
}
