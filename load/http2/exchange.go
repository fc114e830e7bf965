package http2

import (
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/load/oracle"
)

// maxHead bounds all header fields of an answer together, with interim headers and trailers, in bytes. It
// also bounds the encoded bytes of one header block. Package http1 has the same limit.
const maxHead = 64 << 10

// Exchange is a request and its answer. One goroutine may use it at a time. It can be reused, and keeps
// its memory.
type Exchange struct {
	// Clock returns the time for Sent and First.
	Clock func() time.Duration
	// Bodiless: the method is HEAD. KeepHeader: keep the header and the trailers. KeepBody is the number of
	// bytes of the body to keep.
	Bodiless, KeepHeader bool
	KeepBody             int

	// The answer, after RoundTrip.
	oracle.Answer
	Received int64         // bytes of the body
	Written  int64         // bytes of the request's header block and body that were put into frames
	Sent     time.Duration // when RoundTrip began or, if Waited, when the server permitted a stream
	First    time.Duration // when the first header, perhaps an interim one, began to come; zero: never
	Waited   bool          // at first the server permitted no further stream

	request  []byte // header block of the request
	upload   []byte // body of the request that is still to be sent
	blocked  bool   // the body waits until the server permits more of it
	done     chan struct{}
	err      error
	id       uint32    // of the stream; 0: the exchange has none
	window   int64     // send window of the stream, in bytes
	credit   int64     // bytes that came and are not yet credited to the server's window
	begun    time.Time // when the stream began, or RoundTrip if there is no stream yet: start of the limit
	declared int64     // length of the body by its header; -1: unknown
	size     int       // of all header fields so far, in bytes
	headed   bool      // the final header has come, after all interim ones
	bad      error     // first mistake in the header
}

// Request starts a request with the mandatory fields and no body; Field adds others. The bytes from 0x80 on
// are whole fields of the static table: 0x80 plus the index. The number in appendLiteral is the index of a
// name in that table (RFC 7541, 6.1 and appendix A).
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
	x.upload = nil // of a former request that was refused unsent
}

// Field adds a header field. It drops fields that HTTP/2 forbids (RFC 9113, 8.2.2), and Host, because
// Request sends the authority.
func (x *Exchange) Field(name, value string) {
	name = strings.ToLower(name) // no copy if it is in lower case already
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

// SetBody sets the body of the request and, if sized is set, adds the field content-length. Call SetBody
// after Request and Field. The body is not copied and must not change until RoundTrip returns.
func (x *Exchange) SetBody(body []byte, sized bool) {
	x.upload = body
	if sized {
		const contentLength = 28
		x.request = appendLiteral(x.request, contentLength, strconv.Itoa(len(body)))
	}
}

// appendLiteral writes a field whose name has an index in the static table. The field does not go into the
// dynamic table (RFC 7541, 6.2.2).
func appendLiteral(out []byte, name byte, value string) []byte {
	const most = 15 // from this index on, a second byte follows
	if name < most {
		out = append(out, name)
	} else {
		out = append(out, most, name-most)
	}
	return appendString(out, value)
}

// appendString writes the length of a text and the text without compression (RFC 7541, 5.1 and 5.2).
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

// begin clears the previous answer.
func (x *Exchange) begin() {
	x.Reset()
	x.Received = 0
	x.Written = 0
	x.First = 0
	x.Waited = false
	x.err = nil
	x.id = 0
	x.credit = 0
	x.blocked = false
	x.declared = -1
	x.size = 0
	x.headed = false
	x.bad = nil
	x.begun = time.Now()
}

// field takes a field of a header block. After a mistake it ignores all others.
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

// status takes the pseudo-header :status, which comes first.
func (x *Exchange) status(value string) {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil, len(value) != 3, n < 100, n > 599, // it is none
		n == 101,                // it would switch to another protocol
		x.headed, x.Status != 0: // it is not the first field
		x.bad = malformed("its status is %q", value)
	default:
		x.Status = n
	}
}

// regular takes a field that is no pseudo-header: it keeps the field if KeepHeader is set, and reads the
// length and the encoding of the body.
func (x *Exchange) regular(name, value string) {
	if x.KeepHeader {
		x.Header = append(x.Header, name...)
		x.Header = append(x.Header, ": "...)
		x.Header = append(x.Header, value...)
		x.Header = append(x.Header, "\r\n"...)
	}
	if x.headed { // in a trailer
		return
	}
	if name == "content-encoding" {
		x.Encoding = append(x.Encoding[:0], value...)
	}
	if name != "content-length" {
		return
	}
	n, err := strconv.ParseUint(value, 10, 62)
	isSecond := x.declared >= 0 && x.declared != int64(n)
	if err != nil || isSecond {
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

// endOfBlock handles the end of a header block. last: the answer ends with this block.
func (x *Exchange) endOfBlock(last bool) error {
	switch {
	case x.bad != nil:
		return x.bad
	case x.headed && !last:
		return malformed("its trailers do not end it")
	case x.headed: // a trailer
	case x.Status == 0:
		return malformed("its header has no status")
	case x.Status < 200 && last:
		return malformed("it ends with the interim status %d", x.Status)
	case x.Status < 200: // the final answer follows
		x.Status = 0
		x.declared = -1
		x.Header = x.Header[:0]
		x.Encoding = x.Encoding[:0]
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
	x.Keep(part, x.KeepBody)
	return nil
}

// end checks the length of a whole answer.
func (x *Exchange) end() error {
	if x.Bodiless || x.Status == 204 || x.Status == 304 { // its length is that of another answer
		return nil
	}
	if x.declared >= 0 && x.declared != x.Received {
		return malformed("its body has %d bytes and not %d", x.Received, x.declared)
	}
	return nil
}
