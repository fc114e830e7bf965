package people

import "github.com/cleave-lab/cleave/binding/rpc"

// The kinds of problems of people, in addition to those of package rpc. Their details hold nothing of a
// record.
const (
	// NotFound: there is no such record.
	NotFound rpc.Kind = "not-found"
	// Tampered, WrongKey and Truncated: the stored record cannot be opened, since it was
	// changed, was sealed with another key, or lacks its end.
	Tampered  rpc.Kind = "tampered-record"
	WrongKey  rpc.Kind = "wrong-key"
	Truncated rpc.Kind = "truncated-record"
)

// ProblemOf makes a problem of any error; see rpc.ProblemOf.
func ProblemOf(err error) *rpc.Problem {
	return rpc.ProblemOf(err, "the database does not answer; try again", "this could not be carried out")
}
