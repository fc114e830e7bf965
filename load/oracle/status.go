package oracle

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/cleave-lab/cleave/load/record"
)

// statuses holds the status numbers that a right answer can have.
type statuses struct {
	accepted [600]bool
	grpc     bool   // the numbers are gRPC status codes; NewGRPC sets this
	text     string // as the user wrote it, or the default
	custom   bool   // the user wrote it
}

// newStatuses parses a list with commas, or the default if the text is empty. parse returns the range of one
// element. The error names all mistakes.
func newStatuses(text, byDefault string, parse func(string) (from, to int, err error)) (statuses, error) {
	s := statuses{text: text, custom: text != ""}
	if !s.custom {
		s.text = byDefault
	}
	var mistakes []error
	for part := range strings.SplitSeq(s.text, ",") {
		from, to, err := parse(strings.TrimSpace(part))
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		for status := from; status <= to; status++ {
			s.accepted[status] = true
		}
	}
	return s, errors.Join(mistakes...)
}

// httpStatus parses "200", "20x", "2xx" or "200-299".
func httpStatus(text string) (from, to int, err error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		digits := strings.TrimRight(text, "x")
		places := len(text) - len(digits)
		low = digits + strings.Repeat("0", places)
		high = digits + strings.Repeat("9", places)
	}
	from, lowErr := strconv.Atoi(low)
	to, highErr := strconv.Atoi(high)
	if lowErr != nil || highErr != nil || from < 200 || to > 599 || from > to {
		return 0, 0, fmt.Errorf("expected status %q: use for example 200, 2xx or 200-299, between 200 and 599",
			text)
	}
	return from, to, nil
}

// grpcStatus parses a name such as "OK" or "NOT_FOUND", or its number.
func grpcStatus(text string) (from, to int, err error) {
	var code codes.Code
	if number, err := strconv.Atoi(text); err == nil && number >= 0 && number <= int(codes.Unauthenticated) {
		return number, number, nil
	}
	if err := code.UnmarshalJSON([]byte(strconv.Quote(text))); err != nil {
		return 0, 0,
			fmt.Errorf("expected gRPC status %q: use a name such as OK or NOT_FOUND, or a number from 0 to 16", text)
	}
	return int(code), int(code), nil
}

// accepts reports whether a status is one of the expected ones.
func (s *statuses) accepts(status int) bool {
	return uint(status) < uint(len(s.accepted)) && s.accepted[status]
}

// outcome returns the outcome of an answer with an unexpected status.
func (s *statuses) outcome(status int) record.Outcome {
	if !s.grpc {
		if status == 429 || status == 503 {
			return record.Rejected
		}
		return record.BadStatus
	}
	switch codes.Code(status) {
	case codes.ResourceExhausted, codes.Unavailable:
		return record.Rejected
	case codes.DeadlineExceeded:
		return record.Timeout
	}
	return record.BadStatus
}

// complaint describes an unexpected status.
func (s *statuses) complaint(status int) string {
	if s.grpc {
		return "gRPC status " + codes.Code(status).String()
	}
	return "status " + strconv.Itoa(status)
}
