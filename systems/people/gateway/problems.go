package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/systems/people"
)

// Kinds of problems that only this interface has.
const (
	kindNoRoute   people.ProblemKind = "no-such-resource"
	kindTooLarge  people.ProblemKind = "body-too-large"
	kindMediaType people.ProblemKind = "unsupported-media-type"
)

// document is a failure as clients see it (RFC 9457).
type document struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// meaningOf returns how a kind shows over HTTP.
func meaningOf(kind people.ProblemKind) (status int, title string) {
	switch kind {
	case people.InvalidArgument:
		return http.StatusBadRequest, "The request breaks a rule of this interface"
	case people.NotFound:
		return http.StatusNotFound, "There is no such record"
	case people.TooBusy, people.Unavailable, people.Cancelled:
		return http.StatusServiceUnavailable, "The system cannot answer now"
	case people.DeadlineExceeded:
		return http.StatusGatewayTimeout, "The time for this request was up"
	case people.Tampered, people.WrongKey, people.Truncated:
		return http.StatusInternalServerError, "The record cannot be opened"
	case kindNoRoute:
		return http.StatusNotFound, "There is no such resource"
	case kindTooLarge:
		return http.StatusRequestEntityTooLarge, "The body is too large"
	case kindMediaType:
		return http.StatusUnsupportedMediaType, "The body is not JSON"
	}
	return http.StatusInternalServerError, "The system failed"
}

// TypeOf returns the type of a problem as clients see it.
func TypeOf(kind people.ProblemKind) string { return "urn:cleave:people:" + string(kind) }

// malformed returns what somebody is told whose message is no request.
func malformed(cause *leanhttp.Error) (contentType string, body []byte) {
	kind := people.InvalidArgument
	if cause.Status == http.StatusRequestEntityTooLarge {
		kind = kindTooLarge
	}
	_, title := meaningOf(kind)
	body, _ = json.Marshal(document{TypeOf(kind), title, cause.Status, cause.Reason}) // texts cannot fail
	return problemType, body
}

// problemType is the media type of failures.
const problemType = "application/problem+json"

// refusal returns the answer to what has failed. Its cause stays inside.
func (g *gateway) refusal(err error) answer {
	problem := people.ProblemOf(err)
	status, title := meaningOf(problem.Kind)
	if status == http.StatusInternalServerError {
		g.LogError(problem)
	}
	body, _ := json.Marshal(document{TypeOf(problem.Kind), title, status, problem.Detail}) // texts cannot fail
	a := answer{status: status, mediaType: problemType, body: body}
	if status == http.StatusServiceUnavailable {
		a.more = []leanhttp.Field{{Name: "Retry-After", Value: "1"}}
	}
	return a
}
