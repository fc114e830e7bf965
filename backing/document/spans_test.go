package document

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
)

// callsAreSpans checks that each call of a traced operation is one child span of it, and that calls
// that are not traced record none.
func callsAreSpans(t *testing.T, open func() Store) {
	store := declared(t, open)
	use := func(ctx context.Context) {
		_, err := store.Upsert(ctx, "orders", order("o", 1, "a"))
		testset.Must(t, err)
		_, err = store.Get(ctx, "orders", "o")
		testset.Must(t, err)
		if _, err = store.Get(ctx, "orders", "other"); !errors.Is(err, ErrNotFound) {
			t.Errorf("error = %v, want %v", err, ErrNotFound)
		}
		_, err = store.Find(ctx, "orders", Query{Limit: 1})
		testset.Must(t, err)
	}
	provider := spans.NewProvider(1)
	use(within(t)) // not traced
	ctx, operation := spans.Enter(within(t), provider, "operation")
	use(ctx)
	operation.End()
	dir := t.TempDir()
	testset.Must(t, provider.Write(dir, "unit"))
	records, err := spans.Read(dir)
	testset.Must(t, err)
	var calls []string // children of the operation, which ended last
	for _, r := range records {
		if r.Parent == records[len(records)-1].ID {
			calls = append(calls, r.Name+" ("+string(r.Kind)+")")
		}
	}
	want := []string{"upsert orders (database)", "get orders (database)", "get orders (database)",
		"find orders (database)"}
	if !slices.Equal(calls, want) {
		t.Errorf("calls are the spans %q, want %q, of %+v", calls, want, records)
	}
}

// TestUntracedCallsDoNotAllocate checks that tracing allocates nothing in calls that are not traced.
func TestUntracedCallsDoNotAllocate(t *testing.T) {
	ctx := t.Context()
	collection := "orders"
	if n := testing.AllocsPerRun(100, func() {
		_, span := database.BeginSpan(ctx, "upsert", collection)
		span.End()
	}); n != 0 {
		t.Errorf("tracing allocates %v times in a call that is not traced", n)
	}
}
