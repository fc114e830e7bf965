package record

import (
	"encoding/json"
	"io"
)

// Ends of attempts in a history.
const (
	EndedOK   = "ok"   // it happened
	EndedFail = "fail" // it did not happen: the system refused it, or was not reached
	EndedInfo = "info" // unknown: the answer never came
)

// Attempt is one line of a history, for audits: an operation that a client tried, and what it knows about
// the end. Times are nanoseconds since the beginning of the load. A warm-up, and every probe of a search,
// is a load of its own.
type Attempt struct {
	Operation string `json:"operation"`
	End       string `json:"end"`     // EndedOK, EndedFail or EndedInfo
	Outcome   string `json:"outcome"` // the name of an Outcome
	Status    string `json:"status,omitempty"`
	Intended  int64  `json:"intended_ns"`
	Sent      int64  `json:"sent_ns"`
	Finished  int64  `json:"finished_ns"`
	// Begun is the beginning of the load on the clock of the host, in nanoseconds since 1970. Adding it
	// makes the other times comparable with those of other processes on the same host.
	Begun  int64           `json:"begun_unix_ns"`
	WarmUp bool            `json:"warm_up,omitempty"` // a warm-up, which the results do not contain
	Noted  json.RawMessage `json:"noted,omitempty"`   // values that the step noted
}

// NewHistoryWriter returns a writer of attempts to w.
func NewHistoryWriter(w io.Writer) *LineWriter { return newLineWriter(w, "history", attemptOf) }

// attemptOf returns a row as an attempt.
func attemptOf(r Row) any {
	if r.Resent {
		r.Sent = r.Intended // the first request left between the two
	}
	return Attempt{
		Operation: r.Operation, End: r.End(), Outcome: r.Outcome.String(), Status: r.Status,
		Intended: int64(r.Intended), Sent: int64(r.Sent), Finished: int64(r.Finished), Noted: r.Noted,
		Begun: r.Started.Add(-r.Intended).UnixNano(), WarmUp: r.WarmUp,
	}
}

// End returns the end of an operation, as far as the client knows it. The end is unknown if the request
// may have reached the system and was not answered, or the answer cannot be read, or the answer says that
// the system failed. If a request was sent again, the first one may have succeeded although the second
// was refused.
func (r *Row) End() string {
	switch r.Outcome {
	case OK:
		return EndedOK
	case Timeout, Reset, Closed, Malformed, TooLarge, OtherError, Unfinished:
		return EndedInfo
	case BadStatus, Rejected: // even with 503 the work may have begun
		if isServerFailure(r.Status) {
			return EndedInfo
		}
	}
	if r.Resent {
		return EndedInfo
	}
	return EndedFail
}

// isServerFailure reports whether a status is a failure of the system: 5xx in HTTP, or CANCELLED, UNKNOWN,
// DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE and DATA_LOSS in gRPC.
func isServerFailure(status string) bool {
	switch status {
	case "1", "2", "4", "13", "14", "15":
		return true
	}
	return len(status) == 3 && status[0] == '5'
}
