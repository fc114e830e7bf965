package event

import (
	"context"
	"maps"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// A message that is traced carries so in its headers, from the transaction that tells
// it over the outbox and the broker to the one that it has its effect in. What it
// waits for in the outbox and in the broker are the gaps between these spans.

// withTrace returns the headers of a message with the operation that tells it. In a
// batch that is the operation which the key names.
func withTrace(ctx context.Context, m broker.Message) map[string]string {
	header := spans.Traceparent(ctx, m.Key)
	if header == "" {
		return m.Headers
	}
	return withHeader(m.Headers, header)
}

func withHeader(headers map[string]string, value string) map[string]string {
	all := maps.Clone(headers)
	if all == nil {
		all = map[string]string{}
	}
	all[spans.Header] = value
	return all
}

// publishing begins a span of the way to the broker for each message that is traced, and
// notes it in the message.
func publishing(tracer trace.TracerProvider, messages []broker.Message) spans.Batch {
	var traced spans.Batch
	for i, m := range messages {
		_, part := spans.Serve(context.Background(), tracer, m.Headers[spans.Header], "publish "+m.Type,
			lab.SegmentBroker, trace.SpanKindProducer, time.Time{})
		if part != nil {
			traced.Add(m.Key, part)
			messages[i].Headers = withHeader(m.Headers, part.Traceparent())
		}
	}
	return traced
}

// traced begins a span for each of the messages that is traced, from when this
// process has got it; what is done with ctx is done for all of them.
func (w worker) traced(ctx context.Context, deliveries []broker.Delivery) (context.Context, spans.Batch) {
	var traced spans.Batch
	for _, d := range deliveries {
		inside, part := spans.Serve(ctx, w.Tracer, d.Headers[spans.Header], spans.Process+w.Queue,
			lab.SegmentBusiness, trace.SpanKindConsumer, d.Received)
		if part != nil {
			spans.Over(inside, "wait in the consumer", lab.SegmentQueueing, d.Received)
			traced.Add(d.Key, part)
		}
	}
	return traced.Join(ctx), traced
}
