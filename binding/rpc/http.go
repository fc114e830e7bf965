package rpc

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// TimeoutHeader is the header of an HTTP request with the time left for the call.
const TimeoutHeader = "Cleave-Context"

// MaxAnswer is the size limit, in bytes, of answers to clients over HTTP and of grpc-go, whose default it is.
const MaxAnswer = 4 << 20

// MaxTimeout is the longest timeout that a caller can set.
const MaxTimeout = 24 * time.Hour

// AppendTimeout appends the value of TimeoutHeader for the time left, in microseconds, at most MaxTimeout.
func AppendTimeout(dst []byte, left time.Duration) []byte {
	left = min(max(left, 0), MaxTimeout)
	dst = append(dst, "timeout="...)
	return strconv.AppendInt(dst, left.Microseconds(), 10)
}

// ParseTimeout parses a value of AppendTimeout. ok is false if there is no valid timeout.
func ParseTimeout(value string) (left time.Duration, ok bool) {
	digits, found := strings.CutPrefix(value, "timeout=")
	if !found {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > int64(MaxTimeout/time.Microsecond) {
		return 0, false
	}
	return time.Duration(n) * time.Microsecond, true
}

// OtherMediaType returns the problem of a request whose Content-Type differs from that of the server; nil: it
// does not. An empty type is accepted; parameters are ignored.
func OtherMediaType[T string | []byte](sent T, own string) *Problem {
	if len(sent) == 0 {
		return nil
	}
	beginsWithOwn := len(sent) >= len(own) && strings.EqualFold(string(sent[:len(own)]), own)
	if beginsWithOwn && (len(sent) == len(own) || sent[len(own)] == ';') {
		return nil
	}
	return Problemf(InvalidArgument, "the request is %.60q: send %s", sent, own)
}

// HTTPStatus returns the HTTP status for a problem. Callers only use the kind; the status
// is for people who look at the traffic.
func (p *Problem) HTTPStatus() int {
	switch p.Kind {
	case InvalidArgument:
		return http.StatusBadRequest
	case Unavailable:
		return http.StatusServiceUnavailable
	case DeadlineExceeded:
		return http.StatusGatewayTimeout
	case Internal:
		return http.StatusInternalServerError
	}
	return http.StatusConflict
}

// ProblemOfHTTP returns the problem in the body of an answer. If there is none, the answer does not come from
// a binding, and the result is an Internal problem with the status.
func ProblemOfHTTP(callee string, status int, body []byte) *Problem {
	var problem Problem
	if err := json.Unmarshal(body, &problem); err != nil || problem.Kind == "" {
		return Problemf(Internal, "%s answered with status %d", callee, status)
	}
	return &problem
}
