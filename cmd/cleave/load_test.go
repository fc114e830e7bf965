package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/secret"
)

// load runs `cleave load` and returns its exit code, output and messages.
func load(t *testing.T, arguments ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := program("", append([]string{"load"}, arguments...)...)
	command.Stdout = &stdout
	command.Stderr = &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// startWeb starts a server with the handler web, and returns its URL.
func startWeb(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(web))
	t.Cleanup(server.Close)
	return server.URL
}

func TestLoadWritesItsDocuments(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	code, out, errOut := load(t, startWeb(t), "-r", "100", "-d", "1500ms", "--expect-body", `"ok":true`,
		"--arrivals", "poisson",
		"--json", path("load.json"), "--hdr", path("load.hlog"), "--hgrm", path("load.hgrm"))
	if code != exitFine && code != exitLoadNotReached { // a busy host makes the client late
		t.Fatalf("exit code %d\n%s\n%s", code, out, errOut)
	}
	expectTexts(t, "the table", out, "response time", "service time", "p99.9", "to contain", "limit ")
	if !strings.Contains(errOut, "own cpu") {
		t.Errorf("no line of progress:\n%s", errOut)
	}
	text, err := os.ReadFile(path("load.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate("load", text); err != nil {
		t.Error(err)
	}
	var summary record.Summary
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(path("load.hlog"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }() // only read
	var logged int64
	for reader := hdrhistogram.NewHistogramLogReader(log); ; {
		h, err := reader.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		logged += h.TotalCount()
	}
	if logged != summary.Sent || summary.Sent == 0 {
		t.Errorf("the log has %d operations, the summary %d", logged, summary.Sent)
	}
	if text, err := os.ReadFile(path("load.hgrm")); err != nil || !strings.Contains(string(text), "Percentile") {
		t.Errorf("percentile text %q, error %v", text, err)
	}
}

// TestLoadPrintsPercentilesAlone: a plotter can read standard output.
func TestLoadPrintsPercentilesAlone(t *testing.T) {
	code, out, errOut := load(t, startWeb(t), "-d", "300ms", "-r", "50", "--hgrm", "-")
	if code != exitFine && code != exitLoadNotReached {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	if !strings.Contains(out, "Percentile") || strings.Contains(out, "response time") ||
		!strings.Contains(errOut, "response time") {
		t.Errorf("standard output:\n%s\nmessages:\n%s", out, errOut)
	}
}

func TestLoadPrintsJSONAlone(t *testing.T) {
	for _, arguments := range [][]string{{"-u", "2", "--think", "10ms"}, {"-r", "50"}} {
		code, out, errOut := load(t, append([]string{startWeb(t), "-d", "300ms", "--json", "-"}, arguments...)...)
		if code != exitFine && code != exitLoadNotReached {
			t.Errorf("exit code %d\n%s", code, errOut)
		}
		if err := schema.Validate("load", []byte(out)); err != nil {
			t.Errorf("standard output: %v\n%s", err, out)
		}
	}
}

// TestLoadEndsOnSignals: after an interrupt a load of an hour shows the results so far;
// after a kill no agent is left.
func TestLoadEndsOnSignals(t *testing.T) {
	for name, c := range map[string]struct {
		agents bool
		signal os.Signal
		code   int
	}{
		"interrupted":             {false, os.Interrupt, exitInterrupted},
		"interrupted with agents": {true, os.Interrupt, exitInterrupted},
		"killed":                  {true, os.Kill, -1},
	} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list.jsonl")
			arguments := []string{"load", startWeb(t), "-r", "50", "-d", "1h", "--progress", "plain", "--lines", list}
			if c.agents {
				arguments = append(arguments, "--agents", "2")
			}
			command := program("", arguments...)
			var out bytes.Buffer
			command.Stdout = &out
			errOut, err := command.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(errOut).ReadString('\n'); err != nil { // it is under way
				t.Fatal(err)
			}
			agents := descendants(t, command.Process.Pid)
			if c.agents == (len(agents) == 0) {
				t.Errorf("the load has the children %v", agents)
			}
			if err := command.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, errOut)
			var exit *exec.ExitError
			if err := command.Wait(); !errors.As(err, &exit) || exit.ExitCode() != c.code {
				t.Errorf("ended with %v, want %d", err, c.code)
			}
			if c.code == exitInterrupted && !strings.Contains(out.String(), "operations ") {
				t.Errorf("what was done is not shown:\n%s", out.String())
			}
			if text, err := os.ReadFile(list); (err == nil) != (c.code == exitInterrupted) ||
				err == nil && len(text) == 0 {
				t.Errorf("%d bytes in the list, error %v", len(text), err)
			}
			for _, pid := range agents {
				awaitEnd(t, pid)
			}
		})
	}
}

// TestASearchWithAgentsSendsNothingItself: the first load of a search without a rate, which finds where to
// begin, is also played by the agents. These end before they send anything.
func TestASearchWithAgentsSendsNothingItself(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(server.Close)
	code, _, errOut := load(t, server.URL, "--search", "--objective", "p99<1s", "-d", "1s", "--agent", "false")
	if code == exitFine || !strings.Contains(errOut, "false") || asked.Load() > 0 {
		t.Errorf("exit code %d, and this host sent %d requests:\n%s", code, asked.Load(), errOut)
	}
}

// TestEveryLoopHasAUserOfTheFirstLoad of a search without a rate.
func TestEveryLoopHasAUserOfTheFirstLoad(t *testing.T) {
	for want, arguments := range map[int][]string{
		8: {}, 16: {"--loops", "16"}, 12: {"--loops", "4", "--agents", "3"},
	} {
		var flags loadFlags
		command := &cobra.Command{}
		flags.register(command)
		testset.Must(t, command.ParseFlags(append(arguments, "--search")))
		if got, err := flags.load(nil); err != nil || got.Users != want {
			t.Errorf("%q: %d users, error %v, want %d", arguments, got.Users, err, want)
		}
	}
}

// TestAgentsFindTheFirstRate: after the closed loop the agents get an open loop with a rate, which goes on
// with the scenario's values where the closed loop ended (After).
func TestAgentsFindTheFirstRate(t *testing.T) {
	var flags loadFlags
	command := &cobra.Command{}
	flags.register(command)
	testset.Must(t, command.ParseFlags([]string{"--search", "--objective", "p99<1s", "-d", "2s",
		"--agent", filepath.Join(binaries, "cleave") + " agent"}))
	var said strings.Builder
	a := app{errOut: &said, secrets: secret.NewVault(os.LookupEnv)}
	run, err := a.newLoadRun(t.Context(), startWeb(t), &flags)
	testset.Must(t, err)
	testset.Must(t, run.findFirstRate(t.Context()))
	sent := run.group.Job.Spec
	if sent.Load.Rate == "" || sent.Load.Users > 0 || sent.After.Loads == 0 ||
		sent.Load.Duration != scenario.Duration(2*time.Second) || !strings.Contains(said.String(), "8 users get ") {
		t.Errorf("the agents go on with %+v after %+v:\n%s", sent.Load, sent.After, said.String())
	}
}

// awaitEnd waits until a process is gone, or is a zombie.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	await(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

// TestLiveView: the view of the second second replaces that of the first.
func TestLiveView(t *testing.T) {
	var out bytes.Buffer
	view := &liveView{out: &out, duration: 4 * time.Second, errors: map[record.Outcome]int64{}}
	for n := 1; n <= 2; n++ {
		results := record.NewResults(record.Options{Operations: []string{"GET /"}})
		results.From = time.Duration(n-1) * time.Second
		results.To = time.Duration(n) * time.Second
		results.Add(&record.Sample{Outcome: record.Reset, Intended: results.From, Sent: results.From,
			Finished: results.From + time.Millisecond})
		view.draw(view.take(trial.Second{Results: results, CPU: 500 * time.Millisecond}))
	}
	first, rest, again := strings.Cut(out.String(), "\x1b[5A") // moves the cursor up by the five lines
	if !again || strings.Count(first, "\n") != 5 || strings.Count(rest, "\n") != 5 {
		t.Fatalf("the view is not drawn over itself: %q", out.String())
	}
	expectTexts(t, "the view", rest, "[###############---------------]", "2s left", "1/s, 2 in all",
		"p50 1.00 ms", "reset 2", "own cpu 50 %")
}

// TestTheDocumentedScenarioIsValid reads the scenario in docs/load.md.
func TestTheDocumentedScenarioIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "load.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "    schema: cleave-scenario/1\n")
	example, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("docs/load.md shows no scenario")
	}
	example = "schema: cleave-scenario/1\n" + strings.ReplaceAll("\n"+example, "\n    ", "\n")
	file, err := scenario.Parse("docs/load.md", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (trial.Spec{Scenario: *file}).Check(); err != nil {
		t.Error(err)
	}
}

// TestWhyALoadWasNotAchieved: if the generator was the limit, the message says so first.
func TestWhyALoadWasNotAchieved(t *testing.T) {
	offered := 100.0
	for want, s := range map[string]record.Summary{
		"the client, not the system, was the limit: it used 96 %": {OK: 50, Sent: 50, OfferedRate: &offered,
			AchievedRate: 50, Unsent: 50,
			Generator: record.Generator{Limited: true, LimitedBy: []string{"it used 96 %"}}},
		"the load was not achieved: 50/s of 100/s were sent, 50 never": {OK: 50, Sent: 50,
			OfferedRate: &offered, AchievedRate: 50, Unsent: 50},
		"none of 50 operations succeeded": {Sent: 50, OfferedRate: &offered, AchievedRate: 50},
	} {
		if err := judgeLoad(&s, objective.Objective{}, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
