package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// Limits of an answer, in bytes.
const (
	// maxHead is the status line with all headers, and the trailers.
	maxHead = 64 << 10
	// maxChunkLine is the line before a chunk.
	maxChunkLine = 1 << 10
	// maxInspected is how much of a body is kept for an oracle.
	maxInspected = 1 << 20
	// glimpse is how much of a body is kept that nobody asked for, where the status says
	// that something failed: it tells why.
	glimpse = 256
	// maxRetained is the most memory for a body that waits for the next answer.
	maxRetained = 64 << 10
)

// What can be wrong with an answer. ErrTooLarge wraps every exceeded limit and
// ErrMalformed everything else that is not HTTP/1.1.
var (
	ErrMalformed = errors.New("the answer is not HTTP/1.1")
	ErrTooLarge  = errors.New("the answer exceeds a limit of the engine")
)

// phase is the part of a response that the parser expects next.
type phase uint8

const (
	statusLine phase = iota
	headerLine
	fixedBody
	chunkLine
	chunkBody
	chunkEnd
	trailerLine
	bodyUntilClose
	complete
)

// Response parses one answer. It keeps an incomplete line and, where somebody asks,
// the header and the beginning of the body; nothing else grows. Its memory is used
// again for the next answer.
type Response struct {
	Status int
	// Header holds the lines "Name: value" with CRLF line ends, and Body the body
	// without its framing: both as package oracle wants them. A status from 400 on has the
	// beginning of its body always.
	Header, Body []byte
	// Encoding is the header Content-Encoding; empty: none.
	Encoding []byte
	// Truncated: Body holds only the beginning.
	Truncated bool
	// Last: the connection ends with this answer.
	Last bool

	phase      phase
	bodiless   bool // the request was HEAD
	keepHeader bool
	kept       int // of the body, at most
	chunked    bool
	sized      bool // Content-Length was given
	oldest     bool // HTTP/1.0
	keepAlive  bool // the server said so
	headBytes  int
	folds      bool  // partial is a whole header line that the next one may continue
	left       int64 // of the body or the chunk, bytes
	partial    []byte
}

// Begin expects a new answer. bodiless: the request was HEAD, so there is no body
// whatever the header says. Header and Body are kept where they are wanted.
func (r *Response) Begin(bodiless, keepHeader, keepBody bool) {
	*r = Response{
		bodiless: bodiless, keepHeader: keepHeader,
		partial: r.partial[:0], Header: r.Header[:0], Encoding: r.Encoding[:0], Body: again(r.Body),
	}
	if keepBody {
		r.kept = maxInspected
	}
}

// again returns the memory of a body for the next one. A large one is given back: a
// thousand connections that each keep a megabyte would be a gigabyte.
func again(body []byte) []byte {
	if cap(body) > maxRetained {
		return nil
	}
	return body[:0]
}

// Complete reports whether the whole answer has come.
func (r *Response) Complete() bool { return r.phase == complete }

// Feed takes bytes until the answer is complete and returns how many it took.
func (r *Response) Feed(data []byte) (int, error) {
	taken := 0
	for r.phase != complete && taken < len(data) {
		var n int
		var err error
		switch r.phase {
		case fixedBody, chunkBody:
			n = r.bodyBytes(data[taken:])
		case bodyUntilClose:
			n = len(data) - taken
			r.keep(data[taken:])
		default:
			n, err = r.line(data[taken:])
		}
		taken += n
		if err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// End is the end of the connection: the only right end of some answers.
func (r *Response) End() bool {
	if r.phase == bodyUntilClose {
		r.phase = complete
	}
	return r.phase == complete
}

// bodyBytes takes bytes of a body or chunk of known length.
func (r *Response) bodyBytes(data []byte) int {
	n := int(min(int64(len(data)), r.left))
	r.keep(data[:n])
	if r.left -= int64(n); r.left == 0 {
		r.phase = complete
		if r.chunked {
			r.phase = chunkEnd
		}
	}
	return n
}

// keep stores the beginning of a body.
func (r *Response) keep(data []byte) {
	if r.kept == 0 {
		return
	}
	if room := r.kept - len(r.Body); len(data) > room {
		data, r.Truncated = data[:room], true
	}
	r.Body = append(r.Body, data...)
}

// line takes a line, or the beginning of one.
func (r *Response) line(data []byte) (int, error) {
	if r.folds {
		if r.folds = false; !isBlank(data[0]) {
			whole := r.partial
			r.partial = r.partial[:0]
			return 0, r.interpret(whole)
		}
		r.partial = append(bytes.TrimRight(r.partial, " \t"), ' ')
	}
	i := bytes.IndexByte(data, '\n')
	n := i + 1
	if i < 0 {
		n = len(data)
	}
	if err := r.measure(n); err != nil {
		return n, err
	}
	if i < 0 {
		r.partial = append(r.partial, data...)
		return n, nil
	}
	line := data[:i]
	if len(r.partial) > 0 {
		r.partial = append(r.partial, line...)
		line, r.partial = r.partial, r.partial[:0]
	}
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if r.phase == headerLine && len(line) > 0 && (n == len(data) || isBlank(data[n])) {
		// The next line may continue it; a user agent joins them (RFC 9112, 5.2).
		r.folds, r.partial = true, append(r.partial[:0], line...)
		return n, nil
	}
	return n, r.interpret(line)
}

// isBlank reports whether a line that begins with the byte continues the one before.
func isBlank(first byte) bool { return first == ' ' || first == '\t' }

// measure holds lines against the limits.
func (r *Response) measure(n int) error {
	if r.phase == chunkLine || r.phase == chunkEnd {
		if len(r.partial)+n > maxChunkLine {
			return fmt.Errorf("%w: a line of %d bytes before a chunk", ErrTooLarge, len(r.partial)+n)
		}
		return nil
	}
	if r.headBytes += n; r.headBytes > maxHead {
		return fmt.Errorf("%w: headers of more than %d bytes", ErrTooLarge, maxHead)
	}
	return nil
}

// interpret reads a whole line without its ending.
func (r *Response) interpret(line []byte) error {
	switch r.phase {
	case statusLine:
		return r.statusOf(line)
	case headerLine:
		if len(line) == 0 {
			return r.endOfHead()
		}
		return r.header(line)
	case chunkLine:
		return r.chunk(line)
	case chunkEnd:
		if len(line) != 0 {
			return fmt.Errorf("%w: a chunk is longer than it says", ErrMalformed)
		}
		r.phase = chunkLine
	case trailerLine:
		if len(line) == 0 {
			r.phase = complete
		}
	}
	return nil
}

// statusOf reads "HTTP/1.1 200 OK".
func (r *Response) statusOf(line []byte) error {
	const version, code = len("HTTP/1.1"), len("HTTP/1.1 200")
	if len(line) < code || string(line[:version-1]) != "HTTP/1." || line[version] != ' ' ||
		len(line) > code && line[code] != ' ' {
		return fmt.Errorf("%w: it begins with %q", ErrMalformed, line[:min(len(line), 40)])
	}
	status := 0
	for _, digit := range line[version+1 : code] {
		if digit < '0' || digit > '9' {
			return fmt.Errorf("%w: its status is %q", ErrMalformed, line[version+1:code])
		}
		status = 10*status + int(digit-'0')
	}
	if status < 100 || status > 599 {
		return fmt.Errorf("%w: its status is %d", ErrMalformed, status)
	}
	r.Status, r.oldest = status, line[version-1] == '0'
	if status >= 400 {
		r.kept = max(r.kept, glimpse)
	}
	r.phase = headerLine
	return nil
}

// endOfHead decides how the body is framed (RFC 9112, 6.3).
func (r *Response) endOfHead() error {
	switch {
	case r.Status == 101:
		return fmt.Errorf("%w: it switches to another protocol", ErrMalformed)
	case r.Status < 200: // the answer proper follows
		head := r.headBytes
		r.Begin(r.bodiless, r.keepHeader, r.kept > 0)
		r.headBytes = head
		return nil
	}
	r.Last = r.Last || r.oldest && !r.keepAlive
	r.headBytes = 0
	switch {
	case r.bodiless || r.Status == 204 || r.Status == 304:
		r.phase = complete
	case r.chunked:
		r.Last = r.Last || r.sized // such an answer may be an attack
		r.phase = chunkLine
	case r.sized && r.left == 0:
		r.phase = complete
	case r.sized:
		r.phase = fixedBody
	default:
		r.phase, r.Last = bodyUntilClose, true
	}
	return nil
}

// chunk reads the line before a chunk: its length in hexadecimal, and extensions.
func (r *Response) chunk(line []byte) error {
	digits := line
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		digits = line[:i]
	}
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 { // 60 bits
		return fmt.Errorf("%w: a chunk of length %q", ErrMalformed, digits[:min(len(digits), 40)])
	}
	r.left = 0
	for _, digit := range digits {
		value, ok := hexadecimal(digit)
		if !ok {
			return fmt.Errorf("%w: a chunk of length %q", ErrMalformed, digits)
		}
		r.left = r.left<<4 | int64(value)
	}
	r.phase = chunkBody
	if r.left == 0 {
		r.phase = trailerLine
	}
	return nil
}

// hexadecimal returns the value of a digit.
func hexadecimal(digit byte) (byte, bool) {
	switch {
	case '0' <= digit && digit <= '9':
		return digit - '0', true
	case 'a' <= digit && digit <= 'f':
		return digit - 'a' + 10, true
	case 'A' <= digit && digit <= 'F':
		return digit - 'A' + 10, true
	}
	return 0, false
}
