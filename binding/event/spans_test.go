package event_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestATraceFollowsItsMessages sends messages of three operations, two of them traced,
// over each broker. A handler answers each with a second message. Traced and untraced
// messages share batches.
func TestATraceFollowsItsMessages(t *testing.T) {
	for name, start := range brokers() {
		t.Run(name, func(t *testing.T) {
			c := client(t, start(t))
			db := sqlite(t)
			outbox := event.NewOutbox(db, "a", topology())
			made := spans.NewProvider(1)
			for _, key := range []string{"one", "two", "untraced"} {
				ctx := t.Context()
				var entry *spans.Part
				if key != "untraced" {
					ctx, entry = spans.Enter(ctx, made, key)
				}
				testset.Must(t, outbox.Add(ctx, message("first of "+key, key)))
				entry.End()
			}
			relay := event.NewRelay(outbox, c)
			relay.Tracer = made
			stopRelay := inBackground(t, relay.Run, failOnError(t))
			subscriber := event.Subscriber{Database: db, Source: c, Queue: queue, Handle: answering(db, outbox),
				Tracer: made}
			stop := inBackground(t, subscriber.Run, failOnError(t))
			eventually(t, "all messages have their effect", func() bool { return count(t, db, "effects") == 6 })
			stop()
			stopRelay()
			checkChains(t, made)
		})
	}
}

// answering returns a handler that adds a second message for each first one.
func answering(db *database.DB, outbox *event.Outbox) event.Handler {
	return func(ctx context.Context, messages []broker.Message) error {
		var answers []broker.Message
		for _, m := range messages {
			if strings.HasPrefix(m.ID, "first") {
				answers = append(answers, message("second of "+m.Key, m.Key))
			}
		}
		if err := outbox.Add(ctx, answers...); err != nil {
			return err
		}
		return effect(db)(ctx, messages)
	}
}

// checkChains follows the spans of each trace from its last message back to its entry.
func checkChains(t *testing.T, made *spans.Provider) {
	t.Helper()
	dir := t.TempDir()
	testset.Must(t, made.Write(dir, "unit"))
	all, err := spans.Read(dir)
	testset.Must(t, err)
	byID := map[trace.SpanID]spans.Record{}
	commits := map[trace.SpanID]int{}
	kinds := map[trace.SpanKind]int{}
	for _, r := range all {
		byID[r.ID] = r
		kinds[r.Role]++
		if r.Name == "COMMIT" {
			commits[r.Parent]++
		}
	}
	if kinds[trace.SpanKindProducer] != 4 || kinds[trace.SpanKindConsumer] != 4 {
		t.Errorf("%d messages are published in traces and %d processed, want 4 each", kinds[trace.SpanKindProducer],
			kinds[trace.SpanKindConsumer])
	}
	chains := map[trace.TraceID]string{}
	for _, r := range all {
		if r.Role != trace.SpanKindConsumer {
			continue
		}
		if r.Kind != lab.SegmentBusiness || commits[r.ID] != 1 {
			t.Errorf("%+v has %d commits", r, commits[r.ID])
		}
		chain := ""
		for at := r; ; at = byID[at.Parent] {
			chain += at.Name + " < "
			if !at.Parent.IsValid() || at.Trace != r.Trace {
				break
			}
		}
		if len(chain) > len(chains[r.Trace]) {
			chains[r.Trace] = chain
		}
	}
	got := slices.Sorted(maps.Values(chains))
	const step = "process things < publish thing.happened < "
	if want := []string{step + step + "one < ", step + step + "two < "}; !slices.Equal(got, want) {
		t.Errorf("the traces go %q, want %q", got, want)
	}
}
