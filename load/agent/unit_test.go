package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/unit"
)

// driven is an agent that the test drives as a deployer does.
type driven struct {
	t      *testing.T
	input  *io.PipeWriter
	events *json.Decoder
	ended  chan error
	handed []byte           // the history that it has handed over so far
	loaded []lab.LoadSecond // the seconds that it has reported while it played
}

// serve starts an agent on a job.
func serve(t *testing.T, job *Job) *driven {
	t.Helper()
	in, input := io.Pipe()
	events, out := io.Pipe()
	u := &driven{t: t, input: input, events: json.NewDecoder(events), ended: make(chan error, 1)}
	go func() {
		err := Serve(t.Context(), in, out, job, nil)
		_ = out.Close()
		u.ended <- err
	}()
	return u
}

// ready starts an agent on a job and waits until it is ready.
func ready(t *testing.T, job *Job) *driven {
	t.Helper()
	u := serve(t, job)
	u.expect(lab.EventReady)
	return u
}

// expect reads events until one of a kind.
func (u *driven) expect(kind lab.EventKind) lab.Event {
	u.t.Helper()
	for {
		var event lab.Event
		if err := u.events.Decode(&event); err != nil {
			u.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if event.Event == kind {
			return event
		}
		switch event.Event {
		case eventSecond:
		case lab.EventLoaded:
			var second lab.LoadSecond
			testset.Must(u.t, json.Unmarshal(event.Data, &second))
			u.loaded = append(u.loaded, second)
		case lab.EventFile:
			var piece lab.FilePiece
			if err := json.Unmarshal(event.Data, &piece); err != nil || piece.File != "history.jsonl" {
				u.t.Fatalf("it hands over %.80s, error %v", event.Data, err)
			}
			u.handed = append(u.handed, piece.Data...)
		default:
			u.t.Fatalf("event %s %s, want %s", event.Event, event.Error, kind)
		}
	}
}

func (u *driven) command(kind lab.CommandKind) {
	u.t.Helper()
	testset.Must(u.t, json.NewEncoder(u.input).Encode(lab.Command{Command: kind}))
}

// play has an agent that is ready play its load and returns its report.
func (u *driven) play() Report {
	u.t.Helper()
	u.command(lab.CommandStart)
	u.expect(lab.EventFinished)
	return u.report()
}

// report ends an agent that has played and returns its report.
func (u *driven) report() Report {
	u.t.Helper()
	u.command(lab.CommandStop)
	report, err := ReadReport(lab.UnitReport{Data: u.expect(lab.EventReport).Data})
	testset.Must(u.t, errors.Join(err, <-u.ended))
	return report
}

// TestGeneratorUnit plays an agent's part in an experiment: the address comes from
// the environment, the target is awaited, a warm-up is not counted, and what
// steps noted is in the history.
func TestGeneratorUnit(t *testing.T) {
	url, seen := counted(t)
	dir := t.TempDir()
	t.Setenv(lab.PeerVariable("front-door"), strings.TrimPrefix(url, "http://"))
	t.Setenv("CLEAVE_DIR", dir)
	job := jobFor(t, "http://somewhere.test/?n=1")
	job.Unit = "front-door"
	job.Warmup = 100 * ms
	job.History = "history.jsonl"
	job.Loaded = true
	job.Await = Await{For: scenario.Duration(time.Minute), Path: "/healthz"}
	job.Files = map[string][]byte{"times": nil}
	u := ready(t, &job)
	if files, err := filepath.Glob(filepath.Join(dir, "cleave-agent-*", "times")); err != nil ||
		len(files) != 1 {
		t.Errorf("its files are %q, %v; want one in the trial's folder", files, err)
	}
	u.command(lab.CommandStart)
	if elapsed := u.expect(lab.EventFinished).ElapsedSeconds; elapsed < 0.495 { // when the last flow is due
		t.Errorf("finished after %g s", elapsed)
	}
	report := u.report()
	s := report.Outcome.Summary
	if s.Sent+s.Unsent != 100 || seen.Load() <= s.Sent {
		t.Errorf("%d sent and %d unsent, want 100; the server saw %d, want more: a probe and the warm-up", s.Sent,
			s.Unsent, seen.Load())
	}
	if n := len(report.Course); n != 1 || report.Course[0].OK != s.OK || report.Course[0].Median == nil {
		t.Errorf("the course of half a second has %d slices: %+v, want one with %d operations", n, report.Course,
			s.OK)
	}
	if len(u.loaded) != 1 || u.loaded[0].OK != s.OK || u.loaded[0].Failed != s.Sent-s.OK {
		t.Errorf("while it played, it reported %+v, want one second with %d operations", u.loaded, s.OK)
	}
	text := u.handed
	if n := bytes.Count(text, []byte("\n")); int64(n) != seen.Load()-1 || int64(n) <= s.Sent ||
		!bytes.Contains(text, []byte(`"end":"ok","outcome":"ok","status":"200"`)) {
		t.Errorf("%d lines of history for %d operations, the warm-up's and a probe among the %d requests:\n%.300s",
			n, s.Sent, seen.Load(), text)
	}
}

// TestTheNetworkBeforeASystemIsHeld: the requests go through a relay that delays them, and a probe proves
// that: the relay refuses one that took less.
func TestTheNetworkBeforeASystemIsHeld(t *testing.T) {
	url, _ := counted(t)
	t.Setenv(lab.PeerVariable("front"), strings.TrimPrefix(url, "http://"))
	t.Setenv(lab.NetworkVariable, `{"delay_seconds":0.02}`)
	job := jobFor(t, "http://somewhere.test/")
	job.Unit = "front"
	u := ready(t, &job)
	report := u.play()
	s := report.Outcome.Summary
	if s.OK == 0 || *s.ServiceTime.P50 < 0.02 || !strings.Contains(report.Network, "1 bytes took ") {
		t.Errorf("%d were answered, half of them within %v s; the probe: %q", s.OK, *s.ServiceTime.P50,
			report.Network)
	}
}

func TestGeneratorUnitSearches(t *testing.T) {
	url, _ := counted(t)
	job := jobFor(t, url)
	job.Search = true
	job.Objective = "p50<0.000001ms" // nothing is so fast
	job.Spec.Load.Duration = 100 * ms
	u := ready(t, &job)
	u.command(lab.CommandStart)
	var event lab.Event
	for event.Event == "" || event.Event == eventSecond {
		testset.Must(t, u.events.Decode(&event))
	}
	if event.Event == lab.EventFailed && strings.Contains(event.Error, "the client, not the system") {
		return // on a busy host
	}
	report := u.report()
	if c := report.Outcome.Summary.Capacity; c == nil || c.Rate != nil || len(c.Probes) == 0 {
		t.Errorf("capacity %+v, want that no rate met the objective", c)
	}
}

// TestWhatASearchFindsIsConfirmed: a longer load is played at the rate that was found, also in
// experiments, unless the effort of the search is low.
func TestWhatASearchFindsIsConfirmed(t *testing.T) {
	url, _ := counted(t)
	for votes, confirmed := range map[int]bool{0: true, 1: false} {
		job := jobFor(t, url)
		job.Search = true
		job.Objective = "rate<150"
		job.Resolution = 2
		job.Votes = votes
		job.Spec.Load.Duration = 100 * ms
		job.Spec.Load.Rate = "100"
		u := ready(t, &job)
		report := u.play()
		probes := report.Outcome.Summary.Capacity.Probes
		if last := probes[len(probes)-1]; last.Confirms != confirmed {
			t.Errorf("with %d votes the last load is %+v, want that it confirms: %v", votes, last, confirmed)
		}
	}
}

func TestUnitsThatCannotBegin(t *testing.T) {
	url, _ := counted(t)
	for name, c := range map[string]struct {
		change func(*Job)
		want   string
	}{
		"no address": {func(j *Job) { j.Unit = "nobody" }, "CLEAVE_ADDRESS_NOBODY"},
		"not there": {func(j *Job) { j.Spec.Target = "http://127.0.0.1:1"; j.Await.For = 30 * ms },
			"is not there after 30ms"},
		"look there": {func(j *Job) {
			j.Spec.Target = "http://127.0.0.1:1"
			j.Await = Await{For: 30 * ms, Look: "look there"}
		}, "connection refused: look there"},
		"not well": {func(j *Job) { j.Await = Await{For: 30 * ms, Path: "/missing"} },
			"GET /missing: status 404 Not Found, and the answer says: no such thing"},
		"objective": {func(j *Job) { j.Objective = "x" }, "objective"},
		"load":      {func(j *Job) { j.Spec.Load.Rate = "x" }, `rate "x"`},
		"list":      {func(j *Job) { j.Allow = "x: 1" }, "allow list"},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobFor(t, url)
			c.change(&job)
			u := serve(t, &job)
			if event := u.expect(lab.EventFailed); !strings.Contains(event.Error, c.want) {
				t.Errorf("failed with %q, want %q", event.Error, c.want)
			}
			if err := <-u.ended; err == nil {
				t.Error("no error")
			}
		})
	}
}

// TestTheEndOfItsInputEndsAnAgent in every state.
func TestTheEndOfItsInputEndsAnAgent(t *testing.T) {
	url, _ := counted(t)
	for _, state := range []string{"without a job", "ready", "playing"} {
		t.Run(state, func(t *testing.T) {
			job := jobFor(t, url)
			job.Spec.Load.Duration = scenario.Duration(time.Hour)
			job.Seconds = true
			given := &job
			if state == "without a job" {
				given = nil
			}
			u := serve(t, given)
			if state != "without a job" {
				u.expect(lab.EventReady)
			}
			if state == "playing" {
				u.command(lab.CommandStart)
				u.expect(eventSecond)
			}
			testset.Must(t, u.input.Close())
			for { // it may still send events
				var event lab.Event
				if err := u.events.Decode(&event); err != nil {
					break
				}
			}
			if err := <-u.ended; !errors.Is(err, unit.ErrGone) {
				t.Errorf("ended with %v, want unit.ErrGone", err)
			}
		})
	}
}

// TestAgentsOutliveNoLeader kills the leader, as the kernel may do.
func TestAgentsOutliveNoLeader(t *testing.T) {
	url, _ := counted(t)
	job := jobFor(t, url)
	job.Spec.Load.Duration = scenario.Duration(time.Hour)
	job.Seconds = true
	line, err := json.Marshal(job)
	testset.Must(t, err)
	agent := program(t, "agent")
	// The shell stands for the leader as the agent's parent. The test holds the pipe to the agent's standard
	// input for it, and closes the pipe as the kernel does when a leader is killed.
	leader := exec.Command("sh", "-c", `"$@" & wait`, "sh", "sh", "-c", `exec "$@" <&3`, "sh")
	leader.Args = append(leader.Args, agent...)
	read, write, err := os.Pipe()
	testset.Must(t, err)
	leader.ExtraFiles = []*os.File{read}
	out, err := leader.StdoutPipe()
	testset.Must(t, err)
	testset.Must(t, leader.Start())
	if _, err := write.Write(append(line, []byte("\n{\"command\":\"start\"}\n")...)); err != nil {
		t.Fatal(err)
	}
	events := json.NewDecoder(out)
	for kind := lab.EventKind(""); kind != eventSecond; {
		var event lab.Event
		testset.Must(t, events.Decode(&event))
		kind = event.Event
	}
	testset.Must(t, errors.Join(leader.Process.Kill(), write.Close(), read.Close()))
	// Its output ends when it does.
	if _, err := io.Copy(io.Discard, io.MultiReader(events.Buffered(), out)); err != nil &&
		!errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	if err := leader.Wait(); err == nil {
		t.Error("the leader was not killed")
	}
}
