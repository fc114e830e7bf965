package database_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/lab"
)

// notebook is a provider that keeps the names of spans, with their kinds.
type notebook struct {
	embedded.Tracer
	names []string
}

type noted struct {
	noop.Span
	by *notebook
}

func (s noted) IsRecording() bool                    { return true }
func (s noted) TracerProvider() trace.TracerProvider { return providing{by: s.by} }
func (r *notebook) traced(ctx context.Context) context.Context {
	return trace.ContextWithSpan(ctx, noted{by: r})
}

// Start implements trace.Tracer.
func (r *notebook) Start(
	ctx context.Context, name string, _ ...trace.SpanStartOption,
) (context.Context, trace.Span) {
	r.names = append(r.names, name)
	return ctx, noted{by: r}
}

// SetAttributes implements trace.Span, of the last one.
func (s noted) SetAttributes(attributes ...attribute.KeyValue) {
	last := len(s.by.names) - 1
	for _, a := range attributes {
		if a.Key == lab.SegmentAttribute {
			s.by.names[last] = a.Value.AsString() + ": " + s.by.names[last]
		}
	}
}

// providing is the notebook as a provider.
type providing struct {
	embedded.TracerProvider
	by *notebook
}

func (p providing) Tracer(string, ...trace.TracerOption) trace.Tracer { return p.by }

// TestStatementsOfTracedOperationsAreSpans: every round trip and every wait for a
// connection, and nothing where the operation is not traced.
func TestStatementsOfTracedOperationsAreSpans(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, fresh func(t testing.TB) database.Config) {
		db := databasetest.Open(t, fresh(t))
		ctx := t.Context()
		work := func(ctx context.Context) error {
			return db.Do(ctx, func(ctx context.Context) error {
				if _, err := db.Exec(ctx, "INSERT INTO things (id) VALUES (?)", 1); err != nil {
					return err
				}
				if _, err := db.Exec(ctx, "UPDATE things SET id = id WHERE id = ?", 1); err != nil {
					return err
				}
				_, err := db.Exec(ctx, "DELETE FROM things")
				return err
			})
		}
		if _, err := db.Exec(ctx, "CREATE TABLE things (id BIGINT NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		r := &notebook{}
		var n int64
		_, err := db.One(r.traced(ctx), []any{&n}, "SELECT COUNT(*) FROM things")
		refused := errors.New("refused")
		undone := db.Do(r.traced(ctx), func(context.Context) error { return refused })
		if err := errors.Join(err, work(ctx), work(r.traced(ctx))); err != nil || !errors.Is(undone, refused) {
			t.Fatal(err, undone)
		}
		want := []string{
			"queueing: wait for a connection", "database: SELECT things",
			"queueing: wait for a connection", "database: BEGIN", "database: ROLLBACK",
			"queueing: wait for a connection", "database: BEGIN", "database: INSERT things", "database: UPDATE things",
			"database: DELETE things", "database: COMMIT",
		}
		if !slices.Equal(r.names, want) {
			t.Errorf("spans %q, want %q", r.names, want)
		}
	})
}
