package http2

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Limits of an answer, in bytes, as in package http1.
const (
	maxHead      = 64 << 10
	maxInspected = 1 << 20
	// glimpse is how much of a body is kept that nobody asked for, of a status from 400 on.
	glimpse     = 256
	maxRetained = 64 << 10
)

// Exchange is a request and its answer. It belongs to one goroutine, may be used
// again, and keeps its memory.
type Exchange struct {
	// Clock returns the time, as Sent and First have it.
	Clock func() time.Duration
	// Bodiless: the method is HEAD. Header and Body are kept where they are wanted, and
	// of a status from 400 on the beginning of the body always.
	Bodiless, KeepHeader, KeepBody bool

	// Of the answer, after RoundTrip.
	Status    int
	Header    []byte // lines "Name: value", each with CRLF
	Body      []byte
	Encoding  []byte        // the header content-encoding; empty: none
	Truncated bool          // Body holds only the beginning
	Received  int64         // bytes of the body
	Sent      time.Duration // when the server permitted the request its stream
	First     time.Duration // when the header began to come; zero: it did not
	Waited    bool          // until Sent the server permitted no further stream

	request  []byte // its header block
	upload   []byte // its body, as far as it is not on its way
	blocked  bool   // it waits for the server to permit more of it
	done     chan struct{}
	err      error
	id       uint32
	window   int64 // what the server lets us send on the stream, bytes
	credit   int64 // bytes that came and were not given back to the server's window
	begun    time.Time
	declared int64 // length of the body; -1: not said
	size     int   // of the header list
	headed   bool  // the header has come, after all interim ones
	bad      error // what is wrong with the header block at hand
}

// Request begins a request with the fields that every one has; Field adds others.
func (x *Exchange) Request(method, scheme, authority, path string) {
	if x.done == nil {
		x.done = make(chan struct{}, 1)
	}
	out := x.request[:0]
	switch method {
	case "GET":
		out = append(out, 0x82)
	case "POST":
		out = append(out, 0x83)
	default:
		out = appendLiteral(out, 2, method)
	}
	if scheme == "http" {
		out = append(out, 0x86)
	} else {
		out = append(out, 0x87)
	}
	if path == "/" {
		out = append(out, 0x84)
	} else {
		out = appendLiteral(out, 4, path)
	}
	x.request = appendLiteral(out, 1, authority)
}

// Field adds a header field, unless HTTP/2 has no place for it (RFC 9113, 8.2.2).
func (x *Exchange) Field(name, value string) {
	name = strings.ToLower(name) // without a copy where it is lower case already
	switch name {
	case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings",
		"host":
		return
	case "te":
		if value != "trailers" {
			return
		}
	}
	x.request = appendString(appendString(append(x.request, 0), name), value)
}

// Send gives the request its body, last. The body is not copied: it must stay until
// RoundTrip returns.
func (x *Exchange) Send(method string, body []byte) {
	x.upload = body
	if len(body) > 0 || method == "POST" || method == "PUT" || method == "PATCH" {
		const contentLength = 28
		x.request = appendLiteral(x.request, contentLength, strconv.Itoa(len(body)))
	}
}

// appendLiteral writes a field whose name has a number in the static table, and
// which does not enter the dynamic table (RFC 7541, 6.2.2).
func appendLiteral(out []byte, name byte, value string) []byte {
	const most = 15 // the number that says "and more" in the first byte
	if name < most {
		out = append(out, name)
	} else {
		out = append(out, most, name-most)
	}
	return appendString(out, value)
}

// appendString writes a text as it is (RFC 7541, 5.2).
func appendString(out []byte, text string) []byte {
	const most = 127
	if len(text) < most {
		return append(append(out, byte(len(text))), text...)
	}
	out = append(out, most)
	rest := len(text) - most
	for ; rest >= 128; rest >>= 7 {
		out = append(out, byte(rest)|128)
	}
	return append(append(out, byte(rest)), text...)
}

// begin forgets the answer before.
func (x *Exchange) begin() {
	if cap(x.Body) > maxRetained {
		x.Body = nil
	}
	x.Status, x.Header, x.Body, x.Truncated, x.Received, x.First, x.Waited = 0, x.Header[:0], x.Body[:0], false,
		0, 0, false
	x.err, x.id, x.credit, x.declared, x.size, x.headed, x.bad, x.blocked = nil, 0, 0, -1, 0, false, nil, false
	x.Encoding, x.begun = x.Encoding[:0], time.Now()
}

// field takes a field of a header block. After a mistake it drops all others.
func (x *Exchange) field(name, value string) {
	const overhead = 32 // of a field in a header list (RFC 9113, 6.5.2)
	if x.size += len(name) + len(value) + overhead; x.size > maxHead && x.bad == nil {
		x.bad = ErrTooLarge
	}
	switch {
	case x.bad != nil:
	case name == ":status":
		x.status(value)
	case name == "" || name[0] == ':':
		x.bad = malformed("it has a field %q", name)
	case x.Status == 0 && !x.headed:
		x.bad = malformed("its header does not begin with a status")
	case hasControl(name) || hasControl(value) || strings.ToLower(name) != name:
		x.bad = malformed("its field %q is no header line", name)
	default:
		x.regular(name, value)
	}
}

// status reads the field that comes first.
func (x *Exchange) status(value string) {
	n, err := strconv.Atoi(value)
	if err != nil || len(value) != 3 || n < 100 || n > 599 || n == 101 || x.headed || x.Status != 0 {
		x.bad = malformed("its status is %q", value)
		return
	}
	x.Status = n
}

// regular keeps a field where somebody asks, and looks at the length.
func (x *Exchange) regular(name, value string) {
	if x.KeepHeader {
		x.Header = append(append(append(append(x.Header, name...), ": "...), value...), "\r\n"...)
	}
	if x.headed { // of a trailer
		return
	}
	if name == "content-encoding" {
		x.Encoding = append(x.Encoding[:0], value...)
	}
	if name != "content-length" {
		return
	}
	n, err := strconv.ParseUint(value, 10, 62)
	if err != nil || x.declared >= 0 && x.declared != int64(n) {
		x.bad = malformed("its length is %q", value)
		return
	}
	x.declared = int64(n)
}

// hasControl reports whether a text has a byte that cannot be in a header line.
func hasControl(text string) bool {
	return strings.IndexByte(text, '\r') >= 0 || strings.IndexByte(text, '\n') >= 0 ||
		strings.IndexByte(text, 0) >= 0
}

// endOfBlock ends a header block. last: the answer ends with it.
func (x *Exchange) endOfBlock(last bool) error {
	switch {
	case x.bad != nil:
		return x.bad
	case x.headed && !last:
		return malformed("its trailers do not end it")
	case x.headed: // trailers
	case x.Status == 0:
		return malformed("its header has no status")
	case x.Status < 200 && last:
		return malformed("it ends with the interim status %d", x.Status)
	case x.Status < 200: // the answer proper follows
		x.Status, x.declared, x.Header, x.Encoding = 0, -1, x.Header[:0], x.Encoding[:0]
		return nil
	}
	x.headed = true
	if last {
		return x.end()
	}
	return nil
}

// data takes a part of the body.
func (x *Exchange) data(part []byte) error {
	if !x.headed {
		return malformed("its body comes before its header")
	}
	x.Received += int64(len(part))
	most := maxInspected
	if !x.KeepBody {
		most = glimpse
	}
	if !x.KeepBody && x.Status < 400 {
		return nil
	}
	if room := most - len(x.Body); len(part) > room {
		part, x.Truncated = part[:room], true
	}
	if x.Body == nil { // an empty body is not nil
		x.Body = bytes.Clone(part)
		return nil
	}
	x.Body = append(x.Body, part...)
	return nil
}

// end checks a whole answer.
func (x *Exchange) end() error {
	if x.declared >= 0 && x.Received != x.declared && !x.Bodiless && x.Status != 204 && x.Status != 304 {
		return malformed("its body has %d bytes and not %d", x.Received, x.declared)
	}
	return nil
}
