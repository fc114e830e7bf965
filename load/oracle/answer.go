package oracle

import (
	"bytes"
	"fmt"
)

// Answer is an answer of the target. Its memory belongs to who received
// it and is used again: keep copies only.
type Answer struct {
	// Status is the HTTP status, or the gRPC status code (0 is OK).
	Status int
	// Header holds the lines "Name: value" with CRLF line ends, without the status line.
	// It is nil where nobody asked for it.
	Header []byte
	// Body is the body, for gRPC the message as JSON. It is nil where nobody
	// asked for it.
	Body []byte
	// Encoding is the header Content-Encoding; empty: none, or nobody asked.
	Encoding []byte
	// Truncated: Body holds only the beginning.
	Truncated bool
}

// isCompressed reports whether the body is in an encoding that nobody here reads.
func (a *Answer) isCompressed() bool {
	return len(a.Encoding) > 0 && !bytes.EqualFold(a.Encoding, []byte("identity"))
}

// encoding returns its name, as much of it as is shown.
func (a *Answer) encoding() []byte { return a.Encoding[:min(len(a.Encoding), shown)] }

// Text returns the body for people to read, or that it is compressed.
func (a *Answer) Text() []byte {
	if !a.isCompressed() || len(a.Body) == 0 {
		return a.Body
	}
	return fmt.Appendf(nil, "(a body that is compressed: Content-Encoding: %s)", a.encoding())
}

// HeaderValue returns the first value of a header, whatever the case of its name,
// and whether there is one.
func (a *Answer) HeaderValue(name string) ([]byte, bool) {
	for rest := a.Header; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		key, value, _ := bytes.Cut(line, []byte(":"))
		if len(key) == len(name) && bytes.EqualFold(key, []byte(name)) {
			return bytes.TrimSpace(value), true
		}
	}
	return nil, false
}
