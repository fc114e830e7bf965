package leanhttp

import (
	"bytes"
	"net/http"
)

// fields holds the header fields of a message that this package uses.
type fields struct {
	contentType    []byte
	context        []byte // Cleave-Context
	trace          []byte // Traceparent
	length         int    // of the body; -1 if there is no Content-Length
	hosts          int    // number of Host fields
	expects        bool   // there is an Expect field
	saysClose      bool   // Connection: close
	saysKeepAlive  bool   // Connection: keep-alive
	hasContentType bool
}

// keepAlive reports whether the sender keeps the connection open (RFC 9112 section 9.3).
func (f *fields) keepAlive(version10 bool) bool {
	if f.saysClose {
		return false
	}
	return !version10 || f.saysKeepAlive
}

// parseFields parses the header lines of a message. Its errors are those of refuse.
func parseFields(lines []byte, limits Limits) (fields, error) {
	found := fields{length: -1}
	for len(lines) > 0 {
		line, rest, err := nextLine(lines)
		if err != nil {
			return found, err
		}
		lines = rest
		// The name must be a token up to the colon, which also refuses folded
		// lines and blanks before the colon (RFC 9112 sections 5.1 and 5.2).
		name, value, colon := bytes.Cut(line, []byte{':'})
		if !colon || !validToken(name) {
			return found, refuse(http.StatusBadRequest, "header line %.60q: want NAME: VALUE", line)
		}
		if err := found.take(name, bytes.Trim(value, " \t"), limits); err != nil {
			return found, err
		}
	}
	return found, nil
}

// take stores a field if this package uses it.
func (f *fields) take(name, value []byte, limits Limits) error {
	switch {
	case named(name, "content-length"):
		return f.takeLength(value, limits)
	case named(name, "transfer-encoding"):
		return refuse(http.StatusNotImplemented, "body has a Transfer-Encoding, only Content-Length is read here")
	case named(name, "content-type"):
		if f.hasContentType {
			return refuse(http.StatusBadRequest, "message has two Content-Type fields")
		}
		f.contentType = value
		f.hasContentType = true
	case named(name, "connection"):
		f.takeConnection(value)
	case named(name, "host"):
		f.hosts++
	case named(name, "expect"):
		f.expects = true
	case named(name, "cleave-context"):
		f.context = value
	case named(name, "traceparent"):
		f.trace = value
	}
	return nil
}

// takeLength stores the Content-Length. It refuses a second one and a body beyond the limit.
func (f *fields) takeLength(value []byte, limits Limits) error {
	length, ok := parseNumber(value)
	if !ok || f.length >= 0 {
		return refuse(http.StatusBadRequest, "Content-Length %.30q: want one whole number", value)
	}
	if length > limits.Body {
		return refuse(http.StatusRequestEntityTooLarge, "body of %d bytes is longer than %d", length, limits.Body)
	}
	f.length = length
	return nil
}

// takeConnection stores the options of a Connection field.
func (f *fields) takeConnection(value []byte) {
	for option := range bytes.SplitSeq(value, []byte{','}) {
		option = bytes.Trim(option, " \t")
		if named(option, "close") {
			f.saysClose = true
		}
		if named(option, "keep-alive") {
			f.saysKeepAlive = true
		}
	}
}

// named reports whether a name equals want, ignoring case. want is in lower case.
func named(name []byte, want string) bool {
	if len(name) != len(want) {
		return false
	}
	for i := range name {
		b := name[i]
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != want[i] {
			return false
		}
	}
	return true
}

// parseNumber parses a number, which may only have digits. From 1e9 on it ignores further
// digits: the number is beyond all limits, and must not overflow.
func parseNumber(text []byte) (int, bool) {
	if len(text) == 0 {
		return 0, false
	}
	number := 0
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		if number < 1e9 {
			number = number*10 + int(b-'0')
		}
	}
	return number, true
}

// validToken reports whether a name is a token: at least one byte, all of isToken.
func validToken(name []byte) bool {
	for _, b := range name {
		if !isToken[b] {
			return false
		}
	}
	return len(name) > 0
}

// validTarget reports whether a target has only visible ASCII characters. All others must
// be percent-encoded.
func validTarget(target []byte) bool {
	for _, b := range target {
		if b <= ' ' || b >= 0x7f {
			return false
		}
	}
	return true
}

// isToken marks the bytes of a token (RFC 9110 section 5.6.2).
var isToken = [256]bool{
	'!': true, '#': true, '$': true, '%': true, '&': true, '\'': true, '*': true, '+': true, '-': true,
	'.': true, '^': true, '_': true, '`': true, '|': true, '~': true,
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true, '8': true, '9': true,
	'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true, 'g': true, 'h': true, 'i': true,
	'j': true, 'k': true, 'l': true, 'm': true, 'n': true, 'o': true, 'p': true, 'q': true, 'r': true,
	's': true, 't': true, 'u': true, 'v': true, 'w': true, 'x': true, 'y': true, 'z': true,
	'A': true, 'B': true, 'C': true, 'D': true, 'E': true, 'F': true, 'G': true, 'H': true, 'I': true,
	'J': true, 'K': true, 'L': true, 'M': true, 'N': true, 'O': true, 'P': true, 'Q': true, 'R': true,
	'S': true, 'T': true, 'U': true, 'V': true, 'W': true, 'X': true, 'Y': true, 'Z': true,
}
