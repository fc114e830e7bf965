package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/load/record"
)

// load runs `cleave load` and returns its exit code, output and story.
func load(t *testing.T, arguments ...string) (code int, out, story string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := exec.Command(filepath.Join(binaries, "cleave"), append([]string{"load"}, arguments...)...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// shop answers everything with 200; /out says so in words.
func shop(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/out":
			_, _ = io.WriteString(w, `{"ok":false,"error":"out of stock"}`)
		case "/slow":
			time.Sleep(200 * time.Millisecond)
		default:
			_, _ = io.WriteString(w, `{"ok":true}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// closedPort is a URL where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return "http://" + listener.Addr().String() + "/"
}

func TestLoadExitCodes(t *testing.T) {
	url := shop(t)
	cases := []struct {
		name      string
		arguments []string
		code      int
		want      string // in output or story
	}{
		{"no load", []string{url}, exitBadPlan, "--rate for an open loop or --users"},
		{"every mistake", []string{url, "-r", "x", "--pacing", "x", "--objective", "x"}, exitBadPlan, "pacing"},
		{"two URLs", []string{url, url}, exitBadPlan, "see cleave help load"},
		{"unknown flag", []string{url, "--fast"}, exitBadPlan, "unknown flag"},
		{"no file", []string{url, "-r", "1", "--body", "@/does/not/exist"}, exitBadPlan, "--body"},
		{"others", []string{"http://192.0.2.1/", "-r", "1"}, exitBadPlan, "docs/consent.md"},
		{"scheme", []string{"https://127.0.0.1/", "-r", "1"}, exitBadPlan, "https"},
		{"search without objective", []string{url, "-r", "1", "--search"}, exitBadPlan, "--search needs --objective"},
		{"nobody listens", []string{closedPort(t), "-r", "10"}, exitFailed, "is the server running"},
		{"failure behind 200", []string{url + "/out", "-r", "20", "-d", "500ms", "--expect-json", "ok=true"}, exitFailed, "out of stock"},
		{"not achieved", []string{url + "/slow", "-r", "50", "-d", "1s", "-c", "1"}, exitLoadNotReached, "the load was not achieved"},
		{"objective", []string{url + "/slow", "-r", "2", "-d", "1s", "--objective", "p50<100ms"}, exitLoadNotReached, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, out, story := load(t, c.arguments...)
			if code != c.code || !strings.Contains(out+story, c.want) {
				t.Errorf("exit code %d, want %d and %q in:\n%s\n%s", code, c.code, c.want, out, story)
			}
		})
	}
}

func TestLoadWritesItsDocuments(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	code, out, story := load(t, shop(t), "-r", "100", "-d", "1500ms", "--expect-body", `"ok":true`, "--arrivals", "poisson",
		"--json", path("load.json"), "--hdr", path("load.hlog"), "--hgrm", path("load.hgrm"))
	if code != exitFine && code != exitLoadNotReached { // a busy host makes the client late
		t.Fatalf("exit code %d\n%s\n%s", code, out, story)
	}
	for _, want := range []string{"response time", "service time", "p99.9", "to contain", "limit "} {
		if !strings.Contains(out, want) {
			t.Errorf("the table does not say %q:\n%s", want, out)
		}
	}
	if !strings.Contains(story, "own cpu") {
		t.Errorf("no line of progress:\n%s", story)
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
	if err := record.ReadLog(log, record.Response, func(l record.Logged) error {
		logged += l.Histogram.TotalCount()
		return nil
	}); err != nil {
		t.Error(err)
	}
	if logged != summary.Sent || summary.Sent == 0 {
		t.Errorf("the log has %d operations, the summary %d", logged, summary.Sent)
	}
	if text, err := os.ReadFile(path("load.hgrm")); err != nil || !strings.Contains(string(text), "Percentile") {
		t.Errorf("percentile text %q, error %v", text, err)
	}
}

func TestLoadPrintsJSONAlone(t *testing.T) {
	for _, arguments := range [][]string{{"-u", "2", "--think", "10ms"}, {"-r", "50"}} {
		code, out, story := load(t, append([]string{shop(t), "-d", "300ms", "--json", "-"}, arguments...)...)
		if code != exitFine && code != exitLoadNotReached {
			t.Errorf("exit code %d\n%s", code, story)
		}
		if err := schema.Validate("load", []byte(out)); err != nil {
			t.Errorf("standard output: %v\n%s", err, out)
		}
	}
}
