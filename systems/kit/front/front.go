// Package front is the part of a public interface over HTTP that all systems share: limits on the size, time
// and number of requests, and failures as problem documents (RFC 9457). The system adds the resources and
// their bodies.
//
// Entry points: New; Problems alone, for systems with a mux of their own.
package front

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/unit"
)

// Config holds the settings of a system's front.
type Config struct {
	Problems
	// Timeout is the deadline of every request: it crosses all bindings.
	Timeout time.Duration
	// MaxBody is the longest body, in bytes.
	MaxBody int64
	// InFlight is the number of requests that may be open at once; more are refused. 0: any number.
	InFlight int
	// Healthy returns nil when a request would find all it needs; nil: it always does.
	Healthy func(ctx context.Context) error
}

// Front is the public interface of a system.
type Front struct {
	Config
	open          chan struct{} // has an entry for every open request; nil: any number
	routes, known *http.ServeMux
}

// Answer is the answer to a request, whatever carries it.
type Answer struct {
	Status    int
	MediaType string
	Body      []byte
	Header    []leanhttp.Field
}

// JSONType is the media type of bodies.
const JSONType = "application/json"

// JSON returns an answer whose body is JSON.
func JSON(status int, body []byte, header ...leanhttp.Field) Answer {
	return Answer{status, JSONType, body, header}
}

// New makes a front with the resource /health.
func New(config Config) *Front {
	f := &Front{Config: config, routes: http.NewServeMux(), known: http.NewServeMux()}
	if config.InFlight > 0 {
		f.open = make(chan struct{}, config.InFlight)
	}
	f.routes.HandleFunc("/", f.unknown)
	f.HandleFunc("GET /health", f.health)
	return f
}

// Handle registers a resource. Its work is limited as Do says, and its body in size.
func (f *Front) Handle(pattern string, work func(ctx context.Context, r *http.Request) (Answer, error)) {
	f.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, f.MaxBody)
		}
		Write(w, f.Do(r.Context(), pattern, func(ctx context.Context) (Answer, error) { return work(ctx, r) }))
	})
}

// HandleFunc registers a resource without limits.
func (f *Front) HandleFunc(pattern string, handler http.HandlerFunc) {
	f.routes.HandleFunc(pattern, handler)
	f.known.HandleFunc(pattern, handler)
}

// Do does the work of a request within the timeout, unless too many requests are open. A failure is logged as
// that of the operation.
func (f *Front) Do(
	ctx context.Context, operation string, work func(context.Context) (Answer, error),
) Answer {
	if f.open != nil {
		select {
		case f.open <- struct{}{}:
			defer func() { <-f.open }()
		default:
			return f.Refusal(operation, rpc.Problemf(TooBusy, "%d requests are open already; try again", f.InFlight))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	answer, err := work(ctx)
	if err != nil {
		return f.Refusal(operation, err)
	}
	return answer
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path.Clean(r.URL.Path) { // the mux would redirect
		f.refuse(w, r, rpc.Problemf(NoResource, "nothing is at this path"))
		return
	}
	f.routes.ServeHTTP(w, r)
}

// unknown refuses a request that no resource takes. The mux of the resources alone tells which methods the
// path has.
func (f *Front) unknown(w http.ResponseWriter, r *http.Request) {
	r.Pattern = "" // logs and spans go by it, and "/" is no resource
	handler, _ := f.known.Handler(r)
	verdict := &silent{header: http.Header{}}
	handler.ServeHTTP(verdict, r)
	if allowed := verdict.header.Get("Allow"); allowed != "" {
		w.Header().Set("Allow", allowed)
		f.refuse(w, r, rpc.Problemf(NoMethod, "%s takes %s", r.URL.Path, strings.ReplaceAll(allowed, ",", " or")))
		return
	}
	f.refuse(w, r, rpc.Problemf(NoResource, "nothing is at this path"))
}

// refuse answers a request for which no work is done.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, why *rpc.Problem) {
	Write(w, f.Refusal(r.Pattern, why))
}

// silent keeps the header of an answer and drops the rest.
type silent struct{ header http.Header }

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
func (s *silent) WriteHeader(int)             {}

func (f *Front) health(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawQuery != "" {
		f.refuse(w, r, rpc.Problemf(rpc.InvalidArgument, "this resource has no parameters"))
		return
	}
	if f.Healthy != nil {
		ctx, cancel := context.WithTimeout(r.Context(), f.Timeout)
		defer cancel()
		if err := f.Healthy(ctx); err != nil {
			f.refuse(w, r, &rpc.Problem{Kind: rpc.Unavailable, Detail: "a part of the system does not answer",
				Cause: err})
			return
		}
	}
	Write(w, JSON(http.StatusOK, []byte(`{"status":"up"}`)))
}

// ReadBody reads a body that is declared as JSON.
func ReadBody(r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(r.Body)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, rpc.Problemf(TooLarge, "the body has more than %d bytes", long.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, rpc.Problemf(TooSlow, "the body did not come within %v", unit.FrontReadTimeout)
	case err != nil:
		return nil, rpc.Problemf(rpc.InvalidArgument, "the body ends too early")
	}
	return text, CheckType(r.Header.Get("Content-Type"))
}

// CheckType refuses bodies that are not declared as JSON.
func CheckType(contentType string) error {
	if contentType == JSONType {
		return nil
	}
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != JSONType {
		return rpc.Problemf(NotJSON, "the body is %.60q: send Content-Type: %s", contentType, JSONType)
	}
	return nil
}

// Write sends an answer in one piece.
func Write(w http.ResponseWriter, a Answer) {
	w.Header().Set("Content-Type", a.MediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	for _, field := range a.Header {
		w.Header().Set(field.Name, field.Value)
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // a reader who has left is no failure
}
