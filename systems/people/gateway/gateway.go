// Package gateway is the public interface of people, the same in every architecture: a
// record of a kind is created by POST /KIND and fetched by GET /KIND/ID, as JSON;
// failures are problem documents (RFC 9457). A page at / does both in a browser. The
// gateway checks the shape and size of what comes in; what a record is, package people
// says, and who keeps it, its backend.
//
// Entry points: Serve and ServeLean.
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
	// LogError is told of failures of the system itself.
	LogError func(error)
}

type gateway struct {
	Backend
	open chan struct{} // has an entry for every open request
}

// answer is what a request comes to, whatever carries it.
type answer struct {
	status    int
	mediaType string
	body      []byte
	more      []leanhttp.Field
}

func newGateway(backend Backend) *gateway {
	return &gateway{backend, make(chan struct{}, backend.InFlight)}
}

// routes returns the interface on net/http.
func (g *gateway) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if err := g.Healthy(r.Context()); err != nil {
			write(w, g.refusal(&people.Problem{Kind: people.Unavailable,
				Detail: "a part of the system does not answer", Cause: err}))
			return
		}
		write(w, answer{status: http.StatusOK, mediaType: recordType, body: []byte(`{"status":"up"}`)})
	})
	for _, kind := range people.Kinds() {
		mux.HandleFunc(fmt.Sprintf("POST /%s", kind), func(w http.ResponseWriter, r *http.Request) {
			write(w, g.bounded(r.Context(), func(ctx context.Context) (answer, error) {
				text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
				if err != nil {
					return answer{}, unread(err)
				}
				return g.create(ctx, kind, r.Header.Get("Content-Type"), text)
			}))
		})
		mux.HandleFunc(fmt.Sprintf("GET /%s/{id}", kind), func(w http.ResponseWriter, r *http.Request) {
			write(w, g.bounded(r.Context(), func(ctx context.Context) (answer,
				error) {
				return g.fetch(ctx, kind, r.PathValue("id"))
			}))
		})
	}
	for path, file := range map[string]string{"/{$}": "page.html", "/page.js": "page.js",
		"/page.css": "page.css"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			http.ServeFileFS(w, r, page, file)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, g.refusal(people.Problemf(kindNoRoute, "nothing takes %s at this path", r.Method)))
	})
	return mux
}

// bounded bounds a request in time, and with others in number.
func (g *gateway) bounded(ctx context.Context, work func(context.Context) (answer, error)) answer {
	select {
	case g.open <- struct{}{}:
		defer func() { <-g.open }()
	default:
		return g.refusal(people.Problemf(people.TooBusy, "%d requests are open already; try again", g.InFlight))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a, err := work(ctx)
	if err != nil {
		return g.refusal(err)
	}
	return a
}

func (g *gateway) create(
	ctx context.Context, kind people.Kind, mediaType string, text []byte,
) (answer, error) {
	values, err := readRecord(kind, mediaType, text)
	if err != nil {
		return answer{}, err
	}
	made, err := g.Keeper(kind).Create(ctx, &peoplepb.CreateRequest{Kind: string(kind), Values: values})
	if err != nil {
		return answer{}, err
	}
	return answer{
		status: http.StatusCreated, mediaType: recordType,
		body: append(appendText([]byte(`{"id":`), made.GetId()), '}'),
		more: []leanhttp.Field{{Name: "Location", Value: "/" + string(kind) + "/" + made.GetId()}},
	}, nil
}

func (g *gateway) fetch(ctx context.Context, kind people.Kind, id string) (answer, error) {
	found, err := g.Keeper(kind).Fetch(ctx, &peoplepb.FetchRequest{Kind: string(kind), Id: id})
	if err != nil {
		return answer{}, err
	}
	if err := kind.Check(found.GetValues()); err != nil {
		return answer{}, &people.Problem{Kind: people.Internal, Detail: "the record is not one of its kind",
			Cause: err}
	}
	body := appendText(append(make([]byte, 0, 512), `{"id":`...), id)
	for i, property := range kind.Properties() {
		body = append(appendText(append(body, ','), property), ':')
		body = appendText(body, found.GetValues()[i])
	}
	return answer{status: http.StatusOK, mediaType: recordType, body: append(body, '}')}, nil
}

// recordType is the media type of records.
const recordType = "application/json"

// appendText appends a text as JSON. What most texts are made of stands for itself.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a text cannot fail
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// unread says why a body could not be read.
func unread(err error) error {
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return people.Problemf(kindTooLarge, "the body has more than %d bytes", long.Limit)
	}
	return people.Problemf(people.InvalidArgument, "the body ends too early")
}

// readRecord reads a body with exactly the properties of the kind.
func readRecord(kind people.Kind, mediaType string, text []byte) ([]string, error) {
	if mediaType != recordType {
		return nil, people.Problemf(kindMediaType, "the body is %q: send application/json", mediaType)
	}
	var body map[string]string
	if err := json.Unmarshal(text, &body); err != nil { // its text could repeat what was sent
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
		return nil, people.Problemf(people.InvalidArgument, "the body has more than the %d properties of %s",
			len(values), kind)
	}
	return values, kind.Check(values)
}

// write sends an answer in one piece.
func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	for _, field := range a.more {
		w.Header().Set(field.Name, field.Value)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a reader who has left is no failure
}

// Serve serves on the listener until ctx ends, then takes no new requests, finishes
// those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, backend Backend) error {
	return unit.ServeFront(ctx, listener, newGateway(backend).routes(), requestTimeout)
}
