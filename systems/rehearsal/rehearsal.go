// Package rehearsal plays a model of a system: its units burn the CPU time, wait, send the bytes and make the
// calls of the model, in any placement of the model's components. So a split or a merge can be measured
// before anybody builds it.
//
// This package holds the design: which components share a unit, and every call of the model with its unit. It
// starts nothing and measures nothing. Package rehearsalunit plays a unit; package system describes a
// rehearsal as a system under test.
//
// Entry points: Catalogue, New.
package rehearsal

import (
	"fmt"
	"strconv"
	"strings"
)

// Name is the name of the system in study files.
const Name = "rehearsal"

// Job is the argument of a unit. The model is in ModelFile.
type Job struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	Unit         string            `json:"unit"`
	// Pause is the time between two operations of the load, in seconds; 0: none. The unit measures its own CPU
	// time with this pause, since a program that was idle takes more CPU time for the same work.
	Pause float64 `json:"pause_seconds,omitempty"`
}

// ModelFile is the name of the file with the model in a unit's folder.
const ModelFile = "model.yaml"

// SettledPath is the path of the front that answers when no unit has work in progress.
const SettledPath = "/settled"

// Path returns the path of an operation of the model at the front.
func Path(operation int) string { return "/operations/" + strconv.Itoa(operation) }

// Body returns the body of a client's request or of its answer: JSON of this length in bytes, but at
// least 11.
func Body(bytes float64) []byte {
	const frame = len(`{"load":""}`)
	filling := max(0, int(bytes+0.5)-frame)
	return fmt.Appendf(nil, `{"load":"%s"}`, strings.Repeat("x", filling))
}

// Tally counts the executions of one call in one unit.
type Tally struct {
	Made   int64 `json:"made"`   // calls made by the caller, in this unit
	Served int64 `json:"served"` // calls that began to be played, in this unit
	Done   int64 `json:"done"`   // calls that were played to the end without an error, in this unit
}

// Account is the report of a unit. Times are in seconds.
type Account struct {
	Calls []Tally `json:"calls"` // by the number of the call
	// Demanded is the CPU time that the model demanded of this unit.
	Demanded float64 `json:"demanded_seconds"`
	// SampledAsked is the CPU time that a sample of burns should have taken, SampledTook what they took.
	SampledAsked float64 `json:"sampled_asked_seconds"`
	SampledTook  float64 `json:"sampled_took_seconds"`
}
