package trial

import (
	"net/http"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TestServicesAreAskedToRecordSpans, in every protocol, of the given share of flows.
func TestServicesAreAskedToRecordSpans(t *testing.T) {
	var mu sync.Mutex
	var seen []trace.SpanContext
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, trace.SpanContextFromContext(ctx))
	})
	for _, protocol := range []string{"", HTTP2} {
		for _, share := range []float64{0, 1} {
			s := specFor(t, url)
			s.Protocol = protocol
			s.TraceShare = share
			mu.Lock()
			seen = nil
			mu.Unlock()
			play(t, s)
			mu.Lock()
			if len(seen) == 0 {
				t.Errorf("%s: nothing was asked", protocol)
			}
			for _, span := range seen {
				if span.IsSampled() != (share == 1) || span.IsValid() != (share == 1) {
					t.Errorf("%s, share %v: a request has the span context %v", protocol, share, span)
					break
				}
			}
			mu.Unlock()
		}
	}
	s := specFor(t, url)
	s.TraceShare = 1.5
	if _, err := s.Check(); err == nil {
		t.Error("a share of 1.5 is accepted")
	}
}
