package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/progress"
)

// collector is a server that receives figures and spans over OTLP.
type collector struct {
	mu      sync.Mutex
	figures map[string]float64 // by name and labels
	spans   []string
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if r.URL.Path == "/v1/traces" {
		c.spans = append(c.spans, string(body))
		return
	}
	request := pmetricotlp.NewExportRequest()
	if err == nil {
		err = request.UnmarshalProto(body)
	}
	if err != nil || r.URL.Path != "/v1/metrics" {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	c.figures = map[string]float64{}
	for _, metric := range request.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		var points pmetric.NumberDataPointSlice
		if metric.Type() == pmetric.MetricTypeSum {
			points = metric.Sum().DataPoints()
		} else {
			points = metric.Gauge().DataPoints()
		}
		for _, p := range points.All() {
			labels := p.Attributes().AsRaw()
			name := metric.Name()
			for _, label := range slices.Sorted(maps.Keys(labels)) {
				name += fmt.Sprintf(" %s=%v", label, labels[label])
			}
			c.figures[name] = p.DoubleValue()
		}
	}
}

// shown returns figures of each kind.
func shown() []Figure {
	took := func(quantile string, seconds float64) Figure {
		return Figure{Name: "cleave.load.time", Help: "time", Unit: "s", Value: seconds,
			Labels: map[string]string{"quantile": quantile}}
	}
	return []Figure{{Name: "cleave.load.operations", Help: "operations sent", Total: true, Value: 7},
		took("0.5", 0.5), took(`"x`, 0.9)}
}

// open parses targets and opens them.
func open(t *testing.T, texts ...string) *Outs {
	t.Helper()
	var targets []Target
	for _, text := range texts {
		target, err := ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		targets = append(targets, target)
	}
	outs, err := Open(targets)
	if err != nil {
		t.Fatal(err)
	}
	return outs
}

func TestFiguresGoOverOTLP(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	outs := open(t, "otlp="+server.URL+"/")
	outs.Show(shown())
	if err := outs.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"cleave.load.operations": 7, "cleave.load.time quantile=0.5": 0.5,
		`cleave.load.time quantile="x`: 0.9}
	if !maps.Equal(c.figures, want) {
		t.Errorf("it got %v, want %v", c.figures, want)
	}
}

func TestPrometheusScrapesFigures(t *testing.T) {
	outs := open(t, "prometheus=127.0.0.1:0")
	url := "http://" + outs.scrapers[0].address + "/metrics"
	for _, want := range []string{"", "# HELP cleave_load_operations_total operations sent\n" +
		"# TYPE cleave_load_operations_total counter\ncleave_load_operations_total 7\n" +
		"# HELP cleave_load_time_seconds time\n# TYPE cleave_load_time_seconds gauge\n" +
		"cleave_load_time_seconds{quantile=\"\\\"x\"} 0.9\ncleave_load_time_seconds{quantile=\"0.5\"} 0.5\n"} {
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if !strings.HasSuffix(string(text), want) || want == "" && len(text) > 0 {
			t.Errorf("it answers\n%s\nwant\n%s", text, want)
		}
		outs.Show(shown())
	}
	if err := outs.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it still listens")
	}
}

// TestASlowCollectorIsNotWaitedFor: messages that are dropped are counted, and reported at the end.
func TestASlowCollectorIsNotWaitedFor(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	outs := open(t, "otlp="+server.URL)
	began := time.Now()
	for range maxWaiting + 100 {
		outs.Show(nil)
	}
	if took := time.Since(began); took > sendPatience {
		t.Errorf("it waits for %v", took)
	}
	close(release)
	if err := outs.Close(); err == nil || !strings.Contains(err.Error(), "is too slow") {
		t.Errorf("%v, want that it is too slow", err)
	}
}

func TestUndeliveredMessagesAreReported(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	for url, want := range map[string]string{"http://127.0.0.1:1": "connection refused", refusing.URL: "404"} {
		outs := open(t, "otlp="+url)
		outs.Show(shown())
		if err := outs.Close(); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "1 message did not reach the collector "+url) {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}

// TestTheFirstFailureIsReported: what comes after it may only follow from it, such as the end of patience.
func TestTheFirstFailureIsReported(t *testing.T) {
	codes := make(chan int, 2)
	codes <- http.StatusUnauthorized
	codes <- http.StatusTooManyRequests
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(<-codes)
	}))
	defer server.Close()
	outs := open(t, "otlp="+server.URL)
	outs.Show(shown())
	outs.Show(shown())
	if err := outs.Close(); err == nil || !strings.Contains(err.Error(), "2 messages did not reach") ||
		!strings.Contains(err.Error(), "401") {
		t.Errorf("%v, want the first of two failures", err)
	}
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"otlp=https://h/otlp/": {otlp, "https://h/otlp"}, "prometheus=[::1]:1": {prometheus, "[::1]:1"},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "bogus", "otlp", "prometheus",
		"otlp=127.0.0.1:4318", "otlp=", "prometheus=:9464", "prometheus=http://h",
	} {
		_, err := ParseTarget(text)
		if err == nil || !strings.Contains(err.Error(), "expected otlp=http://HOST:PORT") {
			t.Errorf("%q: %v, want what is expected", text, err)
		}
	}
	taken := httptest.NewServer(nil)
	defer taken.Close()
	if _, err := Open([]Target{{prometheus, strings.TrimPrefix(taken.URL, "http://")}}); err == nil {
		t.Error("it listens where somebody else does")
	}
}

// TestTrialsAreShown: figures are those of the last trial of each variant; every trial sends its spans.
func TestTrialsAreShown(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	outs := open(t, "otlp="+server.URL)
	e := Follow(progress.New(io.Discard, progress.None, time.Now), outs, func(send func([]byte)) error {
		send([]byte("{}"))
		return nil
	})
	e.Begin(lab.Plan{Study: lab.Study{Metrics: []lab.Metric{
		{Name: "p99", Title: "99th percentile", Kind: lab.KindTime}, {Name: "absent"}}}}, 0)
	for variant, p99 := range map[string]float64{"a": 0.2, "b": 0.3} {
		for range 2 {
			trial := lab.Trial{Valid: true, Measures: map[string]float64{"p99": p99}}
			trial.Variant = variant
			trial.Point = lab.Point{Name: "p"}
			trial.Metered = lab.Metered{WindowSeconds: 10, Units: []lab.UnitUsage{
				{Unit: lab.Unit{Name: "orders", Role: "service"}, Usage: lab.Usage{CPUSeconds: 5, PeakMemoryBytes: 9}},
				{Unit: lab.Unit{Name: "cache", Role: "cache"}, Usage: lab.Usage{PeakMemoryBytes: 7,
					Unavailable: map[string]string{"cpu_seconds": "why"}}},
				{Unit: lab.Unit{Name: "database", Role: "database"}, Usage: lab.Usage{CPUSeconds: 1,
					Unavailable: map[string]string{"peak_memory_bytes": "why"}}}}}
			e.TrialEnded(trial)
		}
	}
	e.End()
	if err := outs.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for variant, p99 := range map[string]float64{"a": 0.2, "b": 0.3} {
		of := " point=p "
		want["cleave.trials"+of+"valid=true variant="+variant] = 2
		want["cleave.trial.p99"+of+"variant="+variant] = p99
		want["cleave.trial.unit.cpu"+of+"role=service unit=orders variant="+variant] = 0.5
		want["cleave.trial.unit.peak_memory"+of+"role=service unit=orders variant="+variant] = 9
		want["cleave.trial.unit.peak_memory"+of+"role=cache unit=cache variant="+variant] = 7
		want["cleave.trial.unit.cpu"+of+"role=database unit=database variant="+variant] = 0.1
	}
	if !maps.Equal(c.figures, want) {
		t.Errorf("it got\n%v, want\n%v", c.figures, want)
	}
	if !slices.Equal(c.spans, []string{"{}", "{}", "{}", "{}"}) {
		t.Errorf("it got the spans %q, want those of four trials", c.spans)
	}
}
