package assembly_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// request is one request, in parts that can be spoiled.
type request struct {
	route  *routers.Route
	path   map[string]string
	query  url.Values
	header http.Header
	body   []byte
	// wrong names a change that makes the request invalid and that the validator does not notice; empty: none.
	wrong string
}

// String shows a request as it can be repeated.
func (r request) String() string {
	return fmt.Sprintf("%s %s header %v body %.300q", r.route.Method, r.target(), r.header, r.body)
}

func (r request) target() string {
	target := r.route.Path
	for name, value := range r.path {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
	}
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	return target
}

func (r request) build(base string) (*http.Request, error) {
	built, err := http.NewRequest(r.route.Method, base+r.target(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	built.Header = r.header.Clone()
	return built, nil
}

func (r request) input(built *http.Request) *openapi3filter.RequestValidationInput {
	return &openapi3filter.RequestValidationInput{Request: built, Route: r.route, PathParams: r.path}
}

// unlisted reports whether the document forbids the request although the validator lets it pass: in words, or
// by leaving a parameter out.
func (r request) unlisted() bool {
	for name, given := range r.query {
		parameter := r.route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name)
		if parameter == nil || len(given) > 1 {
			return true
		}
	}
	return r.wrong != "" || len(r.header.Values("Idempotency-Key")) > 1
}

// request makes a request that the document allows.
func (f *fuzzer) request(route *routers.Route) request {
	made := request{route: route, path: map[string]string{}, query: url.Values{}, header: http.Header{}}
	for _, reference := range route.Operation.Parameters {
		parameter := reference.Value
		value := fmt.Sprint(generate(parameter.Schema.Value, f.random))
		switch parameter.In {
		case openapi3.ParameterInPath:
			made.path[parameter.Name] = f.seen.known(parameter.Name, value, f.random)
		case openapi3.ParameterInHeader:
			made.header.Set(parameter.Name, value)
		case openapi3.ParameterInQuery:
			// A cursor is no free text: it comes from an answer.
			if parameter.Name != "cursor" && (parameter.Required || f.random.IntN(2) == 0) {
				made.query.Set(parameter.Name, value)
			}
		}
	}
	if next := f.seen.next[route.Operation.OperationID]; next != nil && f.random.IntN(2) == 0 {
		made.query = maps.Clone(next)
	}
	if route.Operation.RequestBody != nil {
		f.fill(&made)
	}
	return made
}

// fill makes the body, sometimes one that was sent before with its key.
func (f *fuzzer) fill(made *request) {
	if len(f.seen.created) > 0 && f.random.IntN(6) == 0 {
		before := f.seen.created[f.random.IntN(len(f.seen.created))]
		made.header = before.header.Clone()
		made.body = before.body
		return
	}
	schema := made.route.Operation.RequestBody.Value.Content.Get("application/json").Schema.Value
	body := generate(schema, f.random)
	distinct(body)
	made.header.Set("Content-Type", "application/json")
	made.body = encode(body)
}

// distinct keeps the first line of each product: the document says so in words.
func distinct(body any) {
	fields, _ := body.(map[string]any)
	lines, _ := fields["lines"].([]any)
	products := map[any]bool{}
	fields["lines"] = slices.DeleteFunc(lines, func(line any) bool {
		product := line.(map[string]any)["productId"]
		again := products[product]
		products[product] = true
		return again
	})
}

func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err) // made of maps, slices, texts and numbers
	}
	return encoded
}

func sortedKeys[V any](of map[string]V) []string { return slices.Sorted(maps.Keys(of)) }
