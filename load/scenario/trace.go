package scenario

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// traceparent is the header of W3C Trace Context, level 1, section 3.2.
const traceparent = "traceparent"

// traceContext holds the identifiers of a flow's traces. Each step is a trace of its own.
type traceContext struct {
	high, low uint64
	sampled   bool
}

// begin draws the identifiers of a flow's traces, and whether services are to record their spans.
func (t *traceContext) begin(random *rand.Rand, share float64) {
	t.high = random.Uint64()
	t.low = random.Uint64()
	t.sampled = random.Float64() < share
}

// appendTo appends the value of the header for a step. If spans are not to be recorded, the header says
// so: without it, every service would decide itself.
func (t *traceContext) appendTo(out []byte, step int) []byte {
	low := t.low + uint64(step)
	out = append(out, "00-"...)
	out = appendHex(out, t.high)
	out = appendHex(out, low)
	out = append(out, '-')
	out = appendHex(out, low|1) // never zero
	if t.sampled {
		return append(out, "-01"...)
	}
	return append(out, "-00"...)
}

// appendHex appends sixteen hexadecimal digits.
func appendHex(out []byte, value uint64) []byte {
	var id [8]byte
	binary.BigEndian.PutUint64(id[:], value)
	return hex.AppendEncode(out, id[:])
}
