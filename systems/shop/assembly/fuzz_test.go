package assembly_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/cleave-lab/cleave/internal/testset"
)

// fuzzer makes requests from one document, right and wrong ones, and judges every answer by it: the status is
// one that the document lists for the operation and is no 5xx, and the body is what the document says. A
// request that the document allows is carried out; any other is refused with a 4xx.
type fuzzer struct {
	base     string
	random   *rand.Rand
	client   *http.Client
	routes   []*routers.Route
	seen     seen
	statuses map[string]int // "createOrder 201": how often
}

// fuzz sends that many requests, made from the seed, to the shop at baseURL, and
// returns the number of answers by operation and status.
func fuzz(t testing.TB, baseURL string, document []byte, seed uint64, requests int) map[string]int {
	t.Helper()
	f := newFuzzer(t, baseURL, document, seed)
	for n := range requests {
		if err := f.step(); err != nil {
			t.Errorf("seed %d, request %d: %v", seed, n, err)
			break // what follows may come from it
		}
	}
	return f.statuses
}

func newFuzzer(t testing.TB, baseURL string, text []byte, seed uint64) *fuzzer {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(text)
	testset.Must(t, err)
	testset.Must(t, document.Validate(t.Context()))
	f := &fuzzer{
		base: baseURL, random: rand.New(rand.NewPCG(seed, 0)), statuses: map[string]int{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			f.routes = append(f.routes, &routers.Route{Spec: document, Path: path, PathItem: item, Method: method,
				Operation: operation})
		}
	}
	slices.SortFunc(f.routes, func(a, b *routers.Route) int { // maps have no order
		return bytes.Compare([]byte(a.Method+a.Path), []byte(b.Method+b.Path))
	})
	return f
}

// step sends one request and judges its answer.
func (f *fuzzer) step() error {
	route := f.routes[f.random.IntN(len(f.routes))]
	made := f.request(route)
	if f.random.IntN(2) == 0 {
		f.spoil(&made)
	}
	allowed := f.allows(made)
	got, err := f.send(made)
	if err != nil {
		return fmt.Errorf("%s: %w", made, err)
	}
	f.statuses[fmt.Sprintf("%s %d", route.Operation.OperationID, got.status)]++
	if err := judge(made, allowed, got); err != nil {
		return fmt.Errorf("%s = %d %.500s: %w", made, got.status, got.body, err)
	}
	f.seen.learn(made, got)
	return nil
}

func (f *fuzzer) send(made request) (reply, error) {
	sent, err := made.build(f.base)
	if err != nil {
		return reply{}, err
	}
	return roundTrip(f.client, sent)
}

// allows reports whether the document allows a request.
func (f *fuzzer) allows(made request) bool {
	sent, err := made.build(f.base)
	if err != nil || made.unlisted() {
		return false
	}
	err = openapi3filter.ValidateRequest(context.Background(), made.input(sent))
	return err == nil
}

// judge returns an error if an answer breaks the document.
func judge(made request, allowed bool, got reply) error {
	sent, err := made.build("http://shop.invalid")
	if err != nil {
		return err
	}
	refused := got.status >= 400 && got.status < 500
	switch {
	case got.status >= 500:
		return fmt.Errorf("the shop failed")
	case !allowed && !refused:
		return fmt.Errorf("the document forbids the request; it was not refused")
	case allowed && slices.Contains([]int{400, 408, 413, 415}, got.status):
		return fmt.Errorf("the document allows the request; it was refused")
	}
	answer := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: made.input(sent), Status: got.status, Header: got.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	return openapi3filter.ValidateResponse(context.Background(), answer.SetBodyBytes(got.body))
}
