package front

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// LocationNote is the attribute of a span with the header Location of the answer: the address of what the
// request has made.
const LocationNote = "http.response.header.location"

// Enter begins a trace for the share of client requests that the tracer samples, with the name of the
// component that answers. It returns the context of the request's span, and that span, which the caller
// ends. If the request is not sampled or the tracer is nil, it returns ctx and nil.
func Enter(
	ctx context.Context, tracer *spans.Provider, operation, component string,
) (context.Context, *spans.Part) {
	if tracer == nil {
		return ctx, nil
	}
	ctx, request := spans.Enter(ctx, tracer, operation)
	request.Note(lab.ComponentAttribute, component)
	return ctx, request
}

// Traced returns a handler that begins traces of requests like Enter.
func Traced(handler http.Handler, tracer *spans.Provider, component string) http.Handler {
	return within(handler, tracer, func(r *http.Request) (context.Context, *spans.Part) {
		return Enter(r.Context(), tracer, r.Method, component)
	})
}

// Continued returns a handler that continues the traces of other units that call it over HTTP.
func Continued(handler http.Handler, tracer *spans.Provider) http.Handler {
	return within(handler, tracer, func(r *http.Request) (context.Context, *spans.Part) {
		return spans.Serve(r.Context(), tracer, r.Header.Get(spans.Header), r.Method, lab.SegmentBusiness,
			trace.SpanKindServer, time.Time{})
	})
}

// within returns a handler that serves each request within the span of begin, if that is not nil. The span
// gets the pattern of the request as its name.
func within(
	handler http.Handler, tracer *spans.Provider, begin func(r *http.Request) (context.Context, *spans.Part),
) http.Handler {
	if tracer == nil {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, request := begin(r)
		if request == nil {
			handler.ServeHTTP(w, r)
			return
		}
		defer request.End()
		r = r.WithContext(ctx)
		handler.ServeHTTP(w, r)
		if r.Pattern != "" {
			request.SetName(r.Pattern)
		}
		if made := w.Header().Get("Location"); made != "" {
			request.Note(LocationNote, made)
		}
	})
}
