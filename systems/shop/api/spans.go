package api

import (
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// LocationNote is the attribute of a span that holds where what a request has made
// can be found: /orders/ and the order's id.
const LocationNote = "http.response.header.location"

// component is what answers clients, as the spans of components name it.
const component = "front"

// Traced begins a trace for some of the requests, as the tracer decides.
func Traced(handler http.Handler, tracer trace.TracerProvider) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, request := spans.Enter(r.Context(), tracer, r.Method)
		if request == nil {
			handler.ServeHTTP(w, r)
			return
		}
		defer request.End()
		request.Note(lab.ComponentAttribute, component)
		r = r.WithContext(ctx)
		handler.ServeHTTP(w, r)
		if r.Pattern != "" {
			request.Name(r.Pattern)
		}
		if made := w.Header().Get("Location"); made != "" {
			request.Note(LocationNote, made)
		}
	})
}
