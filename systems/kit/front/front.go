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
	// Timeout is the deadline of every request. It is passed on with all calls to other units.
	Timeout time.Duration
	// MaxBody is the size limit of bodies, in bytes.
	MaxBody int64
	// InFlight is the number of requests that may be open at once; more are refused. 0: any number.
	InFlight int
	// Healthy returns nil if everything that requests need is reachable. Without it the front is always healthy.
	Healthy func(ctx context.Context) error
}

// Front is the public interface of a system.
type Front struct {
	Config
	open chan struct{} // has an entry for every open request; nil: any number
	// routes has all resources and a handler for unknown paths; known has the resources alone.
	routes, known *http.ServeMux
}

// Answer is the answer to a request, independent of the HTTP server.
type Answer struct {
	Status    int
	MediaType string
	Body      []byte
	Header    []leanhttp.Field
}

// JSONType is the media type of JSON.
const JSONType = "application/json"

// JSON returns an answer whose body is JSON.
func JSON(status int, body []byte, header ...leanhttp.Field) Answer {
	return Answer{status, JSONType, body, header}
}

// New returns a front with the resource /health.
func New(config Config) *Front {
	f := &Front{Config: config, routes: http.NewServeMux(), known: http.NewServeMux()}
	if config.InFlight > 0 {
		f.open = make(chan struct{}, config.InFlight)
	}
	f.routes.HandleFunc("/", f.unknown)
	f.HandleFunc("GET /health", f.health)
	return f
}

// Handle registers a resource. Do limits its work, and MaxBody its body.
func (f *Front) Handle(pattern string, work func(ctx context.Context, r *http.Request) (Answer, error)) {
	f.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, f.MaxBody)
		}
		ofRequest := func(ctx context.Context) (Answer, error) { return work(ctx, r) }
		Write(w, f.Do(r.Context(), pattern, ofRequest))
	})
}

// HandleFunc registers a resource without limits.
func (f *Front) HandleFunc(pattern string, handler http.HandlerFunc) {
	f.routes.HandleFunc(pattern, handler)
	f.known.HandleFunc(pattern, handler)
}

// Do does the work of a request within the timeout, or refuses it if too many requests are open. A failure of
// the system itself is logged with the operation; see Refusal.
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
	if r.URL.Path != path.Clean(r.URL.Path) { // the mux would answer with a redirect
		f.refuse(w, r, rpc.Problemf(NoResource, "nothing is at this path"))
		return
	}
	f.routes.ServeHTTP(w, r)
}

// unknown refuses a request that matches no resource. The mux known tells whether the path exists with other
// methods: its own answer then has the header Allow.
func (f *Front) unknown(w http.ResponseWriter, r *http.Request) {
	r.Pattern = "" // logs and spans use it, and "/" is not a resource
	handler, _ := f.known.Handler(r)
	probe := &headerOnly{header: http.Header{}}
	handler.ServeHTTP(probe, r)
	if allowed := probe.header.Get("Allow"); allowed != "" {
		w.Header().Set("Allow", allowed)
		f.refuse(w, r, rpc.Problemf(NoMethod, "%s takes %s", r.URL.Path, strings.ReplaceAll(allowed, ",", " or")))
		return
	}
	f.refuse(w, r, rpc.Problemf(NoResource, "nothing is at this path"))
}

// refuse answers a request with a problem, without doing any work.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, why *rpc.Problem) {
	Write(w, f.Refusal(r.Pattern, why))
}

// headerOnly is an http.ResponseWriter that keeps the header of an answer and drops the rest.
type headerOnly struct{ header http.Header }

func (h *headerOnly) Header() http.Header         { return h.header }
func (h *headerOnly) Write(b []byte) (int, error) { return len(b), nil }
func (h *headerOnly) WriteHeader(int)             {}

// health answers GET /health.
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

// ReadBody returns the body of a request, which must be declared as JSON.
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

// CheckType returns a problem of the kind NotJSON unless the header Content-Type declares JSON.
func CheckType(contentType string) error {
	if contentType == JSONType {
		return nil
	}
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != JSONType {
		return rpc.Problemf(NotJSON, "the Content-Type of the body is %.60q: send %s", contentType, JSONType)
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
	_, _ = w.Write(a.Body) // a client that has disconnected is not a failure
}
