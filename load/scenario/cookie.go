package scenario

import (
	"bytes"

	"github.com/cleave-lab/cleave/load/oracle"
)

// Limits by RFC 6265, 6.1.
const (
	maxCookies    = 50
	maxCookieSize = 4096 // bytes of name and value
)

// jar holds the cookies of a session. A session talks to one target, so path, domain and expiry are
// ignored, except for deletion: an empty value, or Max-Age=0.
type jar []cookie

type cookie struct{ name, value []byte }

// readCookies stores the cookies that an answer sets.
func (s *Session) readCookies(a *oracle.Answer) {
	for rest := a.Header; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		const length = len("set-cookie")
		if len(line) > length && line[length] == ':' && bytes.EqualFold(line[:length], []byte("set-cookie")) {
			s.setCookie(line[length+1:])
		}
	}
}

// setCookie parses "name=value; attributes" (RFC 6265, 5.2).
func (s *Session) setCookie(text []byte) {
	pair, attributes, _ := bytes.Cut(text, []byte(";"))
	name, value, found := bytes.Cut(pair, []byte("="))
	name = bytes.TrimSpace(name)
	value = bytes.TrimSpace(value)
	if !found || len(name) == 0 || len(name)+len(value) > maxCookieSize || bytes.ContainsFunc(pair, isControl) {
		return
	}
	at := s.jar.find(name)
	switch {
	case len(value) == 0 || expires(attributes):
		if at < len(s.jar) {
			s.jar = append(s.jar[:at], s.jar[at+1:]...)
		}
	case at < len(s.jar):
		if !bytes.Equal(s.jar[at].value, value) {
			s.jar[at].value = s.keep(value)
		}
	case len(s.jar) < maxCookies:
		s.jar = append(s.jar, cookie{name: s.keep(name), value: s.keep(value)})
	}
}

// expires reports whether the attributes have Max-Age with zero or less.
func expires(attributes []byte) bool {
	for attribute := range bytes.SplitSeq(attributes, []byte(";")) {
		name, age, _ := bytes.Cut(attribute, []byte("="))
		if bytes.EqualFold(bytes.TrimSpace(name), []byte("max-age")) {
			age = bytes.TrimSpace(age)
			isZero := len(age) > 0 && len(bytes.Trim(age, "0")) == 0
			return isZero || bytes.HasPrefix(age, []byte("-"))
		}
	}
	return false
}

// find returns the index of a cookie, or the length of the jar.
func (j jar) find(name []byte) int {
	for i := range j {
		if bytes.Equal(j[i].name, name) {
			return i
		}
	}
	return len(j)
}

// appendTo appends the value of the header Cookie.
func (j jar) appendTo(out []byte) []byte {
	for i := range j {
		if i > 0 {
			out = append(out, "; "...)
		}
		out = append(out, j[i].name...)
		out = append(out, '=')
		out = append(out, j[i].value...)
	}
	return out
}
