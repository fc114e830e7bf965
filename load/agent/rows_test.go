package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// forgetful is the output of an agent that hands in no rows, like an agent of a version without rows.
type forgetful struct{ io.Writer }

func (f forgetful) Write(event []byte) (int, error) {
	if bytes.Contains(event, []byte(`"event":"rows"`)) {
		return len(event), nil
	}
	return f.Writer.Write(event)
}

// cut is the output of an agent that dies in the middle of its first rows.
type cut struct{ io.Writer }

func (c cut) Write(event []byte) (int, error) {
	if bytes.Contains(event, []byte(`"event":"rows"`)) {
		_, _ = c.Writer.Write(event[:len(event)/2])
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	}
	return c.Writer.Write(event)
}

// gathered holds the rows of a load by agent.
type gathered map[string][]record.Row

func (g gathered) gather(r record.Row) error {
	g[r.Agent] = append(g[r.Agent], r)
	return nil
}

func (g gathered) number() (n int64) {
	for _, rows := range g {
		n += int64(len(rows))
	}
	return n
}

// checkRows checks the rows of one agent: those of each loop are in the order in which their operations
// ended.
func checkRows(t *testing.T, agent string, rows []record.Row) {
	t.Helper()
	if len(rows) == 0 {
		t.Fatalf("no rows of %s", agent)
	}
	ended := map[string][]int64{}
	for _, r := range rows {
		loop, _, _ := strings.Cut(r.Loop, "-")
		ended[loop] = append(ended[loop], int64(r.Finished))
		if r.Status != "200" || r.Outcome != record.OK || r.Operation == "" || r.Elapsed <= 0 ||
			r.Started.IsZero() {
			t.Fatalf("%s has the row %+v", agent, r)
		}
	}
	for loop, times := range ended {
		if !slices.IsSorted(times) {
			t.Errorf("the rows of %s of %s are not in the order of their ends", loop, agent)
		}
	}
}

func TestRowsThatCannotBeRead(t *testing.T) {
	for _, data := range []string{``, `{}`, `"no base64!"`, `"AAAA"`} {
		if rows, err := readRows([]byte(data)); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %d rows, error %v", data, len(rows), err)
		}
	}
}

// TestAListThatCannotBeWrittenIsReported: the error comes after the first failed write, and again with the
// results.
func TestAListThatCannotBeWrittenIsReported(t *testing.T) {
	url, _ := counted(t)
	full := errors.New("no space left")
	calls := 0
	o, err := Group{Commands: [][]string{program(t, "agent")}, Job: jobFor(t, url)}.Play(t.Context(),
		Listeners{Row: func(record.Row) error {
			calls++
			return full
		}})
	if !errors.Is(err, full) || o.Results == nil || calls != 1 {
		t.Errorf("error %v, results %v, %d calls", err, o.Results, calls)
	}
}

// TestRowsComeInParts: no row comes after the load. The list leaves out the rows of the warm-up; a
// history has them.
func TestRowsComeInParts(t *testing.T) {
	url, seen := counted(t)
	job := jobFor(t, url)
	t.Setenv("CLEAVE_DIR", t.TempDir())
	job.Rows = true
	job.Warmup = 100 * ms
	job.History = "history.jsonl"
	job.Spec.Load = scenario.Load{Rate: "3000", Duration: 500 * ms}
	u := ready(t, &job)
	warm := seen.Load()
	u.command(lab.CommandStart)
	var parts, listed int64
	for {
		var event lab.Event
		testset.Must(t, u.events.Decode(&event))
		if event.Event == lab.EventFinished {
			break
		}
		rows, err := readRows(event.Data)
		if event.Event != eventRows || err != nil || len(rows) > rowsAtOnce {
			t.Fatalf("event %s with %d rows, error %v", event.Event, len(rows), err)
		}
		parts, listed = parts+1, listed+int64(len(rows))
	}
	report := u.report()
	text := u.handed
	sent := report.Outcome.Summary.Sent
	attempts := int64(bytes.Count(text, []byte("\n")))
	if listed != sent || parts != (sent+rowsAtOnce-1)/rowsAtOnce || attempts != warm+sent ||
		attempts != seen.Load() {
		t.Errorf("%d rows in %d parts for %d operations, %d in the history; the server saw %d, %d to warm up",
			listed, parts, sent, attempts, seen.Load(), warm)
	}
}
