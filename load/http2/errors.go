package http2

import (
	"errors"
	"fmt"
)

// Reasons for the lack of an answer. Errors of the connection below are wrapped, too.
var (
	// ErrMalformed is wrapped for everything that is not HTTP/2.
	ErrMalformed = errors.New("the answer is not HTTP/2")
	// ErrTooLarge: the header of the answer exceeds the limit.
	ErrTooLarge = errors.New("the header of the answer exceeds a limit of the engine")
	// ErrTimeout: the time limit of the exchange has passed.
	ErrTimeout = errors.New("no whole answer within the time limit")
	// ErrUnseen: the server has not acted on the request, so it may be sent again.
	ErrUnseen = errors.New("the connection ended in good order before it took the request")
	// ErrClosed: this side has ended the connection.
	ErrClosed = errors.New("the connection was closed on this side")
)

// Code is the reason for the end of a stream or a connection (RFC 9113, 7).
type Code uint32

// Codes that this package uses.
const (
	noError         Code = 0
	protocolError   Code = 1
	RefusedStream   Code = 7
	cancel          Code = 8
	EnhanceYourCalm Code = 11
)

// ResetError is the error of a stream that the server has ended.
type ResetError struct{ Code Code }

// Error names the code.
func (r ResetError) Error() string {
	return fmt.Sprintf("the server reset the stream (code %d)", r.Code)
}

// GoAwayError is the error of a connection that the server ended because of a mistake of ours.
type GoAwayError struct{ Code Code }

// Error names the code.
func (g GoAwayError) Error() string {
	return fmt.Sprintf("the server ended the connection with GOAWAY (code %d)", g.Code)
}

// malformed returns ErrMalformed with a description.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}
