package document

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/lab"
)

// notebook is a tracer that writes spans down when they end: what they are a part of,
// their kind, their name.
type notebook struct {
	embedded.Tracer
	ended []string
}

// noted is a span of it.
type noted struct {
	noop.Span
	by     *notebook
	around string
	name   string
	kind   *string
}

func (s noted) IsRecording() bool                    { return true }
func (s noted) TracerProvider() trace.TracerProvider { return providing{by: s.by} }
func (s noted) SetAttributes(all ...attribute.KeyValue) {
	for _, a := range all {
		if a.Key == lab.SegmentAttribute {
			*s.kind = a.Value.AsString()
		}
	}
}
func (s noted) End(...trace.SpanEndOption) {
	s.by.ended = append(s.by.ended, s.around+" > "+s.name+" ("+*s.kind+")")
}

// Start implements trace.Tracer.
func (n *notebook) Start(
	ctx context.Context, name string, _ ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	around, _ := trace.SpanFromContext(ctx).(noted)
	s := noted{by: n, around: around.name, name: name, kind: new(string)}
	return trace.ContextWithSpan(ctx, s), s
}

// providing is the notebook as a provider.
type providing struct {
	embedded.TracerProvider
	by *notebook
}

func (p providing) Tracer(string, ...trace.TracerOption) trace.Tracer { return p.by }

// callsAreSpans: one for each call, around whatever the client makes itself, and none
// where the operation is not traced.
func callsAreSpans(t *testing.T, open func() Store) {
	store := declared(t, open)
	n := &notebook{}
	ctx := trace.ContextWithSpan(within(t), noted{by: n, name: "order", kind: new(string)})
	use := func(ctx context.Context) {
		_, err := store.Upsert(ctx, "orders", order("o", 1, "a"))
		must(t, err)
		_, err = store.Get(ctx, "orders", "o")
		must(t, err)
		if _, err = store.Get(ctx, "orders", "other"); !errors.Is(err, ErrNotFound) {
			t.Errorf("error = %v, want %v", err, ErrNotFound)
		}
		_, err = store.Find(ctx, "orders", Query{Limit: 1})
		must(t, err)
	}
	use(within(t))
	if len(n.ended) > 0 {
		t.Errorf("spans %q of an operation that is not traced", n.ended)
	}
	use(ctx)
	calls := slices.DeleteFunc(slices.Clone(n.ended),
		func(s string) bool { return !strings.HasPrefix(s, "order >") })
	want := []string{"order > upsert orders (database)", "order > get orders (database)",
		"order > get orders (database)", "order > find orders (database)"}
	if !slices.Equal(calls, want) {
		t.Errorf("spans %q, want %q", n.ended, want)
	}
}

// TestWhatIsNotTracedCostsNothing holds what most calls pay for the few that are traced.
func TestWhatIsNotTracedCostsNothing(t *testing.T) {
	ctx := t.Context()
	collection := "orders"
	if n := testing.AllocsPerRun(100, func() {
		_, span := begin(ctx, "upsert", collection)
		span.End()
	}); n != 0 {
		t.Errorf("a call that is not traced allocates %v times for that", n)
	}
}
