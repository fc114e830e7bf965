// Package requestlog writes a line for every request that a unit answers: for requests of clients, and for
// calls of other units over any binding. Lines are JSON of log/slog. They are written as soon as the request
// has been answered, without a buffer.
//
// Entry points: New; Handler for clients, Call for calls.
package requestlog

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/binding/rpc"
)

const (
	// The keys of a line, in addition to those of log/slog.
	keyUnit      = "unit"
	keyOperation = "operation"
	keyStatus    = "status"
	keyBytes     = "bytes"
	keySeconds   = "duration_seconds"
	keyTrace     = "trace_id"

	message  = "request" // of every line
	statusOK = "ok"      // of a call without a problem
)

// Log writes lines for one unit. A nil Log writes none.
type Log struct{ lines *slog.Logger }

// New returns the log of a unit. It writes each line with one call of Write.
func New(to io.Writer, unit string) *Log {
	return &Log{slog.New(slog.NewJSONHandler(to, nil)).With(keyUnit, unit)}
}

// Handler returns a handler that also writes a line for each request over HTTP. The operation in the line is
// the request's pattern if the handler sets it, or else its method, because paths and queries may contain
// secrets.
func (l *Log) Handler(handler http.Handler) http.Handler {
	if l == nil {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &recorder{ResponseWriter: w}
		handler.ServeHTTP(seen, r)
		operation := cmp.Or(r.Pattern, r.Method)
		status := cmp.Or(seen.status, http.StatusOK)
		l.Client(r.Context(), began, operation, status, seen.bytes)
	})
}

// Client writes the line for a client's request that has just been answered. bytes is the size of the answer.
func (l *Log) Client(ctx context.Context, began time.Time, operation string, status, bytes int) {
	if l == nil {
		return
	}
	l.write(ctx, began, slog.String(keyOperation, operation), slog.Int(keyStatus, status),
		slog.Int(keyBytes, bytes))
}

// Call writes the line for a call that has just been carried out; it is an rpc.Serving's LogCall. The status
// in the line is ok, or the kind of the problem that the caller gets.
func (l *Log) Call(ctx context.Context, began time.Time, method string, kind rpc.Kind) {
	if l == nil {
		return
	}
	status := cmp.Or(string(kind), statusOK)
	l.write(ctx, began, slog.String(keyOperation, method), slog.String(keyStatus, status))
}

// write writes a line.
func (l *Log) write(ctx context.Context, began time.Time, attributes ...slog.Attr) {
	took := time.Since(began).Seconds()
	attributes = append(attributes, slog.Float64(keySeconds, took))
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attributes = append(attributes, slog.String(keyTrace, span.TraceID().String()))
	}
	l.lines.LogAttrs(ctx, slog.LevelInfo, message, attributes...)
}

// recorder is an http.ResponseWriter that records the status and the size of the answer.
type recorder struct {
	http.ResponseWriter
	status int // 0: not sent yet
	bytes  int
}

// WriteHeader implements http.ResponseWriter. As net/http, it takes the first status that is not interim.
func (w *recorder) WriteHeader(status int) {
	isInterim := status < http.StatusOK && status != http.StatusSwitchingProtocols
	if w.status == 0 && !isInterim {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(body []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(body)
	w.bytes += n
	return n, err
}

// Unwrap returns the writer for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
