// Package gateway is the public interface of people, the same in every architecture: POST /KIND
// creates a record of a kind and GET /KIND/ID fetches it, as JSON; failures are problem documents
// (RFC 9457). A page at / does both in a browser. The gateway checks the shape and size of
// requests; package people defines the records, and the backend keeps them.
//
// Entry points: Serve and ServeLean.
package gateway

import (
	"context"
	"embed"
	"encoding/json"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/binding/leanhttp"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
	"github.com/cleave-lab/cleave/unit"
)

//go:embed page.html page.js page.css
var page embed.FS

const (
	// requestTimeout is the deadline of every request.
	requestTimeout = 30 * time.Second
	// maxBody is the longest body, in bytes: a profile with the longest values, each of
	// whose bytes may be written as six.
	maxBody = 64 << 10
)

// Backend is the system behind the gateway.
type Backend struct {
	// Keepers are the components that keep the records of each kind.
	Keepers map[people.Kind]peoplepb.Records
	// Healthy returns nil if all that a request needs answers.
	Healthy func(ctx context.Context) error
	// InFlight is the number of requests that may be open at once; more are refused.
	InFlight int
	// LogError is called with failures of the system itself.
	LogError func(error)
	// Log receives a line for every request; nil: no log.
	Log *requestlog.Log
	// Spans makes the spans of traced requests; nil: no request is traced.
	Spans *spans.Provider
}

// component is the gateway's name in spans.
const component = "gateway"

// observed returns a handler that also logs and traces requests.
func (b Backend) observed(handler http.Handler) http.Handler {
	return front.Traced(b.Log.Handler(handler), b.Spans, component)
}

type gateway struct {
	*front.Front
	keepers map[people.Kind]peoplepb.Records
}

// newGateway returns a gateway with all its routes.
func newGateway(backend Backend) *gateway {
	spoiled := front.Meaning{Status: http.StatusInternalServerError, Title: "The record cannot be opened"}
	g := &gateway{keepers: backend.Keepers, Front: front.New(front.Config{
		Problems: front.Problems{Types: "urn:cleave:people:", Of: people.ProblemOf, LogError: backend.LogError,
			Meanings: map[rpc.Kind]front.Meaning{
				people.NotFound: {Status: http.StatusNotFound, Title: "There is no such record"},
				people.Tampered: spoiled, people.WrongKey: spoiled, people.Truncated: spoiled}},
		Timeout: requestTimeout, MaxBody: maxBody, InFlight: backend.InFlight, Healthy: backend.Healthy})}
	for _, kind := range people.Kinds() {
		g.Handle(creation[kind], func(ctx context.Context, r *http.Request) (front.Answer, error) {
			text, err := front.ReadBody(r)
			if err != nil {
				return front.Answer{}, err
			}
			return g.create(ctx, kind, text)
		})
		g.Handle(fetching[kind],
			func(ctx context.Context, r *http.Request) (front.Answer, error) {
				return g.fetch(ctx, kind, r.PathValue("id"))
			})
	}
	for path, file := range map[string]string{"/{$}": "page.html", "/page.js": "page.js",
		"/page.css": "page.css"} {
		g.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			http.ServeFileFS(w, r, page, file)
		})
	}
	return g
}

// The patterns of requests that create a record of a kind, and that fetch one.
var creation, fetching = patterns("POST /", ""), patterns("GET /", "/{id}")

// patterns returns patterns by the kind that they name.
func patterns(before, after string) map[people.Kind]string {
	all := map[people.Kind]string{}
	for _, kind := range people.Kinds() {
		all[kind] = before + string(kind) + after
	}
	return all
}

func (g *gateway) create(ctx context.Context, kind people.Kind, text []byte) (front.Answer, error) {
	values, err := readRecord(kind, text)
	if err != nil {
		return front.Answer{}, err
	}
	made, err := g.keepers[kind].Create(ctx, &peoplepb.CreateRequest{Kind: string(kind), Values: values})
	if err != nil {
		return front.Answer{}, err
	}
	body := appendText([]byte(`{"id":`), made.GetId())
	location := "/" + string(kind) + "/" + made.GetId()
	return front.JSON(http.StatusCreated, append(body, '}'),
		leanhttp.Field{Name: "Location", Value: location}), nil
}

func (g *gateway) fetch(ctx context.Context, kind people.Kind, id string) (front.Answer, error) {
	found, err := g.keepers[kind].Fetch(ctx, &peoplepb.FetchRequest{Kind: string(kind), Id: id})
	if err != nil {
		return front.Answer{}, err
	}
	if err := kind.Check(found.GetValues()); err != nil {
		return front.Answer{}, &rpc.Problem{Kind: rpc.Internal, Detail: "the record is not one of its kind",
			Cause: err}
	}
	body := appendText(append(make([]byte, 0, 512), `{"id":`...), id)
	for i, property := range kind.Properties() {
		body = append(appendText(append(body, ','), property), ':')
		body = appendText(body, found.GetValues()[i])
	}
	return front.JSON(http.StatusOK, append(body, '}')), nil
}

// appendText appends a text as encoding/json writes it, without its cost if nothing is to be escaped.
func appendText(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // a text cannot fail
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// readRecord reads a body with exactly the properties of the kind.
func readRecord(kind people.Kind, text []byte) ([]string, error) {
	var body map[string]string
	// encoding/json would replace what is no UTF-8. Its error could repeat a part of the record.
	if !utf8.Valid(text) || json.Unmarshal(text, &body) != nil {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the body is no JSON object of texts in UTF-8")
	}
	var values []string
	for _, property := range kind.Properties() {
		value, given := body[property]
		if !given {
			return nil, rpc.Problemf(rpc.InvalidArgument, "%s is missing", property)
		}
		values = append(values, value)
	}
	if len(body) > len(values) {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the body has more than the %d properties of %s",
			len(values), kind)
	}
	return values, kind.Check(values)
}

// Serve serves on the listener until ctx ends, then takes no new requests, finishes
// those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, backend Backend) error {
	return unit.ServeFront(ctx, listener, backend.observed(newGateway(backend)), requestTimeout)
}
