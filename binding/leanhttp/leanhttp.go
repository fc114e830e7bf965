// Package leanhttp speaks HTTP/1.1 with little work per message: a strict parser
// and writer for requests and responses, and on Linux a server and a client on
// top of package eventloop. Connections are persistent; bodies have a Content-Length.
// It supports no chunked bodies, upgrades or proxies, and refuses them with 501
// instead of guessing. It is stricter than RFC 9112: it refuses bare line feeds,
// folded lines, blanks before a colon and repeated lengths, because lenient readers
// disagree about them.
//
// Entry points: ParseRequest, ParseResponse, AppendRequest, AppendResponse; Serve and
// Dial on a loop; NewServer for handlers that block, such as those of net/http (Front).
package leanhttp

import "fmt"

// Limits bound what one message may be, in bytes. Fields that are 0 mean 8 KiB
// of head and 1 MiB of body.
type Limits struct {
	Head int // start line and header fields, with the empty line after them
	Body int
}

const (
	defaultHead = 8 << 10
	defaultBody = 1 << 20
)

func (l Limits) filled() Limits {
	if l.Head == 0 {
		l.Head = defaultHead
	}
	if l.Body == 0 {
		l.Body = defaultBody
	}
	return l
}

// Request is a parsed request. Its slices lie in the parsed data: they are valid
// as long as that is.
type Request struct {
	Method      []byte
	Target      []byte // path and query as sent, beginning with "/"
	ContentType []byte
	Body        []byte
	// Fields are the lines of the header fields as they were sent, each with its line end.
	Fields []byte
	// Context is the value of the field Cleave-Context, which has the caller's timeout
	// (rpc.TimeoutHeader); nil if there is none.
	Context []byte
	// Trace is the value of the field traceparent (W3C Trace Context); nil if there is none.
	Trace []byte
	// KeepAlive is true when the client wants to use the connection again.
	KeepAlive bool
}

// Response is a parsed response. Its slices lie in the parsed data: they are
// valid as long as that is.
type Response struct {
	Status      int
	ContentType []byte
	Body        []byte
	// KeepAlive is true when the server will take another request on the connection.
	KeepAlive bool
}

// Error is the reason why a message was refused, and the status with which a server answers it.
type Error struct {
	Status int
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (status %d)", e.Reason, e.Status) }

func refuse(status int, format string, args ...any) error {
	return &Error{Status: status, Reason: fmt.Sprintf(format, args...)}
}
