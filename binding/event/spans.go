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

// A traced message has a traceparent header, which connects the transaction that sends it,
// through outbox and broker, with the transaction that handles it. The gaps between their
// spans are its waiting times in the outbox and in the broker.

// withTraceparent returns a copy of headers with a traceparent. headers may be nil.
func withTraceparent(headers map[string]string, value string) map[string]string {
	all := maps.Clone(headers)
	if all == nil {
		all = map[string]string{}
	}
	all[spans.Header] = value
	return all
}

// startPublishSpans starts a span for each traced message and puts its traceparent into the
// message's headers. The caller ends the batch.
func startPublishSpans(tracer trace.TracerProvider, messages []broker.Message) spans.Batch {
	var traced spans.Batch
	for i, m := range messages {
		_, part := spans.Serve(context.Background(), tracer, m.Headers[spans.Header], "publish "+m.Type,
			lab.SegmentBroker, trace.SpanKindProducer, time.Time{})
		if part != nil {
			traced.Add(m.Key, part)
			messages[i].Headers = withTraceparent(m.Headers, part.Traceparent())
		}
	}
	return traced
}

// startProcessSpans starts a span for each traced message. The span begins at the time at which this
// process received the message. Spans that are started with the returned context are recorded for all
// of them. The caller ends the batch.
func (w worker) startProcessSpans(
	ctx context.Context, deliveries []broker.Delivery,
) (context.Context, spans.Batch) {
	var traced spans.Batch
	for _, d := range deliveries {
		inside, part := spans.Serve(ctx, w.Tracer, d.Headers[spans.Header], spans.Process+w.Queue,
			lab.SegmentBusiness, trace.SpanKindConsumer, d.Received)
		if part != nil {
			spans.RecordUntilNow(inside, "wait in the consumer", lab.SegmentQueueing, d.Received)
			traced.Add(d.Key, part)
		}
	}
	return traced.Join(ctx), traced
}
