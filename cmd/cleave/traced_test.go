package main

import (
	"context"
	"flag"
	"net"
	"net/http"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	spans "go.opentelemetry.io/otel/trace"
)

// tracedName is the name under which this program is a web server that records spans.
const tracedName = "traced"

// serveTraced is a web server with the arguments -port PORT and -work DURATION. It records spans with
// OpenTelemetry's SDK, which sends them to where the environment says: of each request one of its own and one
// of the work in it, which is to sleep. SIGTERM ends it, and it sends the last spans then.
func serveTraced(arguments []string) error {
	flags := flag.NewFlagSet(tracedName, flag.ContinueOnError)
	port := flags.Int("port", 0, "where to listen")
	work := flags.Duration("work", time.Millisecond, "how long the work of a request takes")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(*port))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return err
	}
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter),
		trace.WithSampler(trace.ParentBased(trace.AlwaysSample())),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", tracedName))))
	tracer := provider.Tracer("traced")
	answer := func(_ http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, request := tracer.Start(ctx, r.Method+" "+r.URL.Path, spans.WithSpanKind(spans.SpanKindServer))
		defer request.End()
		_, inside := tracer.Start(ctx, "work")
		time.Sleep(*work)
		inside.End()
	}
	server := &http.Server{Addr: address, Handler: http.HandlerFunc(answer)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.ListenAndServe() // it ends with the signal
	return provider.Shutdown(context.WithoutCancel(ctx))
}
