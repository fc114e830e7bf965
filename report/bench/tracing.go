//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"
)

// tracing records the spans of a server with the SDK of OpenTelemetry, as the services of users do: one for
// each request that asks for spans, and one for each of its calls.
type tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	calls    []string // URLs
}

// newTracing returns a tracing that sends spans to the receiver that the environment names.
func newTracing(ctx context.Context, calls []string) (*tracing, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	named, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(named),
		sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))
	return &tracing{provider: provider, tracer: provider.Tracer("truth"), calls: calls}, nil
}

// end sends the last spans.
func (t *tracing) end() {
	_ = t.provider.Shutdown(context.Background()) // the receiver may have ended already
}

// around returns a handler that records a span for each request that next answers.
func (t *tracing) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, "answer", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// call calls all URLs at once, and answers when all have answered.
func (t *tracing) call(w http.ResponseWriter, r *http.Request) {
	var all errgroup.Group
	for _, url := range t.calls { // so that all spans start at the same time, whichever call is sent first
		ctx, span := t.tracer.Start(r.Context(), "call", trace.WithSpanKind(trace.SpanKindClient))
		all.Go(func() error {
			defer span.End()
			return callOne(ctx, url)
		})
	}
	if err := all.Wait(); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// callOne calls a URL within the span of the context.
func callOne(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String("server.address", request.URL.Hostname()))
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	request.Close = true // so that the next call may reach another replica
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(url+": "+answer.Status))
	}
	return err
}
