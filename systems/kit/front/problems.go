package front

import (
	"encoding/json"
	"net/http"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
)

// Kinds of problems that only a public interface has. They never cross between units.
const (
	NoResource rpc.Kind = "no-such-resource"
	NoMethod   rpc.Kind = "method-not-allowed"
	TooLarge   rpc.Kind = "body-too-large"
	TooSlow    rpc.Kind = "request-timeout"
	NotJSON    rpc.Kind = "unsupported-media-type"
	TooBusy    rpc.Kind = "too-busy" // nothing was done
)

// Meaning is the status and title of a kind of problems over HTTP.
type Meaning struct {
	Status int
	Title  string
}

// Problems turns the failures of a system into answers over HTTP.
type Problems struct {
	// Types is the beginning of the type of a problem document; the kind follows.
	Types string
	// Of returns any error as a problem.
	Of func(error) *rpc.Problem
	// Meanings holds the kinds of the system itself, in addition to those of all systems.
	Meanings map[rpc.Kind]Meaning
	// LogError receives the failures of the system itself, with their operation; nil: they are dropped.
	LogError func(error)
}

// meaning returns the meaning of a kind: the system's own, or the common one.
func (p Problems) meaning(kind rpc.Kind) Meaning {
	if own, has := p.Meanings[kind]; has {
		return own
	}
	switch kind {
	case rpc.InvalidArgument:
		return Meaning{http.StatusBadRequest, "The request breaks a rule of this interface"}
	case rpc.Unavailable, rpc.Cancelled, TooBusy:
		return Meaning{http.StatusServiceUnavailable, "The system cannot answer now"}
	case rpc.DeadlineExceeded:
		return Meaning{http.StatusGatewayTimeout, "The time for this request was up"}
	case NoResource:
		return Meaning{http.StatusNotFound, "There is no such resource"}
	case NoMethod:
		return Meaning{http.StatusMethodNotAllowed, "The resource does not take this method"}
	case TooLarge:
		return Meaning{http.StatusRequestEntityTooLarge, "The body is too large"}
	case TooSlow:
		return Meaning{http.StatusRequestTimeout, "The request came too slowly"}
	case NotJSON:
		return Meaning{http.StatusUnsupportedMediaType, "The body is not JSON"}
	}
	return Meaning{http.StatusInternalServerError, "The system failed"}
}

// Document is the body of an answer that reports a failure (RFC 9457).
type Document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// ProblemType is the media type of a Document.
const ProblemType = "application/problem+json"

// document returns a Document as JSON.
func (p Problems) document(kind rpc.Kind, status int, detail string) []byte {
	body, _ := json.Marshal( // strings and a number cannot fail
		Document{p.Types + string(kind), p.meaning(kind).Title, status, detail})
	return body
}

// Refusal returns the answer to an operation that has failed. The answer does not contain the cause. Only
// failures of the system itself, with the status 500, are logged.
func (p Problems) Refusal(operation string, err error) Answer {
	problem := p.Of(err)
	status := p.meaning(problem.Kind).Status
	if status == http.StatusInternalServerError && p.LogError != nil {
		p.LogError(&rpc.Failure{Operation: operation, Err: err})
	}
	a := Answer{Status: status, MediaType: ProblemType, Body: p.document(problem.Kind, status, problem.Detail)}
	if status == http.StatusServiceUnavailable {
		a.Header = []leanhttp.Field{{Name: "Retry-After", Value: "1"}}
	}
	return a
}

// Malformed returns the answer to a message that is not a valid request, for servers of leanhttp.
func (p Problems) Malformed(cause *leanhttp.Error) (contentType string, body []byte) {
	var kind rpc.Kind = rpc.InvalidArgument
	if cause.Status == http.StatusRequestEntityTooLarge {
		kind = TooLarge
	}
	return ProblemType, p.document(kind, cause.Status, cause.Reason)
}
