package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/trial"
)

// TestASecondWithoutResults gets an error with a reason.
func TestASecondWithoutResults(t *testing.T) {
	err := (&member{name: "agent 1"}).takeSecond(lab.Event{Data: []byte("{}")})
	want := "agent 1: a second of its load cannot be read: it has no results"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestAnAgentThatSendsNothingInTime(t *testing.T) {
	a := &member{name: "agent 1", events: make(chan lab.Event), group: t.Context()}
	_, err := a.await(t.Context(), lab.EventReport, time.Millisecond)
	if want := `agent 1: it has not sent the event "report" within 1ms`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

const ms = scenario.Duration(time.Millisecond)

// TestMain lets the test program be an agent, too.
func TestMain(m *testing.M) {
	var out io.Writer = os.Stdout
	switch os.Getenv("CLEAVE_TEST_AGENT") {
	case "":
		os.Exit(m.Run())
	case "dies":
		fmt.Fprintln(os.Stderr, "no space left on device")
		os.Exit(3)
	case "mumbles":
		fmt.Println("Welcome to host b!")
	case "never ends":
		fmt.Print(`{"event": "`)
		for part := strings.Repeat("x", 1<<20); ; {
			if _, err := fmt.Print(part); err != nil {
				os.Exit(1)
			}
		}
	case "forgets its rows":
		out = forgetful{out}
	case "dies in its rows":
		out = cut{out}
	}
	if err := Serve(context.Background(), os.Stdin, out, nil, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// program returns a command that starts this program as an agent of a kind; see TestMain.
func program(t *testing.T, kind string) []string {
	t.Helper()
	own, err := os.Executable()
	testset.Must(t, err)
	return []string{"env", "CLEAVE_TEST_AGENT=" + kind, own}
}

// counted returns the URL of a server and the number of requests that it has seen.
func counted(t *testing.T) (url string, seen *atomic.Int64) {
	t.Helper()
	seen = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		if r.URL.Path == "/missing" {
			http.Error(w, "no such\nthing", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, r.URL.Query().Get("n"))
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// jobFor returns an open load of 100 flows in half a second.
func jobFor(t *testing.T, url string) Job {
	t.Helper()
	file, err := trial.Request{URL: url}.Scenario()
	testset.Must(t, err)
	file.Seed = 1
	return Job{Schema: Schema, Spec: trial.Spec{Scenario: file,
		Load: scenario.Load{Rate: "200", Duration: 500 * ms}, Connections: 8}}
}

// TestAgentsShareOneLoad: the seconds have as many operations as the server saw, and there are as many
// rows of all agents, with all values of each. There are more rows than fit one event.
func TestAgentsShareOneLoad(t *testing.T) {
	url, seen := counted(t)
	open := jobFor(t, url)
	open.Spec.Load.Rate = "3000"
	users := jobFor(t, url)
	users.Spec.Load = scenario.Load{Users: 5, Think: ms, Duration: 500 * ms}
	loops := open
	loops.Spec.Loops = 2
	for name, job := range map[string]Job{"open": open, "users": users, "loops": loops} {
		t.Run(name, func(t *testing.T) {
			seen.Store(0)
			agent := program(t, "agent")
			var streamed int64
			rows := gathered{}
			o, err := Group{Commands: [][]string{agent, agent, agent}, Job: job}.Play(t.Context(),
				Listeners{Row: rows.gather, Second: func(s trial.Second) error {
					streamed += s.Results.Sent(record.All)
					return nil
				}})
			testset.Must(t, err)
			s := o.Summary
			if s.Sent != seen.Load() || s.Sent != s.OK || streamed != s.Sent || rows.number() != s.Sent {
				t.Errorf("%d sent, %d ok, %d streamed, %d rows; the server saw %d", s.Sent, s.OK, streamed,
					rows.number(), seen.Load())
			}
			for _, agent := range []string{"agent 1", "agent 2", "agent 3"} {
				checkRows(t, agent, rows[agent])
			}
			if name != "users" && (s.Sent+s.Unsent != 1500 || *s.OfferedRate != 3000) {
				t.Errorf("%d sent and %d unsent, want 1500; %g/s offered, want 3000/s", s.Sent, s.Unsent,
					*s.OfferedRate)
			}
			if name == "users" && (s.Closed == nil || s.Closed.Users != 5) {
				t.Errorf("closed loop %+v, want 5 users", s.Closed)
			}
			if g := s.Generator; g.Agents != 3 || g.Loops != 3*max(1, job.Spec.Loops) || g.PeakMemory == 0 ||
				g.CPUSeconds == 0 {
				t.Errorf("generator %+v", g)
			}
		})
	}
}

// TestJoiningLosesNothing: the joined histograms are the sum of the parts, value
// by value.
func TestJoiningLosesNothing(t *testing.T) {
	url, _ := counted(t)
	job := jobFor(t, url)
	whole, err := job.Spec.Check()
	testset.Must(t, err)
	var parts []trial.Outcome
	names := []string{"a", "b"}
	counts := map[int64]int64{}
	for i, name := range names {
		spec := job.Spec
		spec.Part = i
		spec.Of = len(names)
		prepared, err := spec.Prepare(t.Context())
		testset.Must(t, err)
		played, err := prepared.Play(t.Context(), trial.Hooks{})
		testset.Must(t, err)
		for _, bar := range played.Results.Times(record.Response, record.All).Distribution() {
			counts[bar.From] += bar.Count
		}
		// in the form in which it is sent
		text, err := json.Marshal(Report{Schema: Schema, Outcome: played})
		testset.Must(t, err)
		report, err := ReadReport(lab.UnitReport{Unit: name, Data: text})
		testset.Must(t, err)
		parts = append(parts, report.Outcome)
	}
	sum, err := whole.Join(names, parts)
	testset.Must(t, err)
	if sum.Summary.Sent+sum.Summary.Unsent != 100 {
		t.Errorf("%d sent and %d unsent, want 100", sum.Summary.Sent, sum.Summary.Unsent)
	}
	for _, bar := range sum.Results.Times(record.Response, record.All).Distribution() {
		if bar.Count != counts[bar.From] {
			t.Errorf("%d values from %d ns on, want %d", bar.Count, bar.From, counts[bar.From])
		}
	}
}

func TestAgentsThatDisagreeCannotBeJoined(t *testing.T) {
	url, _ := counted(t)
	job := jobFor(t, url)
	whole, err := job.Spec.Check()
	testset.Must(t, err)
	var parts []trial.Outcome
	for _, operation := range []string{"GET /", "GET /other"} {
		results := record.NewResults(record.Options{Operations: []string{operation}})
		parts = append(parts, trial.Outcome{Results: results})
	}
	if _, err := whole.Join([]string{"a", "b"}, parts); err == nil ||
		!strings.Contains(err.Error(), "b disagrees with a") {
		t.Errorf("error %v", err)
	}
}

func TestAgentsThatFailFailTheLoad(t *testing.T) {
	url, _ := counted(t)
	fine := jobFor(t, url)
	refused := jobFor(t, "http://192.0.2.1/")
	for name, c := range map[string]struct {
		agents [][]string
		job    Job
		want   []string
	}{
		"dies": {[][]string{program(t, "agent"), program(t, "dies")}, fine,
			[]string{"agent 2 (env CLEAVE_TEST_AGENT=dies", "exit status 3", "no space left on device"}},
		"mumbles": {[][]string{program(t, "mumbles")}, fine, []string{"agent 1", "no event"}},
		"never ends": {[][]string{program(t, "never ends")}, fine,
			[]string{"agent 1", "more than 67108864 bytes at once"}},
		"missing": {[][]string{{"/does/not/exist"}}, fine, []string{"agent 1 (/does/not/exist)"}},
		"refused": {[][]string{program(t, "agent")}, refused, []string{"agent 1", "docs/consent.md"}},
		"dies in its rows": {[][]string{program(t, "agent"), program(t, "dies in its rows")}, fine,
			[]string{"agent 2 (", "it ended early: exit status 3", "out of memory"}},
		"forgets its rows": {[][]string{program(t, "agent"), program(t, "forgets its rows")}, fine,
			[]string{"agent 2 (", "and handed in a list of 0", "use the same version"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := Group{Commands: c.agents, Job: c.job}.Play(t.Context(), Listeners{Row: gathered{}.gather})
			if err == nil || o.Results != nil {
				t.Fatalf("error %v, results %v", err, o.Results)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// TestAChildThatKeepsTheOutputOpen is not waited for, neither in the agent's process group nor outside it, as
// an ssh that shares its connection.
func TestAChildThatKeepsTheOutputOpen(t *testing.T) {
	for _, child := range []string{"sleep 60", "setsid sleep 60"} {
		t.Run(child, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			a, err := start(t.Context(), 0, []string{"sh", "-c", child + " & echo $! > " + file})
			testset.Must(t, err)
			begun := time.Now()
			a.stop()
			if took := time.Since(begun); took > 30*time.Second {
				t.Errorf("stopping took %v", took)
			}
			text, err := os.ReadFile(file)
			testset.Must(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			testset.Must(t, err)
			if strings.HasPrefix(child, "setsid") { // the other is dead
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// TestStoppedAgentsHandInWhatTheyDid stops a load that would last an hour.
func TestStoppedAgentsHandInWhatTheyDid(t *testing.T) {
	url, seen := counted(t)
	job := jobFor(t, url)
	job.Spec.Load.Duration = scenario.Duration(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows := gathered{}
	agent := program(t, "agent")
	o, err := Group{Commands: [][]string{agent, agent}, Job: job}.Play(ctx,
		Listeners{Row: rows.gather, Second: func(trial.Second) error {
			cancel()
			return nil
		}})
	if !errors.Is(err, context.Canceled) || o.Results == nil {
		t.Fatalf("error %v, results %v", err, o.Results)
	}
	if s := o.Summary; s.Sent == 0 || s.Sent != seen.Load() || s.Sent != rows.number() {
		t.Errorf("%d sent, %d rows, the server saw %d", s.Sent, rows.number(), seen.Load())
	}
}

// TestAgentsGoOnWhereOthersEnded: the agents of a probe use no value that the agents of the probe before
// have used.
func TestAgentsGoOnWhereOthersEnded(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.URL.Path]++
	}))
	t.Cleanup(server.Close)
	job := jobFor(t, server.URL)
	from := int64(1)
	job.Spec.Scenario.Values = map[string]scenario.Value{"user": {Sequence: &from}, "key": {UUID: &struct{}{}}}
	job.Spec.Scenario.Flows[0].Steps[0].Request = "GET /${user}"
	job.Spec.Scenario.Flows[0].Steps = append(job.Spec.Scenario.Flows[0].Steps,
		scenario.Step{Request: "GET /${key}"})
	agent := program(t, "agent")
	for range 2 {
		o, err := Group{Commands: [][]string{agent, agent}, Job: job}.Play(t.Context(), Listeners{})
		testset.Must(t, err)
		job.Spec.After = o.Progress
	}
	for path, times := range seen {
		if times > 1 {
			t.Fatalf("%s was sent %d times among %d", path, times, len(seen))
		}
	}
}
