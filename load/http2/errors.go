package http2

import (
	"errors"
	"fmt"
)

// Why there is no answer. Errors of the connection below are wrapped beside these.
var (
	// ErrMalformed wraps everything that is not HTTP/2.
	ErrMalformed = errors.New("the answer is not HTTP/2")
	// ErrTooLarge means more header than an answer may have.
	ErrTooLarge = errors.New("the header of the answer exceeds a limit of the engine")
	// ErrTimeout means that the time limit of the exchange has passed.
	ErrTimeout = errors.New("no whole answer within the time limit")
	// ErrUnseen means that the server cannot have acted on the request: it may be
	// sent again.
	ErrUnseen = errors.New("the connection ended in good order before it took the request")
	// ErrClosed means that this side ended the connection.
	ErrClosed = errors.New("the connection was closed on this side")
)

// Code is why a stream or a connection was ended (RFC 9113, 7).
type Code uint32

// The codes that are looked at or sent.
const (
	noError         Code = 0
	protocolError   Code = 1
	RefusedStream   Code = 7
	cancel          Code = 8
	EnhanceYourCalm Code = 11
)

// ResetError is a stream that the server ended.
type ResetError struct{ Code Code }

// Error names the code.
func (r ResetError) Error() string {
	return fmt.Sprintf("the server reset the stream (code %d)", r.Code)
}

// GoAwayError is a connection that the server ended because of what we did.
type GoAwayError struct{ Code Code }

// Error names the code.
func (g GoAwayError) Error() string {
	return fmt.Sprintf("the server ended the connection with GOAWAY (code %d)", g.Code)
}

// malformed is ErrMalformed with what was wrong.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
