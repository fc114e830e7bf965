package http1

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/cleave-lab/cleave/load/oracle"
)

// Limits of an answer, in bytes.
const (
	// maxHead bounds the status line with all headers, and the trailers.
	maxHead = 64 << 10
	// maxChunkLine bounds the line before a chunk.
	maxChunkLine = 1 << 10
)

// Errors of answers. ErrTooLarge is wrapped for every exceeded limit, and ErrMalformed for everything
// else that is not HTTP/1.1.
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

// Response parses one answer. It keeps an incomplete line and, if wanted, the header and the beginning of
// the body; nothing else grows. Its memory is reused for the next answer.
type Response struct {
	oracle.Answer
	// Last: the connection must not be used after this answer.
	Last bool

	phase      phase
	bodiless   bool // the request was HEAD
	keepHeader bool
	keepBody   int // bytes
	chunked    bool
	sized      bool  // Content-Length was given
	http10     bool  // the server speaks HTTP/1.0
	keepAlive  bool  // the server sent Connection: keep-alive
	headBytes  int   // length of the lines of the head, or of the trailers, so far
	folds      bool  // partial is a whole header line that the next one may continue
	left       int64 // bytes of the body or the chunk that are still to come
	partial    []byte
}

// Begin expects a new answer. bodiless: the request was HEAD, so there is no body, regardless of the
// header. keepHeader says whether to keep the header, and keepBody how many bytes of the body.
func (r *Response) Begin(bodiless, keepHeader bool, keepBody int) {
	r.Answer.Reset()
	*r = Response{Answer: r.Answer, bodiless: bodiless, keepHeader: keepHeader, keepBody: keepBody,
		partial: r.partial[:0]}
}

// Complete reports whether the answer is complete.
func (r *Response) Complete() bool { return r.phase == complete }

// Feed parses bytes until the answer is complete and returns the number of parsed bytes.
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
			r.Keep(data[taken:], r.keepBody)
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

// End handles the end of the connection, and reports whether it completes the answer.
func (r *Response) End() bool {
	if r.phase == bodyUntilClose {
		r.phase = complete
	}
	return r.phase == complete
}

// bodyBytes takes bytes of a body or chunk of known length, and returns their number.
func (r *Response) bodyBytes(data []byte) int {
	n := int(min(int64(len(data)), r.left))
	r.Keep(data[:n], r.keepBody)
	if r.left -= int64(n); r.left == 0 {
		r.phase = complete
		if r.chunked {
			r.phase = chunkEnd
		}
	}
	return n
}

// line takes a line, or the beginning of one, and returns the number of its bytes.
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
		line = r.partial
		r.partial = r.partial[:0]
	}
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	// The next line may continue a header; a user agent joins them (RFC 9112, 5.2).
	mayContinue := n == len(data) || isBlank(data[n])
	if r.phase == headerLine && len(line) > 0 && mayContinue {
		r.folds = true
		r.partial = append(r.partial[:0], line...)
		return n, nil
	}
	return n, r.interpret(line)
}

// isBlank reports whether a line that begins with this byte continues the line before.
func isBlank(first byte) bool { return first == ' ' || first == '\t' }

// measure returns an error if n more bytes of lines exceed a limit.
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
	r.Status = status
	r.http10 = line[version-1] == '0'
	r.phase = headerLine
	return nil
}

// endOfHead decides how the body is framed (RFC 9112, 6.3).
func (r *Response) endOfHead() error {
	switch {
	case r.Status == 101:
		return fmt.Errorf("%w: it switches to another protocol", ErrMalformed)
	case r.Status < 200: // the final answer follows
		head := r.headBytes
		r.Begin(r.bodiless, r.keepHeader, r.keepBody)
		r.headBytes = head
		return nil
	}
	if r.http10 && !r.keepAlive {
		r.Last = true
	}
	r.headBytes = 0
	switch {
	case r.bodiless || r.Status == 204 || r.Status == 304:
		r.phase = complete
	case r.chunked:
		r.Last = r.Last || r.sized // such an answer may be an attempt at request smuggling
		r.phase = chunkLine
	case r.sized && r.left == 0:
		r.phase = complete
	case r.sized:
		r.phase = fixedBody
	default:
		r.phase = bodyUntilClose
		r.Last = true
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
	length, err := strconv.ParseUint(string(digits), 16, 60)
	if err != nil {
		return fmt.Errorf("%w: a chunk of length %q", ErrMalformed, digits[:min(len(digits), 40)])
	}
	r.left = int64(length)
	r.phase = chunkBody
	if r.left == 0 {
		r.phase = trailerLine
	}
	return nil
}
