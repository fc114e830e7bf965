package scenario

import (
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/secret"
)

// Answer is the answer to a step; see package oracle.
type Answer = oracle.Answer

// Session is one flow in progress. Player.Begin reuses its memory. One goroutine may use it at a time.
// After Begin, it needs no lock of its player.
type Session struct {
	player *Player
	steps  []request
	at     int
	values []value // by slot; only names of the flow are valid
	memory []byte  // memory of the texts of values and cookies
	jar    jar
	out    []byte // the request
	body   []byte
	header []Field
	trace  traceContext
	echoed []byte // text of an expectation with values
}

// Operation returns the index of the step's operation.
func (s *Session) Operation() int { return s.steps[s.at].operation }

// First reports whether the step is the first of its flow.
func (s *Session) First() bool { return s.at == 0 }

// Needs reports which parts of the answer the engine must keep for Judge: the header, and how many bytes of
// the body.
func (s *Session) Needs() (header bool, body int) {
	step := s.steps[s.at].step
	if step.needsBody {
		body = oracle.MaxBody
	}
	return step.needsHeader, body
}

// Bodiless reports whether the answer has no body regardless of its header, because the method is HEAD.
func (s *Session) Bodiless() bool { return s.steps[s.at].method == "HEAD" }

// Repeatable reports whether the step may be sent again if the server may have seen it: its method is
// idempotent (RFC 9110 section 9.2.2).
func (s *Session) Repeatable() bool {
	switch s.steps[s.at].method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// HTTP1 returns the whole HTTP/1.1 request of the step, head and body. It is valid until the next call of
// HTTP1, Call, Next or Player.Begin.
func (s *Session) HTTP1() []byte {
	r := &s.steps[s.at]
	switch {
	case r.fixed == nil || len(s.jar) > 0:
		return s.write(r)
	case !r.traced:
		return r.fixed
	}
	s.out = append(s.out[:0], r.fixed...)
	s.trace.appendTo(s.out[:r.traceAt], s.at) // replaces a value of the same length
	return s.out
}

// write writes a request from its templates.
func (s *Session) write(r *request) []byte {
	body := s.writeBody(r)
	out := r.head.appendTo(s.out[:0], s.values)
	if len(s.jar)+len(r.cookie) > 0 {
		out = append(out, "Cookie: "...)
		out = s.writeCookies(out, r)
		out = append(out, "\r\n"...)
	}
	if r.sized {
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(out, "\r\n"...)
	}
	if r.traced {
		out = append(out, traceparent+": "...)
		out = s.trace.appendTo(out, s.at)
		out = append(out, "\r\n"...)
	}
	out = append(out, "\r\n"...)
	s.out = append(out, body...)
	return s.out
}

// writeBody returns the body of a request, which is valid until the next call.
func (s *Session) writeBody(r *request) []byte {
	if r.fixedBody != nil {
		return r.fixedBody
	}
	s.body = r.body.appendTo(s.body[:0], s.values)
	return s.body
}

// writeCookies writes the cookies of the step and those of the session.
func (s *Session) writeCookies(out []byte, r *request) []byte {
	out = r.cookie.appendTo(out, s.values)
	if len(r.cookie) > 0 && len(s.jar) > 0 {
		out = append(out, "; "...)
	}
	return s.jar.appendTo(out)
}

// Call is one request in parts.
type Call struct {
	GRPC   string // "package.Service/Method", or "" for HTTP
	Method string
	Host   string // for the header Host, which is not in Header
	Path   string // with the path of the origin and the query
	// Header lacks the headers that frame a request: length, encoding, connection.
	Header []Field
	Body   []byte
	Sized  bool // the request says how long its body is
}

// Field is one header line.
type Field struct{ Name, Value string }

// Call returns the request of the step for engines of other protocols than HTTP/1.1. It is valid as long
// as that of HTTP1.
func (s *Session) Call() Call {
	r := &s.steps[s.at]
	c := Call{GRPC: r.grpc, Method: r.method, Host: r.host, Path: r.fixedPath, Header: r.fixedHeader,
		Body: s.writeBody(r), Sized: r.sized}
	if c.Path == "" && r.grpc == "" {
		s.out = r.path.appendTo(s.out[:0], s.values)
		c.Path = string(s.out)
	}
	cookies := len(s.jar)+len(r.cookie) > 0
	if c.Header == nil || cookies {
		s.header = s.header[:0]
		for _, h := range r.headers {
			s.out = h.value.appendTo(s.out[:0], s.values)
			s.header = append(s.header, Field{h.name, string(s.out)})
		}
		c.Header = s.header
	}
	if cookies {
		s.out = s.writeCookies(s.out[:0], r)
		s.header = append(s.header, Field{"Cookie", string(s.out)})
		c.Header = s.header
	}
	if r.traced {
		s.header = append(s.header[:0], c.Header...) // a fixed header is shared
		s.header = append(s.header, Field{traceparent, string(s.trace.appendTo(nil, s.at))})
		c.Header = s.header
	}
	return c
}

// Judge judges the answer of the step and stores extractions and cookies. The complaint is empty unless
// explain is set. It shows no passwords of URLs.
func (s *Session) Judge(a *Answer, explain bool) (record.Outcome, string) {
	outcome, complaint := s.judge(a, explain)
	if complaint != "" { // every operation is judged, and few complain
		complaint = secret.HidePasswords(complaint)
	}
	return outcome, complaint
}

// judge is Judge, but its complaint may show passwords.
func (s *Session) judge(a *Answer, explain bool) (record.Outcome, string) {
	step := s.steps[s.at].step
	outcome, complaint := step.oracle.Judge(a, explain)
	if outcome != record.OK {
		return outcome, complaint
	}
	for i := range step.echoes {
		if outcome, complaint := step.echoes[i].judge(a, s, explain); outcome != record.OK {
			return outcome, complaint
		}
	}
	if step.check != nil {
		if err := step.check(*a); err != nil {
			return failed(explain, err.Error)
		}
	}
	for i := range step.extract {
		e := &step.extract[i]
		v, found := e.from.find(a)
		if !found {
			return e.missing(a, explain)
		}
		v.text = s.keep(v.text)
		s.values[e.slot] = v
	}
	if step.readsCookies {
		s.readCookies(a)
	}
	return record.OK, ""
}

// failed returns the outcome of an answer that was read and not accepted.
func failed(explain bool, complaint func() string) (record.Outcome, string) {
	if !explain {
		return record.Failed, ""
	}
	return record.Failed, complaint()
}

// keep copies a text into the session's memory.
func (s *Session) keep(text []byte) []byte {
	if len(text) == 0 {
		return []byte{} // not nil: the value is known
	}
	begin := len(s.memory)
	s.memory = append(s.memory, text...)
	return s.memory[begin:]
}

// Next moves on to the next step, or ends the flow if the outcome is not OK or no step is left. think is
// the step's pause, before the next step or before the user's next flow.
func (s *Session) Next(outcome record.Outcome) (think time.Duration, more bool) {
	think = s.steps[s.at].think
	if s.at == len(s.steps)-1 {
		return think, false
	}
	if outcome != record.OK {
		for _, skipped := range s.steps[s.at+1:] {
			s.player.skipped[skipped.operation].Add(1)
		}
		return think, false
	}
	s.at++
	return think, true
}
