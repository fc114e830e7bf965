package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/internal/testset"
)

// otlpCollector is a handler that keeps the posted bodies, by path.
type otlpCollector struct {
	mu  sync.Mutex
	got map[string]string
}

func (c *otlpCollector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // an incomplete body fails the checks
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[r.URL.Path] += string(text)
}

// startCollector starts a collector and returns it with the value of --out for it.
func startCollector(t *testing.T) (*otlpCollector, string) {
	t.Helper()
	c := &otlpCollector{got: map[string]string{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, "otlp=" + server.URL
}

// scrapeUntil reads the metrics at an address until they contain a text, for 20 s at most, and returns the
// last ones.
func scrapeUntil(address, text string) string {
	last := ""
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if last = string(body); strings.Contains(last, text) {
			break
		}
	}
	return last
}

// TestALoadIsShownWhileItRuns: cleave load sends its metrics over OTLP and serves them to Prometheus; an
// address in use is refused.
func TestALoadIsShownWhileItRuns(t *testing.T) {
	ports, err := launch.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	c, otlp := startCollector(t)
	address := fmt.Sprintf("127.0.0.1:%d", ports.Numbers[0])
	command := program("", "load", startWeb(t), "-r", "50", "-d", "30s", "--out", otlp, "--out",
		"prometheus="+address)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	text := scrapeUntil(address, "cleave_load_response_time_seconds")
	expectTexts(t, "Prometheus", text, "cleave_load_operations_total ",
		`cleave_load_errors_total{error="timeout"} 0`, `cleave_load_response_time_seconds{quantile="0.99"} `,
		"cleave_load_rate_due ")
	if code, _, errOut := load(t, startWeb(t), "-r", "50", "-d", "1s", "--out", "prometheus="+address); code !=
		exitBadPlan || !strings.Contains(errOut, "address already in use") {
		t.Errorf("an address that is taken: exit code %d, %s", code, errOut)
	}
	_ = command.Process.Signal(os.Interrupt)
	_ = command.Wait() // fails, because it was interrupted
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.got["/v1/metrics"]; !strings.Contains(got, "cleave.load.response_time") {
		t.Errorf("it sends %q", got)
	}
}

// TestAnUnreachableCollectorSpoilsNoLoad: it causes a warning, and the load goes on.
func TestAnUnreachableCollectorSpoilsNoLoad(t *testing.T) {
	code, _, errOut := load(t, startWeb(t), "-r", "50", "-d", "1500ms", "--out", "otlp=http://127.0.0.1:1")
	if code != exitFine && code != exitLoadNotReached ||
		!strings.Contains(errOut, "warning: --out: ") || !strings.Contains(errOut, "did not reach the collector") {
		t.Errorf("exit code %d, %s", code, errOut)
	}
}

// TestOutHasDefaultAddresses: otlp and prometheus without an address stand for the usual one.
func TestOutHasDefaultAddresses(t *testing.T) {
	var out outFlag
	err := errors.Join(out.Set("otlp"), out.Set("prometheus"), out.Set("otlp=http://h:1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "otlp=http://127.0.0.1:4318 prometheus=127.0.0.1:9464 otlp=http://h:1" {
		t.Errorf("they are %s", got)
	}
}

// TestSpansAreSentOnce: each line of a file of spans is sent once, as a document.
func TestSpansAreSentOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[1]") // a name that must not be taken for a glob pattern
	file := filepath.Join(folder, "001-a-p", "spans-orders.jsonl")
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{}\n[]\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	sent := ""
	for range 2 {
		if err := spansIn(folder)(func(document []byte) { sent += string(document) + ";" }); err != nil {
			t.Fatal(err)
		}
	}
	if sent != "{}\n;[]\n;" {
		t.Errorf("it sends %q", sent)
	}
}

// TestAnExperimentIsShownWhileItRuns: an experiment sends its metrics and the spans of its orders over OTLP.
func TestAnExperimentIsShownWhileItRuns(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	c, otlp := startCollector(t)
	dir := t.TempDir()
	const study = `schema: cleave-study/1
name: shown
title: Every order followed
system: shop
baseline: calls
variants:
  calls: {architecture: sync-grpc, knobs: {spans: "1"}}
points: {orders: {orders: 40}}
load: {duration: 1s}
design: {blocks: 1, gates: {steal: 99%, calibration: 99%}}
`
	writeFiles(t, dir, map[string]string{"shown.yaml": study})
	code, printed := finish(t, program(dir, "run", "shown.yaml", "--out", otlp))
	if code != exitFine || strings.Contains(printed, "warning") {
		t.Fatalf("exit code %d\n%s", code, printed)
	}
	for path, wants := range map[string][]string{
		"/v1/metrics": {"cleave.trials", "cleave.trial.completion_time", "cleave.trial.unit.cpu", "inventory"},
		"/v1/traces":  {`"name":"POST /orders"`, `"name":"Inventory/Reserve"`},
	} {
		for _, want := range wants {
			if !strings.Contains(c.got[path], want) {
				t.Errorf("%s has no %q", path, want)
			}
		}
	}
}
