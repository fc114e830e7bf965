package scenario

import (
	"testing"

	"github.com/cleave-lab/cleave/load/record"
)

// round does what an engine does for a flow, without the engine.
type round struct {
	player  *Player
	session *Session
	answer  Answer
}

func newRound(t testing.TB, f *File, answer Answer) round {
	p, s := beginFlow(t, f)
	return round{p, s, answer}
}

func (r *round) play(t testing.TB) {
	r.player.Begin(r.session)
	for more := true; more; {
		if len(r.session.HTTP1()) == 0 {
			t.Fatal("no request")
		}
		outcome, _ := r.session.Judge(&r.answer, false)
		if outcome != record.OK {
			t.Fatal(outcome)
		}
		_, more = r.session.Next(outcome)
	}
}

// oneFixedStep returns a step without values and without extractions.
func oneFixedStep(t testing.TB) round {
	return newRound(t, Single(Step{Request: "GET /items"}), Answer{Status: 200})
}

// oneTracedStep is oneFixedStep with the header traceparent.
func oneTracedStep(t testing.TB) round {
	plan := compiled(t, Single(Step{Request: "GET /items"}), "")
	return round{plan.Player(Origin{Host: "h:80", TraceShare: 1}), new(Session), Answer{Status: 200}}
}

// valueAssertionExtraction returns a step with one value, one assertion and one extraction.
func valueAssertionExtraction(t testing.TB) round {
	f := Single(Step{
		Request: "GET /items/${id}", Expect: Expect{JSON: map[string]string{"ok": "true"}},
		Extract: map[string]Extraction{"token": {JSON: "token"}},
	})
	f.Values = map[string]Value{"id": {UUID: &struct{}{}}}
	return newRound(t, f, Answer{Status: 200, Body: []byte(`{"ok":true,"token":"0123456789abcdef"}`)})
}

// twoStepsWithCookie passes a token and a cookie from one step to the next.
func twoStepsWithCookie(t testing.TB) round {
	f := Single(Step{
		Request: "POST /login", JSON: map[string]any{"name": "${name}"},
		Extract: map[string]Extraction{"token": {JSON: "token"}},
	})
	f.Values = map[string]Value{"name": {Name: &struct{}{}}}
	f.Flows[0].Steps = append(f.Flows[0].Steps, Step{
		Request: "GET /items", Headers: map[string]string{"Authorization": "Bearer ${token}"},
		Expect: Expect{JSON: map[string]string{"token": "${token}"}},
	})
	return newRound(t, f, Answer{
		Status: 200, Body: []byte(`{"ok":true,"token":"0123456789abcdef"}`),
		Header: []byte("Content-Type: application/json\r\nContent-Length: 38\r\nSet-Cookie: session=8f14e45f; " +
			"Path=/; HttpOnly\r\n"),
	})
}

func bench(b *testing.B, r round) {
	b.ReportAllocs()
	for b.Loop() {
		r.play(b)
	}
}

func BenchmarkOneFixedStep(b *testing.B)             { bench(b, oneFixedStep(b)) }
func BenchmarkOneTracedStep(b *testing.B)            { bench(b, oneTracedStep(b)) }
func BenchmarkValueAssertionExtraction(b *testing.B) { bench(b, valueAssertionExtraction(b)) }
func BenchmarkTwoStepsWithCookie(b *testing.B)       { bench(b, twoStepsWithCookie(b)) }

func BenchmarkZipf(b *testing.B) {
	g := newZipf(Zipf{From: 1, To: 1_000_000, Exponent: 1})
	r := newRandom(1, 0, 0)
	b.ReportAllocs()
	for b.Loop() {
		g.draw(r)
	}
}

// TestNothingIsAllocated: the garbage collector must have nothing to do for a
// flow, once a session's buffers have grown.
func TestNothingIsAllocated(t *testing.T) {
	for name, r := range map[string]round{
		"fixed": oneFixedStep(t), "traced": oneTracedStep(t),
		"value, assertion, extraction": valueAssertionExtraction(t),
		"two steps":                    twoStepsWithCookie(t),
	} {
		if n := testing.AllocsPerRun(100, func() { r.play(t) }); n != 0 {
			t.Errorf("%s: %g allocations per flow", name, n)
		}
	}
}
