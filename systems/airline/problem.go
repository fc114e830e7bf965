package airline

import "github.com/cleave-lab/cleave/binding/rpc"

// The kinds of problems. Beside them there are rpc.Internal, for failures of the airline itself,
// rpc.Unavailable, where a part of it does not answer, and rpc.Cancelled, which no client sees: it has gone.
const (
	BadRequest       rpc.Kind = "bad-request"
	WrongCredentials rpc.Kind = "wrong-credentials"
	NoSession        rpc.Kind = "no-session"
	NotYours         rpc.Kind = "not-yours"
	UnknownPath      rpc.Kind = "unknown-path"
	UnknownAirport   rpc.Kind = "unknown-airport"
	UnknownFlight    rpc.Kind = "unknown-flight"
	UnknownBooking   rpc.Kind = "unknown-booking"
	WrongMethod      rpc.Kind = "wrong-method"
	AlreadyBooked    rpc.Kind = "already-booked"
	TooLarge         rpc.Kind = "too-large"
)

// ProblemOf returns an error as a problem, like rpc.ProblemOf. A deadline that has passed is Unavailable.
func ProblemOf(err error) *rpc.Problem {
	const silent = "a part of the airline does not answer"
	problem := rpc.ProblemOf(err, silent, "see the log of the airline")
	if problem.Kind == rpc.DeadlineExceeded { // the interface has no status for it
		return &rpc.Problem{Kind: rpc.Unavailable, Detail: silent, Cause: err}
	}
	return problem
}
