package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestTapHandsOnEverySample: the writer begins when the loop has filled all of the
// memory and waits.
func TestTapHandsOnEverySample(t *testing.T) {
	const n = 3 * batch * batches
	recorder := newRecorder(t, Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	go func() {
		for i := range n {
			recorder.Record(Sample{Finished: time.Duration(i)})
		}
		recorder.Close(time.Second)
	}()
	for end := time.Now().Add(time.Minute); len(tap.full) < batches; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d batches are full after a minute", len(tap.full), batches)
		}
	}
	next := time.Duration(0)
	if err := tap.Each(func(s *Sample) error {
		if s.Finished != next {
			t.Fatalf("sample %v, want %v", s.Finished, next)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if next != n {
		t.Errorf("%d samples, want %d", next, n)
	}
	if times, _ := tap.Waits(); times == 0 {
		t.Error("the loop did not wait for the writer, or did not count it")
	}
	if _, err := Collect(nil, recorder); err != nil {
		t.Error(err)
	}
}

// TestTapGoesOnAfterAnError: a full disk must not stop the load.
func TestTapGoesOnAfterAnError(t *testing.T) {
	recorder := newRecorder(t, Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	ended := make(chan error)
	calls := 0
	full := errors.New("disk full")
	go func() { ended <- tap.Each(func(*Sample) error { calls++; return full }) }()
	for range 2 * batch * batches {
		recorder.Record(Sample{})
	}
	recorder.Close(time.Second)
	if err := <-ended; !errors.Is(err, full) || calls != 1 {
		t.Errorf("error %v after %d calls, want the first and no more", err, calls)
	}
}

// TestTapHandsOnEverySecond: what a slow load has done is handed on every second.
func TestTapHandsOnEverySecond(t *testing.T) {
	recorder := newRecorder(t, Options{Operations: []string{"GET /"}})
	tap := recorder.Tap()
	recorder.Record(Sample{})
	recorder.Tick(time.Second)
	if got := <-tap.full; len(got) != 1 {
		t.Errorf("%d samples, want 1", len(got))
	}
}

func TestHistorySaysWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		status  string
		want    string
	}{
		{OK, "200", EndedOK}, {Failed, "200", EndedFail}, {BadStatus, "409", EndedFail},
		{BadStatus, "500", EndedInfo},
		{BadStatus, "5", EndedFail}, {BadStatus, "13", EndedInfo}, {Rejected, "503", EndedInfo},
		{Rejected, "429", EndedFail}, {Refused, "", EndedFail},
		{Timeout, "", EndedInfo}, {Reset, "", EndedInfo}, {Closed, "", EndedInfo}, {Unfinished, "", EndedInfo},
		{Malformed, "", EndedInfo},
	} {
		r := Row{Outcome: c.outcome, Status: c.status}
		if got := r.End(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.outcome, c.status, got, c.want)
		}
		r.Resent = true // then the first request may have done it, whatever the second was told
		if got := r.End(); (got == EndedOK) != (c.outcome == OK) || got == EndedFail {
			t.Errorf("%s %s, sent again: %s", c.outcome, c.status, got)
		}
	}
}

func TestHistoryIsLinesOfJSON(t *testing.T) {
	var out bytes.Buffer
	h := NewHistoryWriter(&out)
	row := Row{Operation: "order", Outcome: Timeout, Started: time.Unix(5, 41), Intended: 1, Sent: 2,
		Finished: 3, Noted: []byte(`{"key":"7"}`)}
	warmUp := row
	warmUp.WarmUp = true
	must(t, errors.Join(h.Write(row), h.Write(warmUp), h.Flush()))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var a Attempt
	if err := json.Unmarshal([]byte(lines[0]), &a); err != nil || len(lines) != 2 {
		t.Fatalf("error %v in %q", err, lines)
	}
	if a.Begun != 5*int64(time.Second)+40 || a.WarmUp || !strings.Contains(lines[1], `"warm_up":true`) {
		t.Errorf("attempt %+v, want one of a load that began at 5 s and 40 ns, and then one of a warm-up", a)
	}
	if a.Operation != "order" || a.End != EndedInfo || a.Outcome != "timeout" || a.Intended != 1 ||
		a.Sent != 2 || a.Finished != 3 || string(a.Noted) != `{"key":"7"}` {
		t.Errorf("attempt %+v", a)
	}
}
