package unit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

func TestEventsAreLinesOfJSON(t *testing.T) {
	var out bytes.Buffer
	c := NewChannel(strings.NewReader(""), &out)
	profile := filepath.Join(t.TempDir(), "profile")
	err := errors.Join(os.WriteFile(profile, []byte("x"), 0o600), c.Ready(), c.Finished(1500*time.Millisecond),
		c.ReportWithProfile("", map[string]int{"n": 1}), c.ReportWithProfile(profile, map[string]int{"n": 2}),
		c.Failed(errors.New("no luck")))
	testset.Must(t, err)
	want := `{"event":"ready"}
{"event":"finished","elapsed_seconds":1.5}
{"event":"report","data":{"n":1}}
{"event":"file","data":{"file":"profile","data":"eA=="}}
{"event":"report","data":{"n":2}}
{"event":"failed","error":"no luck"}
`
	if out.String() != want {
		t.Errorf("events:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestAwait(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"the awaited command": {`{"command":"start"}`, ""},
		"another command":     {`{"command":"stop"}`, `got command "stop", want "start"`},
		"the end":             {"", ErrGone.Error()},
		"half a command":      {`{"command":"start"`, ErrGone.Error()},
		"no JSON":             {"start", "read command"},
	} {
		t.Run(name, func(t *testing.T) {
			err := NewChannel(strings.NewReader(test.in), &bytes.Buffer{}).Await(lab.CommandStart)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Await: %v, want %q", err, test.want)
			}
		})
	}
}

// TestAwaitAnswersClockCommands: Await answers a clock command and waits on.
func TestAwaitAnswersClockCommands(t *testing.T) {
	var out bytes.Buffer
	before := time.Now()
	c := NewChannel(strings.NewReader(`{"command":"clock"}{"command":"start"}`), &out)
	testset.Must(t, c.Await(lab.CommandStart))
	var event lab.Event
	var answer lab.ClockAnswer
	testset.Must(t, errors.Join(json.Unmarshal(out.Bytes(), &event), json.Unmarshal(event.Data, &answer)))
	at := time.Unix(0, answer.Nanoseconds)
	if event.Event != lab.EventClock || at.Before(before) || time.Since(at) < 0 {
		t.Errorf("the unit sent %s", out.String())
	}
	if run, err := os.ReadFile(lab.KernelRun); err == nil && strings.TrimSpace(string(run)) != answer.KernelRun {
		t.Errorf("kernel run %q, want %q", answer.KernelRun, run)
	}
}

func TestAddressesComeFromTheEnvironment(t *testing.T) {
	t.Setenv("CLEAVE_ADDRESS_STOCK_VIEWS", "127.0.0.1:20001")
	if address, err := PeerAddress("stock-views"); err != nil || address != "127.0.0.1:20001" {
		t.Errorf("PeerAddress = %q, %v", address, err)
	}
	if _, err := PeerAddress("orders"); err == nil ||
		!strings.Contains(err.Error(), "CLEAVE_ADDRESS_ORDERS is not set") {
		t.Errorf("PeerAddress of a missing unit: %v", err)
	}
}
