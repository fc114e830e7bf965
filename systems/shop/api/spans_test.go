package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

const component = "front"

// TestTracedRequests: the span of an order says where the order is, and has parts for
// reading and writing JSON; the business code behind it gets its context.
func TestTracedRequests(t *testing.T) {
	made := &shoppb.Order{OrderId: "o-1", State: string(shop.StateConfirmed)}
	write := &scripted{answer: &shoppb.CreateOrderResponse{Order: made}}
	provider := spans.NewProvider(1)
	handler := front.Traced(NewHandler(shop.Parts{Orders: write}, nil, nil), provider, component)
	if got := order(handler); got.Code != http.StatusCreated {
		t.Fatalf("status %d: %s", got.Code, got.Body)
	}
	if spans.Traceparent(write.ctx, "") != "" {
		t.Error("the request goes on after its answer")
	}
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/nowhere", nil))

	dir := t.TempDir()
	testset.Must(t, provider.Write(dir, "shop"))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	byName := map[string]spans.Record{}
	for _, r := range all {
		byName[r.Name] = r
	}
	root := byName["POST /orders"]
	if root.Kind != lab.SegmentBusiness || root.Parent.IsValid() ||
		root.Note(front.LocationNote) != "/orders/o-1" {
		t.Errorf("the order: %+v", root)
	}
	for _, part := range []string{"decode", "encode"} {
		if r := byName[part]; r.Parent != root.ID || r.Kind != lab.SegmentEncoding {
			t.Errorf("%s: %+v", part, r)
		}
	}
	if other, ok := byName[http.MethodGet]; !ok || len(other.Notes) != 1 || len(all) != 4 ||
		other.Note(lab.ComponentAttribute) != component {
		t.Errorf("another request: %+v of %d", other, len(all))
	}
}
