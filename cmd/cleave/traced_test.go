package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	spans "go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/lab"
)

// tracedName is the name or first argument with which the test program runs as a web server that records
// spans.
const tracedName = "traced"

// tracedServer is a web server that records spans with OpenTelemetry's SDK, which is configured by the
// environment. Each request has a span for itself, one for its work, which is a sleep, and one for a call of
// another server. On SIGTERM it sends its last spans and exits.
type tracedServer struct {
	host, calls string
	port        int
	work        time.Duration
	tracer      spans.Tracer
}

// asTracedServer runs a traced server and exits if the program was started with tracedName. Otherwise it
// does nothing.
func asTracedServer(args []string) {
	if len(args) > 1 && args[1] == tracedName {
		args = args[1:]
	}
	if filepath.Base(args[0]) != tracedName {
		return
	}
	var s tracedServer
	flags := flag.NewFlagSet(tracedName, flag.ContinueOnError)
	flags.StringVar(&s.host, "host", "127.0.0.1", "where to listen")
	flags.IntVar(&s.port, "port", 0, "where to listen")
	flags.DurationVar(&s.work, "work", time.Millisecond, "how long the work of a request takes")
	flags.StringVar(&s.calls, "calls", "", "URL that each request calls after its work")
	err := flags.Parse(args[1:])
	if err == nil {
		err = s.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve answers requests until SIGTERM.
func (s tracedServer) serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	named, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", tracedName)),
		resource.WithFromEnv())
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.AlwaysSample())), trace.WithResource(named))
	s.tracer = provider.Tracer(tracedName)
	server := &http.Server{Addr: net.JoinHostPort(s.host, strconv.Itoa(s.port)), Handler: s}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.ListenAndServe() // the signal ends it
	return provider.Shutdown(context.WithoutCancel(ctx))
}

// ServeHTTP implements http.Handler.
func (s tracedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, request := s.tracer.Start(ctx, r.Method+" "+r.URL.Path, spans.WithSpanKind(spans.SpanKindServer))
	defer request.End()
	_, inside := s.tracer.Start(ctx, "work", spans.WithAttributes(attribute.String("module", "inside")))
	time.Sleep(s.work)
	inside.End()
	if s.calls == "" {
		return
	}
	if err := s.call(ctx); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// call calls the other server.
func (s tracedServer) call(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.calls, nil)
	if err != nil {
		return err
	}
	ctx, span := s.tracer.Start(ctx, "GET", spans.WithSpanKind(spans.SpanKindClient),
		spans.WithAttributes(attribute.String("server.address", request.URL.Hostname())))
	defer span.End()
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode >= http.StatusBadRequest {
		return errors.Join(err, errors.New(answer.Status))
	}
	return err
}

const tracedImage = "cleave-traced-test:1"

// tracedFile is a compose file with three servers, of which each calls the next. WORK is the work of the
// second.
const tracedFile = `
services:
  front: &traced
    image: ` + tracedImage + `
    command: [traced, -host, "", -port, "80", -work, 1ms, -calls, "http://cart:80/cart"]
    environment: {OTEL_SERVICE_NAME: front}
    ports: ["8080:80"]
  cart:
    <<: *traced
    command: [traced, -host, "", -port, "80", -work, WORK, -calls, "http://prices:80/prices"]
    environment: {OTEL_SERVICE_NAME: cart}
    ports: []
  prices:
    <<: *traced
    command: [traced, -host, "", -port, "80", -work, 1ms]
    environment: {OTEL_SERVICE_NAME: prices}
    ports: []
`

// buildTraced builds the image of traced servers.
func buildTraced() error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	return dockertest.Build(tracedImage, own)
}

// TestSpansComeFromContainers: spans arrive from three services on a bridge network without a route out of
// this host. There are all spans of all operations of the measured load, and no others. The parts add up to
// the operations. TestServicesAreComparedOnASwarm and TestServicesAreComparedOnKubernetes receive spans from
// nodes.
func TestSpansComeFromContainers(t *testing.T) {
	t.Parallel()
	dockertest.Once(t, tracedImage, buildTraced)
	dir := t.TempDir()
	for name, work := range map[string]string{"old.yaml": "2ms", "new.yaml": "12ms"} {
		text := "name: " + strings.TrimSuffix(name, ".yaml") + strings.Replace(tracedFile, "WORK", work, 1)
		writeFiles(t, dir, map[string]string{name: text})
	}
	played := playedComparison(t, dir, "old.yaml", "new.yaml", "--blocks", "2", "--warm-up", "1s",
		"--rate", "20", "-d", "2s", "--trace-share", "1")
	for _, variant := range []string{"old", "new"} {
		for _, trial := range played.of(t, variant) {
			if err := checkSpans(trial); err != nil {
				t.Errorf("%s: %v", variant, err)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "results", "compare", "latest", "analysis.json"))
	if err != nil || !strings.Contains(string(text), `"service": "prices"`) {
		t.Errorf("the services are not compared (%v)", err)
	}
	expectNoContainers(t)
}

// TestSpansThatDoNotComeBackAreRefused: a study that asks for spans is refused if Cleave starts units that
// cannot reach its receiver. Systems given by a URL send spans to the address that their owners have
// configured. The case of a user's Swarm is in compareOnUserCluster.
func TestSpansThatDoNotComeBackAreRefused(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"shop.yaml": "name: shop\nservices: {a: {image: a, ports: [\"8080:80\"]}}"})
	const sleeper = "sleep 100 {port}"
	for name, c := range map[string]struct {
		system, where string
		says          string // a part of the error; "": it is played
	}{
		"docker compose": {"shop.yaml", "--compose-command", "the deployment compose starts"},
		"hosts by SSH":   {sleeper, "--deploy ssh --hosts 127.0.0.1", "the deployment ssh starts"},
		"a process":      {sleeper, "", ""},
		"a URL":          {"http://127.0.0.1:8080/", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			command := program(dir, slices.Concat([]string{"compare", "a=" + c.system, "b=" + c.system, "--rate", "10",
				"--trace-share", "1", "--plan"}, strings.Fields(c.where))...)
			if c.says == "" {
				expectRun(t, command, exitFine, nil)
				return
			}
			expectRun(t, command, exitBadPlan, []string{"--trace-share", "do not come back to this host", c.says})
		})
	}
}

// checkSpans returns an error unless the spans of a trial with tracedFile are complete: a trace for each
// operation, whose parts add up to it, and one call of each service by the one before.
func checkSpans(trial lab.Trial) error {
	if trial.Traced == nil {
		return errors.New("no spans were received")
	}
	spans := trial.Traced
	if played := trial.Audit.Counts["ok"]; int64(spans.Traces) != played || spans.Broken+spans.Dropped > 0 ||
		len(spans.Operations) != 1 {
		return fmt.Errorf("%d operations have the traces %+v", played, spans)
	}
	batch := spans.Operations[0].Batches[0]
	path := 0.
	services := map[string]float64{}
	for _, part := range batch.Parts {
		path += part.Path
		services[part.Service] += part.Calls
	}
	if math.Abs(path-batch.Seconds) > 1e-6 {
		return fmt.Errorf("the parts take %g s and the operation %g s", path, batch.Seconds)
	}
	// A request has a span for itself and one for its work; front and cart have one for their call, too.
	want := map[string]float64{"front": 3, "cart": 3, "prices": 2}
	if !maps.EqualFunc(services, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
		return fmt.Errorf("the services have the spans %v of an operation, want %v", services, want)
	}
	if len(trial.Paths) != 3 {
		return fmt.Errorf("it has the paths %+v, want the mean, a median and a slow one", trial.Paths)
	}
	for from, to := range map[string]string{"front": "cart", "cart": "prices"} {
		if !slices.ContainsFunc(trial.Parts, func(p lab.Part) bool {
			return p.Name == from && slices.ContainsFunc(p.Links, func(l lab.Link) bool {
				return l.To == to && l.Traffic["calls"] == 1
			})
		}) {
			return fmt.Errorf("%s does not call %s once: %+v", from, to, trial.Parts)
		}
	}
	return nil
}
