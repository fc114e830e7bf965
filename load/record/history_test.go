package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

func TestHistorySaysWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		outcome Outcome
		status  string
		want    string
	}{
		{OK, "200", EndedOK}, {Failed, "200", EndedFail}, {BadStatus, "409", EndedFail},
		{BadStatus, "500", EndedInfo},
		{BadStatus, "5", EndedFail}, {BadStatus, "1", EndedInfo}, {BadStatus, "13", EndedInfo},
		{Rejected, "503", EndedInfo},
		{Rejected, "429", EndedFail}, {Refused, "", EndedFail},
		{Timeout, "", EndedInfo}, {Reset, "", EndedInfo}, {Closed, "", EndedInfo}, {Unfinished, "", EndedInfo},
		{Malformed, "", EndedInfo},
	} {
		r := Row{Outcome: c.outcome, Status: c.status}
		if got := r.End(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.outcome, c.status, got, c.want)
		}
		r.Resent = true // then the first request may have been carried out, whatever the answer to the second
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
	testset.Must(t, errors.Join(h.Write(row), h.Write(warmUp), h.Flush()))
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
