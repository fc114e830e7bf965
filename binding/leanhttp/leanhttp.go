// Package leanhttp implements HTTP/1.1 with little work per message. It has a strict
// parser and a writer of requests and responses, and on Linux a server and a client
// that use package eventloop. Connections are persistent; bodies have a Content-Length.
// Chunked bodies, upgrades and proxies are not supported, and are refused with 501. It
// is stricter than RFC 9112: it refuses single line feeds, folded lines, blanks before
// a colon and repeated lengths, because lenient parsers disagree about them.
//
// Entry points: ParseRequest, ParseResponse, AppendRequest, AppendResponse; Serve and
// Dial on a loop; NewServer for handlers that block, such as those of net/http (Front).
package leanhttp

import (
	"cmp"
	"fmt"
)

// Limits are the size limits of a message, in bytes. 0 means 8 KiB for Head, and 1 MiB
// for Body.
type Limits struct {
	Head int // start line and header fields, with the empty line after them
	Body int
}

const (
	defaultHead = 8 << 10
	defaultBody = 1 << 20
)

// filled returns the limits with the defaults in place of 0.
func (l Limits) filled() Limits {
	return Limits{cmp.Or(l.Head, defaultHead), cmp.Or(l.Body, defaultBody)}
}

// Request is a parsed request. Its slices are parts of the parsed data, and are only
// valid as long as that is.
type Request struct {
	Method      []byte
	Target      []byte // path and query as sent, beginning with "/"
	ContentType []byte
	Body        []byte
	// Fields are the lines of the header fields as they were sent, with their line ends.
	Fields []byte
	// Context is the value of the field Cleave-Context, which has the caller's timeout
	// (rpc.TimeoutHeader); nil if there is none.
	Context []byte
	// Trace is the value of the field traceparent (W3C Trace Context); nil if there is none.
	Trace []byte
	// KeepAlive is set if the client wants to reuse the connection.
	KeepAlive bool
}

// Response is a parsed response. Its slices are parts of the parsed data, and are only
// valid as long as that is.
type Response struct {
	Status      int
	ContentType []byte
	Body        []byte
	// KeepAlive is set if the server accepts another request on the connection.
	KeepAlive bool
}

// Error is the reason why a message was refused, and the status with which a server answers it.
type Error struct {
	Status int
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (status %d)", e.Reason, e.Status) }

// refuse returns the *Error of an invalid message, with the status to answer and the reason.
func refuse(status int, format string, args ...any) error {
	return &Error{Status: status, Reason: fmt.Sprintf(format, args...)}
}
