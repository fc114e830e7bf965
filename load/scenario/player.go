package scenario

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
)

// Origin is the server that a plan is played against, and the part of the load that the player plays.
type Origin struct {
	Host string // for the header Host
	Path string // before every step's path; "": none
	// Part of Of: the share of sequences and rows that this player takes, and its stream of random numbers.
	Part, Of int
	// After is the progress of the loads before this one.
	After Progress
	// Close: the last step of every flow asks the server to close the connection.
	Close bool
	// TraceShare is the share of flows for which services are asked to record spans, from 0 to 1; 0:
	// requests have no header for traces.
	TraceShare float64
}

// Progress is the progress of the loads of a plan (a warm-up, the probes of a search and the load
// itself), so that the next one does not use their values and rows again.
type Progress struct {
	// Loads is the number of loads: each draws random numbers of its own.
	Loads int `json:"loads"`
	// Taken is the highest number of values of a sequence, or rows of a table, that one player has taken.
	// The next load continues after them.
	Taken int64 `json:"taken"`
}

// Player begins flows for one loop of an engine. One goroutine may use it at a time.
type Player struct {
	plan       *Plan
	flows      [][]request // by flow and step
	random     *rand.Rand
	generators []generator // by index in Plan.values
	rows       []rows      // by index in Plan.data
	skipped    []atomic.Int64
	traceShare float64
}

// request is a step for one origin.
type request struct {
	*step
	head template // of HTTP/1.1: the request line and most headers
	// fixedBody and fixed are the body and the whole HTTP/1.1 request if they contain no values; fixed is
	// not used if the session has cookies.
	fixedBody, fixed []byte
	path             template // with the path of the origin
	host             string
	fixedPath        string
	fixedHeader      []Field // nil: a header contains a value
	traced           bool    // it has a traceparent header, which differs from flow to flow
	traceAt          int     // position of its value in fixed
}

// Player returns a new player of the plan.
func (p *Plan) Player(at Origin) *Player {
	at.Of = max(at.Of, 1)
	player := &Player{plan: p, skipped: make([]atomic.Int64, len(p.operations)),
		random: newRandom(p.seed, at.Part, at.After.Loads), traceShare: at.TraceShare}
	for _, f := range p.flows {
		requests := make([]request, len(f.steps))
		for i := range f.steps {
			requests[i] = newRequest(&f.steps[i], at, i == len(f.steps)-1)
		}
		player.flows = append(player.flows, requests)
	}
	for _, v := range p.values {
		player.generators = append(player.generators, v.start(at))
	}
	for _, t := range p.data {
		player.rows = append(player.rows, rows{table: t, next: at.first(), step: int64(at.Of)})
	}
	return player
}

// first returns the index of the first value of a sequence, or row, for a player.
func (at Origin) first() int64 { return int64(at.Part) + at.After.Taken*int64(at.Of) }

// Taken returns the highest number of values of a sequence, or rows of a table, that the
// player and those before it have taken.
func (p *Player) Taken() int64 {
	var most int64
	for _, g := range p.generators {
		if s, is := g.(*sequence); is {
			most = max(most, s.next/s.step)
		}
	}
	for i := range p.rows {
		most = max(most, p.rows[i].next/p.rows[i].step)
	}
	return most
}

// newRandom returns the random numbers of one part of one load. The seed is spread over all bits, so that
// the numbers of neighbouring seeds, parts and loads are independent.
func newRandom(seed uint64, part, load int) *rand.Rand {
	stream := uint64(part) | uint64(load)<<32
	spread := rand.New(rand.NewPCG(seed, stream))
	return rand.New(rand.NewPCG(spread.Uint64(), spread.Uint64()))
}

// newRequest prepares the parts of a request that do not depend on the flow.
func newRequest(s *step, at Origin, last bool) request {
	r := request{step: s, host: at.Host, path: s.path,
		traced: at.TraceShare > 0 && !s.has(traceparent)}
	if s.relative && at.Path != "" {
		prefix := strings.TrimSuffix(at.Path, "/")
		r.path = slices.Concat(template{{text: []byte(prefix), slot: -1}}, s.path)
	}
	if s.grpc == "" {
		r.head = r.newHead(at.Close && last)
	}
	if s.body.fixed() {
		r.fixedBody = s.body.appendTo([]byte{}, nil)
	}
	if joined(r.path).fixed() {
		r.fixedPath = string(r.path.appendTo(nil, nil))
	}
	r.fixedHeader = r.newFixedHeader()
	r.head = joined(r.head)
	if r.head.fixed() && r.cookie.fixed() && r.fixedBody != nil {
		session := Session{}
		r.fixed = slices.Clone(session.write(&r))
		line := "\r\n" + traceparent + ": "
		r.traceAt = bytes.Index(r.fixed, []byte(line)) + len(line)
	}
	return r
}

// newHead returns the request line and the headers, without the cookies, the length
// and the empty line.
func (r *request) newHead(closes bool) template {
	t := template{{text: []byte(r.method + " "), slot: -1}}
	t = append(t, r.path...)
	line := func(text string) { t = append(t, part{text: []byte(text), slot: -1}) }
	line(" HTTP/1.1\r\n")
	if !r.has("host") {
		line("Host: " + r.host + "\r\n")
	}
	for _, h := range r.headers {
		if closes && strings.EqualFold(h.name, "connection") {
			continue
		}
		line(h.name + ": ")
		t = append(t, h.value...)
		line("\r\n")
	}
	if closes {
		line("Connection: close\r\n")
	}
	return t
}

// has reports whether the step itself sets a header.
func (s *step) has(name string) bool {
	return slices.ContainsFunc(s.headers, func(h header) bool { return strings.EqualFold(h.name, name) })
}

// newFixedHeader returns the headers if they contain no values, otherwise nil.
func (r *request) newFixedHeader() []Field {
	fields := make([]Field, 0, len(r.headers)+1)
	for _, h := range r.headers {
		if !h.value.fixed() {
			return nil
		}
		fields = append(fields, Field{h.name, string(h.value.appendTo(nil, nil))})
	}
	return fields
}

// joined returns a template in which adjacent texts are joined.
func joined(t template) template {
	var out template
	var text []byte
	for _, p := range t {
		text = append(text, p.text...)
		if p.slot >= 0 {
			p.text = text
			text = nil
			out = append(out, p)
		}
	}
	if len(text) > 0 {
		out = append(out, part{text: text, slot: -1})
	}
	return out
}

// Begin starts a new flow in a session, at its first step.
func (p *Player) Begin(s *Session) {
	i := p.choose()
	f := &p.plan.flows[i]
	s.player = p
	s.steps = p.flows[i]
	s.at = 0
	if p.traceShare > 0 {
		s.trace.begin(p.random, p.traceShare)
	}
	s.memory = s.memory[:0]
	s.jar = s.jar[:0]
	if len(s.values) < p.plan.slots {
		s.values = make([]value, p.plan.slots)
	}
	for _, slot := range f.forgets {
		s.values[slot] = value{}
	}
	for _, v := range f.values {
		begin := len(s.memory)
		s.memory = p.generators[v].appendNext(s.memory, p.random)
		s.values[p.plan.values[v].slot] = value{text: s.memory[begin:]}
	}
	for _, use := range f.rows {
		row := p.rows[use.table].take(p.random)
		for _, c := range use.columns {
			s.values[c.slot] = row[c.column]
		}
	}
}

// choose draws a flow by weight.
func (p *Player) choose() int {
	last := len(p.plan.flows) - 1
	if last == 0 {
		return 0
	}
	u := p.random.Float64()
	for i := range last {
		if u < p.plan.flows[i].share {
			return i
		}
	}
	return last
}

// Skipped counts, by operation, the steps that never began because an earlier step of their flow failed.
// It may be called while sessions are in progress.
func (p *Player) Skipped() []int64 {
	counts := make([]int64, len(p.skipped))
	for i := range counts {
		counts[i] = p.skipped[i].Load()
	}
	return counts
}
