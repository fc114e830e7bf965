package model

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// span returns a span with its children, from times in microseconds. Its self time is the time outside of
// its children.
func span(
	service, name string, kind lab.SegmentKind, start, end int64, below ...*lab.SpanNode,
) *lab.SpanNode {
	s := &lab.SpanNode{Service: service, Name: name, Kind: kind, Start: start * 1000, End: end * 1000,
		Self: (end - start) * 1000, Children: below}
	at := s.Start
	for _, child := range below {
		if !child.Async {
			s.Self -= max(0, child.End-max(at, child.Start))
			at = max(at, child.End)
		}
	}
	return s
}

// to makes a span one of a client that calls a peer.
func to(peer string, s *lab.SpanNode) *lab.SpanNode {
	s.Name = s.Name + " to " + peer
	s.Peer = peer
	return s
}

func serves(s *lab.SpanNode) *lab.SpanNode {
	s.Serves = true
	return s
}

func async(s *lab.SpanNode) *lab.SpanNode {
	s.Async = true
	return s
}

// inComponent returns a span with its component within the service.
func inComponent(component string, s *lab.SpanNode) *lab.SpanNode {
	s.Component = component
	return s
}

const (
	code      = lab.SegmentBusiness
	encoding  = lab.SegmentEncoding
	transport = lab.SegmentTransport
	database  = lab.SegmentDatabase
)

// order returns a trace with known times. The shop has two components in one unit: the front (200 us of
// its own) calls the orders (210 us). These ask their database (two statements of 50 us and a commit of
// 200 us), call the stock in another unit twice at once (each time 80 us, 60 us of encoding and 60 us
// between), and publish a message to the mail (200 us), which takes 50 us.
func order() *lab.SpanNode {
	reserve := func(start int64) *lab.SpanNode {
		return span("shop", "Stock/Reserve", transport, start, start+200,
			span("shop", "encode", encoding, start, start+20),
			serves(span("stock", "Stock/Reserve", code, start+50, start+140,
				span("stock", "decode", encoding, start+50, start+60))),
			span("shop", "decode", encoding, start+170, start+200))
	}
	return serves(inComponent("front", span("shop", "POST /orders", code, 0, 920,
		inComponent("orders", span("shop", "Create", code, 100, 820,
			span("shop", "INSERT orders", database, 150, 200),
			span("shop", "upsert orders", database, 200, 250,
				span("shop", "UPDATE orders", database, 205, 245)),
			reserve(300), reserve(310),
			span("shop", "COMMIT", database, 520, 720),
			async(span("shop", "publish", lab.SegmentBroker, 800, 1000,
				async(serves(span("mail", "process mail", code, 1100, 1150))))))))))
}

// TestNobodyWaitsForACallThatFollows: if the client's span is asynchronous, so is the call, although the
// server's span is not.
func TestNobodyWaitsForACallThatFollows(t *testing.T) {
	m, _ := made(t, Evidence{Traces: []*lab.SpanNode{serves(span("shop", "order", code, 0, 100,
		async(span("shop", "tell", transport, 50, 250, serves(span("mail", "send", code, 100, 200))))))}})
	call := m.Operations[0].Call
	if len(call.Calls) != 1 || !call.Calls[0].Async || call.Wait.Seconds() > 0 {
		t.Errorf("%+v, want an asynchronous call of mail and no wait", call)
	}
}

// made returns the model of the evidence, which must survive writing and reading, and its notes.
func made(t *testing.T, from Evidence) (Model, []string) {
	t.Helper()
	m, notes, err := Make(from)
	if err != nil {
		t.Fatal(err)
	}
	if again := written(t, parsed(t, written(t, m))); again != written(t, m) {
		t.Errorf("the model changes when it is written and read:\n%s\n%s", written(t, m), again)
	}
	return m, notes
}

// orders returns n traces like that of order.
func orders(n int) (all []*lab.SpanNode) {
	for range n {
		all = append(all, order())
	}
	return all
}

// expectTime fails unless a distribution has a mean, in microseconds.
func expectTime(t *testing.T, what string, d Distribution, want float64) {
	t.Helper()
	if got := d.Seconds() * 1e6; math.Abs(got-want) > 0.01 {
		t.Errorf("%s takes %g us, want %g", what, got, want)
	}
}

// TestATraceOfKnownTimesMakesAModelOfThem: all times of code become CPU time, which is an upper bound,
// but other times do not.
func TestATraceOfKnownTimesMakesAModelOfThem(t *testing.T) {
	m, notes := made(t, Evidence{Name: "known", Traces: orders(3)})
	if len(notes) > 0 || len(m.Operations) != 1 || m.Operations[0].Name != "POST /orders" ||
		m.Operations[0].Weight != 3 || m.Operations[0].Time.Mean != 920*time.Microsecond {
		t.Fatalf("%v, %+v", notes, m)
	}
	var units []string
	for _, u := range m.Units {
		units = append(units, u.Name+" "+strings.Join(u.Components, "+"))
	}
	if got := strings.Join(units, ", "); got != "mail mail, shop front+orders, stock stock" {
		t.Errorf("units %s", got)
	}
	front := m.Operations[0].Call
	create := front.Calls[0]
	if front.Component != "front" || create.Component != "orders" || create.Hop != nil ||
		len(create.Calls) != 2 {
		t.Fatalf("%+v", front)
	}
	reserve, mail := create.Calls[0], create.Calls[1]
	if reserve.Component != "stock" || reserve.Count != 2 || !reserve.Parallel || reserve.N != 6 ||
		!mail.Async || mail.Component != "mail" || mail.Count != 1 {
		t.Errorf("%+v\n%+v", reserve, mail)
	}
	visit := create.Visits[0]
	if visit.Store != "shop-database" || visit.Statements != 2 || visit.Commits != 1 || front.Visits != nil {
		t.Errorf("visits %+v, %+v", create.Visits, front.Visits)
	}
	expectTime(t, "the front", front.CPU, 200)
	expectTime(t, "the orders", create.CPU, 210) // 50 + 50 + 10 + 100 around statements and calls
	expectTime(t, "the database", visit.Wait, 300)
	expectTime(t, "the stock", reserve.CPU, 80)
	expectTime(t, "encoding for the stock", reserve.Hop.CPU, 60)
	expectTime(t, "the way to the stock", reserve.Hop.Wait, 60)
	expectTime(t, "the mail", mail.CPU, 50)
	expectTime(t, "the way to the mail", mail.Hop.Wait, 200)
	if front.CPU.Source != Trace || reserve.Hop.CPU.Source != Trace {
		t.Errorf("the sources are %s and %s", front.CPU.Source, reserve.Hop.CPU.Source)
	}
	if got := front.explained() * 1e6; math.Abs(got-910) > 0.01 { // one of two parallel calls began 10 us late
		t.Errorf("its calls explain %g us", got)
	}
}

// TestMeteredCPUIsDividedWithoutRemainder: the calls together have the metered CPU time. It goes to code
// first (510 us of the shop), then to statements and the time between units (220), then to the commit and
// the message (400), and the rest to the four requests and messages of the shop.
func TestMeteredCPUIsDividedWithoutRemainder(t *testing.T) {
	for name, c := range map[string]struct {
		shop                                          float64
		front, background, orders, database, hop, way float64
	}{
		"half of the code":     {255, 100, 0, 105, 300, 25 + 10 + 8, 77},
		"half of the ways":     {510 + 110, 200, 0, 210 + 50, 250, 60 + 30 + 8, 22},
		"half of the commit":   {510 + 220 + 200, 200, 0, 210 + 100 + 100, 100, 60 + 60 + 8, 0},
		"more than spans have": {510 + 220 + 400 + 40, 200, 10, 210 + 100 + 200, 0, 60 + 60 + 8 + 10, 0},
	} {
		t.Run(name, func(t *testing.T) {
			// The stock has 8 us for each request in addition to its code.
			m, notes := made(t, Evidence{Name: "metered", Traces: orders(4),
				CPU: map[string]float64{"shop": c.shop / 1e6, "stock": 196e-6, "mail": 50e-6}})
			front := m.Operations[0].Call
			create := front.Calls[0]
			reserve := create.Calls[0]
			expectTime(t, "the front", front.CPU, c.front)
			expectTime(t, "reading and writing", front.Background, c.background)
			expectTime(t, "the orders", create.CPU, c.orders)
			expectTime(t, "waiting for the database", create.Visits[0].Wait, c.database)
			expectTime(t, "the hop", reserve.Hop.CPU, c.hop)
			expectTime(t, "waiting on the way", reserve.Hop.Wait, c.way)
			if len(notes) > 0 || create.CPU.Source != Meter {
				t.Errorf("%v, source %s", notes, create.CPU.Source)
			}
			sum := 0.0
			front.Executions(func(call *Call, times float64) { sum += times * call.cpu() * 1e6 })
			if want := c.shop + 196 + 50; math.Abs(sum-want) > 0.01 {
				t.Errorf("all calls have %g us, the meter saw %g", sum, want)
			}
		})
	}
}

// TestAHopIsMeteredIfBothSidesAre: otherwise its CPU time holds self times, which are an upper bound.
func TestAHopIsMeteredIfBothSidesAre(t *testing.T) {
	for want, cpu := range map[Source]map[string]float64{
		Trace: {"stock": 196e-6}, Meter: {"shop": 510e-6, "stock": 196e-6}} {
		m, _ := made(t, Evidence{Name: "metered", Traces: orders(4), CPU: cpu})
		reserve := m.Operations[0].Call.Calls[0].Calls[0]
		if reserve.CPU.Source != Meter || reserve.Hop.CPU.Source != want {
			t.Errorf("the sources of a call and its hop are %s and %s, want meter and %s", reserve.CPU.Source,
				reserve.Hop.CPU.Source, want)
		}
	}
}

// TestCallsAreInTheirOrder although an operation without the second call makes the first one very late.
func TestCallsAreInTheirOrder(t *testing.T) {
	first := func(at int64) *lab.SpanNode { return inComponent("x", span("a", "x", code, at, at+10)) }
	whole := span("a", "GET /", code, 0, 500, first(100), inComponent("y", span("a", "y", code, 200, 300)))
	m, _ := made(t, Evidence{Name: "order", Traces: []*lab.SpanNode{whole,
		span("a", "GET /", code, 0, 99_000, first(98_000))}})
	if calls := m.Operations[0].Call.Calls; calls[0].Component != "x" || calls[1].Count != 0.5 {
		t.Errorf("calls %+v", calls)
	}
}

// TestParallelCallsBehindAMessage begin with the message, as package predict simulates them, and so after the
// call before it.
func TestParallelCallsBehindAMessage(t *testing.T) {
	took := func(d time.Duration) Call { return Call{Count: 1, CPU: Distribution{Mean: d}} }
	message := took(time.Second)
	parallel := took(2 * time.Millisecond)
	message.Async = true
	parallel.Parallel = true
	for want, calls := range map[float64][]Call{
		0.002: {took(time.Millisecond), parallel},
		0.003: {took(time.Millisecond), message, parallel},
	} {
		if got := (&Call{Calls: calls}).explained(); math.Abs(got-want) > 1e-9 {
			t.Errorf("the calls take %g s, want %g", got, want)
		}
	}
}

// TestAMessageBetweenParallelCalls: the calls stay beside each other, and the message comes behind them.
func TestAMessageBetweenParallelCalls(t *testing.T) {
	call := func(name string, start, end int64) *lab.SpanNode {
		return inComponent(name, span("a", name, code, start, end))
	}
	m, _ := made(t, Evidence{Name: "between", Traces: []*lab.SpanNode{span("a", "GET /", code, 0, 500,
		async(call("early", 10, 20)), call("x", 100, 300), async(call("m", 150, 160)), call("y", 200, 400),
		call("z", 400, 450))}})
	got := ""
	for _, c := range m.Operations[0].Call.Calls {
		got += fmt.Sprintf("%s %t %t, ", c.Component, c.Async, c.Parallel)
	}
	if want := "early true false, x false false, y false true, m true false, z false false, "; got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
}

// TestComponentsKeepApart whose names differ only in characters that separate components in placements.
func TestComponentsKeepApart(t *testing.T) {
	var below []*lab.SpanNode
	for i, name := range []string{"a,b", "a+b", "a_b", "a,b", "a+b"} {
		below = append(below, inComponent(name, span("shop", "work", code, int64(i*10), int64(i*10+5))))
	}
	root := span("shop", "GET /", code, 0, 50, below...)
	m, _ := made(t, Evidence{Name: "apart", Traces: []*lab.SpanNode{root}})
	if got := strings.Join(m.Components(), " "); got != "shop a_b a_b_2 a_b_3" {
		t.Errorf("components %s", got)
	}
}

// TestWhatATraceLacks is reported, or does not matter: callees without spans, commits, calls for metered CPU
// time, calls or operations beyond a limit, spans of at most an hour, dropped spans, or any trace.
func TestWhatATraceLacks(t *testing.T) {
	unanswered := span("shop", "GET /", code, 0, 500, to("bank", span("shop", "GET", transport, 100, 400)),
		to("postgresql", span("shop", "SELECT", database, 400, 450)))
	m, _ := made(t, Evidence{Name: "unanswered", Traces: []*lab.SpanNode{unanswered}})
	expectTime(t, "the bank", m.Operations[0].Call.Wait, 300)
	if len(m.Stores) != 1 || m.Stores[0] != (Store{Name: "postgresql", Kind: "database", Server: true}) {
		t.Errorf("stores %+v", m.Stores)
	}

	undone := span("shop", "GET /", code, 0, 500, to("mysql", span("shop", "UPDATE", database, 100, 200)),
		to("mysql", span("shop", "rollback to before", database, 150, 200)),
		to("mysql", span("shop", "ROLLBACK", database, 200, 300)))
	m, _ = made(t, Evidence{Name: "undone", Traces: []*lab.SpanNode{undone}})
	if v := m.Operations[0].Call.Visits[0]; v.Store != "mysql" || v.Statements != 2 || v.Commits != 0 {
		t.Errorf("a rollback, and one to a savepoint: %+v, want two statements", v)
	}

	_, notes := made(t, Evidence{Name: "beside", Traces: []*lab.SpanNode{unanswered},
		CPU: map[string]float64{"shop": 1e-3, "broker": 2e-3}})
	want := "broker used 2 ms CPU time per operation, which is in no call"
	if len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q", notes)
	}

	deep := span("a", "leaf", code, 0, 10)
	for i := range 100 {
		deep = serves(span([]string{"a", "b"}[i%2], "call\n", code, 0, int64(11+i), deep))
	}
	if m, notes = made(t, Evidence{Name: "deep", Traces: []*lab.SpanNode{deep}}); len(notes) != 1 {
		t.Errorf("notes %q", notes)
	}

	var many []*lab.SpanNode
	for i := range maxOperations + 5 {
		many = append(many, span("a", fmt.Sprint("GET /", i), code, 0, 10))
	}
	m, notes = made(t, Evidence{Name: "many", Traces: append(many, many[7])})
	if len(m.Operations) != maxOperations || m.Operations[0].Weight != 2 || len(notes) != 1 {
		t.Errorf("%d operations, the first has %g traces, notes %q", len(m.Operations), m.Operations[0].Weight,
			notes)
	}

	open := span("shop", "GET /feed", code, 0, 500, async(span("shop", "stream", code, 0, 3_600_000_001)))
	m, notes = made(t, Evidence{Name: "open", Traces: append(orders(1), open)})
	want = "left out: 1 trace with a span of more than 1h0m0s"
	if len(m.Operations) != 1 || len(notes) != 1 || notes[0] != want {
		t.Errorf("%d operations, notes %q", len(m.Operations), notes)
	}
	m, _ = made(t, Evidence{Name: "dropped", Traces: orders(30), DroppedSpans: 7})
	if weak := strings.Join(m.Weak(), "\n"); !strings.Contains(weak, "7 spans were dropped") {
		t.Errorf("weak: %s", weak)
	}
	if _, _, err := Make(Evidence{Name: "none"}); err == nil {
		t.Error("a model of nothing")
	}
}

// TestNamesOfMadeModelsAreValid, as made checks, although those of spans and files are not.
func TestNamesOfMadeModelsAreValid(t *testing.T) {
	twice := span("a", "GET /", code, 0, 500, inComponent("x", span("a", "x", code, 0, 100)),
		serves(inComponent("x", span("b+c", "x", code, 200, 300))))
	m, notes := made(t, Evidence{Name: "twice", Traces: []*lab.SpanNode{twice},
		CPU: map[string]float64{"a": 1e-3}})
	if got := strings.Join(m.Components(), " "); got != "a x b_c/x" || len(notes) != 2 ||
		!strings.Contains(notes[0], "in the services a and b+c") || !strings.Contains(notes[1], "metered b+c") {
		t.Errorf("components %s, notes %q", got, notes)
	}
	long := strings.Repeat("é", maxText)
	ends := []*lab.SpanNode{span(long+"1", long+"1", code, 0, 9), span(long+"1", long+"2", code, 0, 9),
		span(long+"2", long+"1", code, 0, 9)}
	if m, _ = made(t, Evidence{Name: "long", Traces: ends}); len(m.Units) != 2 || len(m.Operations) != 3 {
		t.Errorf("%d units and %d operations with long names, want 2 and 3", len(m.Units), len(m.Operations))
	}
	alike := []*lab.SpanNode{span("a", "b c", code, 0, 9), span("a b", "c", code, 0, 9),
		span("x", "b c", code, 0, 9), span("x", "c", code, 0, 9)}
	if m, _ = made(t, Evidence{Name: "alike", Traces: alike}); m.Operations[1].Name != "a b c 2" {
		t.Errorf("the operation c of a b is called %q", m.Operations[1].Name)
	}
	if m, _ = made(t, Evidence{Name: "two\nlines", Traces: orders(1)}); m.Name != "two lines" {
		t.Errorf("the model is called %q", m.Name)
	}
}

func TestShow(t *testing.T) {
	var out strings.Builder
	m, _ := made(t, Evidence{Name: "known", Traces: orders(30)})
	for _, m := range []Model{m, parsed(t, example(t, "shop.yaml"))} {
		if err := m.Show(&out); err != nil {
			t.Fatal(err)
		}
		out.WriteString("\n")
	}
	golden := filepath.Join("testdata", "shown.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := example(t, "shown.txt"); out.String() != want {
		t.Errorf("it shows\n%s\nwant\n%s", out.String(), want)
	}
}
