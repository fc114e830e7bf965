// Package rehearsal plays a model of a system: its units burn the CPU time, wait, send the bytes and make the
// calls of the model, in any placement of the model's components. So a split or a merge can be measured
// before anybody builds it.
//
// This package holds the design: which components share a unit, and every call of the model with its unit. It
// starts nothing and measures nothing. rehearsalunit plays a unit, system is the whole as a system under
// test.
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
	// Pause is the time between two operations of the load, in seconds; 0: there is none. The unit measures its
	// own CPU time at that pace: a program that falls idle takes more.
	Pause float64 `json:"pause_seconds,omitempty"`
}

// ModelFile is the file in the folder of a unit that holds the model.
const ModelFile = "model.yaml"

// SettledPath is the path that answers when no unit works any more.
const SettledPath = "/settled"

// Path returns the path under which clients call an operation of the model.
func Path(operation int) string { return "/operations/" + strconv.Itoa(operation) }

// Body returns the body of a client's request, or of an answer: JSON of so many bytes if these are enough.
func Body(bytes float64) []byte {
	const frame = len(`{"load":""}`)
	return fmt.Appendf(nil, `{"load":"%s"}`, strings.Repeat("x", max(0, int(bytes+0.5)-frame)))
}

// Tally counts executions of one call in one unit.
type Tally struct {
	Made   int64 `json:"made"`   // by a caller in this unit
	Served int64 `json:"served"` // begun by the callee in this unit
	Done   int64 `json:"done"`   // ended well by the callee in this unit
}

// Account is the report of a unit. Times are in seconds.
type Account struct {
	Calls []Tally `json:"calls"` // by the number of the call
	// Demanded is the CPU time that the model asked of this unit.
	Demanded float64 `json:"demanded_seconds"`
	// SampledAsked and SampledTook are the CPU time that some burns were to take, and that they took.
	SampledAsked float64 `json:"sampled_asked_seconds"`
	SampledTook  float64 `json:"sampled_took_seconds"`
	// FrontCPU and StoreCPU are the CPU time that our program itself takes for a client's request with all that
	// this unit does for it, and for a call of a store that is a unit. Both are measured before the load and
	// taken off the CPU time of calls.
	FrontCPU float64 `json:"front_cpu_seconds"`
	StoreCPU float64 `json:"store_cpu_seconds"`
}
