// Package gateway is the public interface of people, the same in every architecture: a
// record of a kind is created by POST /KIND and fetched by GET /KIND/ID, as JSON;
// failures are problem documents (RFC 9457). A page at / does both in a browser. The
// gateway checks the shape and size of what comes in; what a record is, package people
// says, and who keeps it, its backend.
//
// Entry points: NewHandler, Serve and ServeLean.
package gateway

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
	"github.com/cleave-lab/cleave/systems/people/records"
	"github.com/cleave-lab/cleave/unit"
)

//go:embed page.html page.js page.css
var page embed.FS

const (
	// requestTimeout is the deadline of every request: it crosses all bindings.
	requestTimeout = 30 * time.Second
	// maxBody is the longest body, in bytes: a profile with the longest values, each of
	// whose bytes may be written as six.
	maxBody = 64 << 10
)

// Backend is what the gateway is in front of.
type Backend struct {
	// Keeper is who keeps records of a kind.
	Keeper func(people.Kind) records.Keeper
	// Healthy returns nil when a request would find all it needs.
	Healthy func(ctx context.Context) error
	// InFlight is how many requests may be open at once; more are refused.
	InFlight int
	// Complain is told of failures of the system itself.
	Complain func(error)
}

type gateway struct {
	Backend
	open chan struct{} // has an entry for every open request
}

// NewHandler makes the routes.
func NewHandler(backend Backend) http.Handler {
	g := &gateway{backend, make(chan struct{}, backend.InFlight)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if err := g.Healthy(r.Context()); err != nil {
			g.refuse(w, &people.Problem{Kind: people.Unavailable, Detail: "a part of the system does not answer", Cause: err})
			return
		}
		writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "up"})
	})
	for _, kind := range people.Kinds() {
		mux.HandleFunc(fmt.Sprintf("POST /%s", kind), g.answering(kind, g.create))
		mux.HandleFunc(fmt.Sprintf("GET /%s/{id}", kind), g.answering(kind, g.fetch))
	}
	for path, file := range map[string]string{"/{$}": "page.html", "/page.js": "page.js", "/page.css": "page.css"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			http.ServeFileFS(w, r, page, file)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.refuse(w, people.Problemf(kindNoRoute, "nothing takes %s at this path", r.Method))
	})
	return mux
}

// answering bounds a request in time, in size, and with others in number.
func (g *gateway) answering(kind people.Kind, handle func(w http.ResponseWriter, r *http.Request, kind people.Kind) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case g.open <- struct{}{}:
			defer func() { <-g.open }()
		default:
			g.refuse(w, people.Problemf(people.TooBusy, "%d requests are open already; try again", g.InFlight))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		if err := handle(w, r.WithContext(ctx), kind); err != nil {
			g.refuse(w, err)
		}
	}
}

func (g *gateway) create(w http.ResponseWriter, r *http.Request, kind people.Kind) error {
	values, err := readRecord(r, kind)
	if err != nil {
		return err
	}
	made, err := g.Keeper(kind).Create(r.Context(), &peoplepb.CreateRequest{Kind: string(kind), Values: values})
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/"+string(kind)+"/"+made.GetId())
	write(w, http.StatusCreated, "application/json", append(appendText([]byte(`{"id":`), made.GetId()), '}'))
	return nil
}

func (g *gateway) fetch(w http.ResponseWriter, r *http.Request, kind people.Kind) error {
	id := r.PathValue("id")
	found, err := g.Keeper(kind).Fetch(r.Context(), &peoplepb.FetchRequest{Kind: string(kind), Id: id})
	if err != nil {
		return err
	}
	if err := kind.Check(found.GetValues()); err != nil {
		return &people.Problem{Kind: people.Internal, Detail: "the record is not one of its kind", Cause: err}
	}
	body := appendText([]byte(`{"id":`), id)
	for i, property := range kind.Properties() {
		body = append(appendText(append(body, ','), property), ':')
		body = appendText(body, found.GetValues()[i])
	}
	write(w, http.StatusOK, "application/json", append(body, '}'))
	return nil
}

// appendText appends a text as JSON.
func appendText(dst []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // a text cannot fail
	return append(dst, quoted...)
}

// readRecord reads a body with exactly the properties of the kind.
func readRecord(r *http.Request, kind people.Kind) ([]string, error) {
	if mediaType := r.Header.Get("Content-Type"); mediaType != "application/json" {
		return nil, people.Problemf(kindMediaType, "the body is %q: send application/json", mediaType)
	}
	text, err := io.ReadAll(r.Body)
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return nil, people.Problemf(kindTooLarge, "the body has more than %d bytes", long.Limit)
	}
	var body map[string]string
	if err == nil {
		err = json.Unmarshal(text, &body)
	}
	if err != nil { // its text could repeat what was sent
		return nil, people.Problemf(people.InvalidArgument, "the body is no JSON object of texts")
	}
	var values []string
	for _, property := range kind.Properties() {
		value, given := body[property]
		if !given {
			return nil, people.Problemf(people.InvalidArgument, "%s is missing", property)
		}
		values = append(values, value)
	}
	if len(body) > len(values) {
		return nil, people.Problemf(people.InvalidArgument, "the body has more than the %d properties of %s", len(values), kind)
	}
	return values, kind.Check(values)
}

// writeJSON sends a body as JSON.
func writeJSON(w http.ResponseWriter, status int, mediaType string, body any) {
	text, err := json.Marshal(body)
	if err != nil { // no body of this package can fail
		http.Error(w, "cannot encode the answer", http.StatusInternalServerError)
		return
	}
	write(w, status, mediaType, text)
}

// write sends a body in one piece.
func write(w http.ResponseWriter, status int, mediaType string, text []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a reader who has left is no failure
}

// Serve serves on the listener until ctx ends, then takes no new requests, finishes
// those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, requestTimeout)
}

// ServeLean does the same with our own binding.
func ServeLean(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server, err := leanhttp.NewServer(leanhttp.Limits{Head: unit.FrontMaxHeader, Body: maxBody},
		leanhttp.Patience{Request: unit.FrontReadTimeout, Idle: unit.FrontIdleTimeout}, leanhttp.Front(handler), refusal)
	if err != nil {
		return err
	}
	return rpc.Serve(ctx, listener, server, requestTimeout)
}
