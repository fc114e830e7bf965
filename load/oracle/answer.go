package oracle

import (
	"bytes"
	"fmt"
)

// Answer is an answer of the target. Its memory belongs to the receiver, which reuses it: keep copies
// only.
type Answer struct {
	// Status is the HTTP status, or the gRPC status code (0 is OK).
	Status int
	// Header holds the lines "Name: value" with CRLF line ends, without the status line. It is empty if it was
	// not kept.
	Header []byte
	// Body is the body without its framing, or the message of a gRPC call as JSON. It is empty if it was not
	// kept.
	Body []byte
	// Encoding is the header Content-Encoding; empty: none, or not kept.
	Encoding []byte
	// Truncated: Body holds only the beginning.
	Truncated bool
}

const (
	// MaxBody bounds the part of a body over HTTP that is kept for an oracle, in bytes.
	MaxBody = 1 << 20
	// maxErrorBody bounds the part that is kept of a failure in any case, since it gives the reason.
	maxErrorBody = 256
	// MaxRetained is the most memory for a body that is kept for the next answer, in bytes.
	MaxRetained = 64 << 10
)

// Reset makes the answer empty, and keeps its memory. It drops large memory: a thousand connections that
// each keep a megabyte would need a gigabyte.
func (a *Answer) Reset() {
	if cap(a.Body) > MaxRetained {
		a.Body = nil
	}
	*a = Answer{Header: a.Header[:0], Body: a.Body[:0], Encoding: a.Encoding[:0]}
}

// Keep adds a part of the body of an HTTP answer. It keeps at most so many bytes of the whole body; for
// statuses from 400 on it keeps the beginning in any case.
func (a *Answer) Keep(part []byte, most int) {
	if a.Status >= 400 {
		most = max(most, maxErrorBody)
	}
	if most == 0 {
		return
	}
	if room := most - len(a.Body); len(part) > room {
		part = part[:room]
		a.Truncated = true
	}
	a.Body = append(a.Body, part...)
}

// isCompressed reports whether the body is in an encoding that oracles cannot read.
func (a *Answer) isCompressed() bool {
	return len(a.Encoding) > 0 && !bytes.EqualFold(a.Encoding, []byte("identity"))
}

// encoding returns the name of the encoding, shortened for messages.
func (a *Answer) encoding() []byte { return a.Encoding[:min(len(a.Encoding), shown)] }

// Text returns the body for people, or a note that it is compressed.
func (a *Answer) Text() []byte {
	if !a.isCompressed() || len(a.Body) == 0 {
		return a.Body
	}
	return fmt.Appendf(nil, "(a body that is compressed: Content-Encoding: %s)", a.encoding())
}

// HeaderValue returns the first value of a header, regardless of the case of its name, and whether there
// is one.
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
