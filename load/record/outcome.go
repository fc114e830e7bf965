package record

import "fmt"

// Outcome is the way in which an operation ended.
type Outcome uint8

// The outcomes. Everything but OK and Unfinished is an error.
const (
	OK          Outcome = iota // the answer came and the oracle accepts it
	Failed                     // the oracle read the answer and does not accept it
	BadStatus                  // the protocol's status is a failure
	Rejected                   // the server is too busy
	Timeout                    // no answer within the time limit
	Refused                    // nobody listens at the target
	Unreachable                // no route to the target, or its name is unknown
	Reset                      // the connection was reset
	Closed                     // the connection ended before the answer was whole
	Malformed                  // the answer is not valid in the protocol
	TooLarge                   // the answer exceeds a limit of the engine
	BadTLS                     // the handshake or the certificate failed
	Exhausted                  // the generator ran out of ports, files or memory
	OtherError                 // anything else
	Unfinished                 // still in flight when the engine stopped waiting
	outcomes    = iota
)

// names returns the names of the outcomes, by their number.
func names() [outcomes]string {
	return [...]string{"ok", "failed", "bad-status", "rejected", "timeout", "refused", "unreachable", "reset",
		"closed", "malformed", "too-large", "tls", "exhausted", "other", "unfinished"}
}

// Outcomes lists all outcomes.
func Outcomes() []Outcome {
	all := make([]Outcome, outcomes)
	for i := range all {
		all[i] = Outcome(i)
	}
	return all
}

// String returns the name of the outcome in documents, tags and messages.
func (o Outcome) String() string {
	if int(o) >= outcomes {
		return fmt.Sprintf("outcome-%d", uint8(o))
	}
	return names()[o]
}

// GobEncode encodes the name, because the numbers may differ between versions.
func (o Outcome) GobEncode() ([]byte, error) { return []byte(o.String()), nil }

// GobDecode decodes a name.
func (o *Outcome) GobDecode(name []byte) error {
	var err error
	*o, err = parseOutcome(string(name))
	return err
}

// IsError reports whether the outcome counts as an error.
func (o Outcome) IsError() bool { return o != OK && o != Unfinished }

// parseOutcome returns the outcome of a name.
func parseOutcome(name string) (Outcome, error) {
	for i, known := range names() {
		if name == known {
			return Outcome(i), nil
		}
	}
	return 0, fmt.Errorf("outcome %q is unknown: use one of %v", name, names())
}
