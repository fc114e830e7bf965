package event

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
)

// DualWrite publishes messages without a record of them, which is unsafe: messages are
// lost if the process dies or the broker does not answer between the commit and the
// publication. It is used to measure what an Outbox costs, and what is lost without one.
type DualWrite struct {
	// Tracer starts the spans of traced messages; nil: there are none. It must be set
	// before the first message.
	Tracer trace.TracerProvider

	db     *database.DB
	broker Publisher
	routes routes
	lost   chan error
}

const (
	// publishWithin limits the time of one publication. It is not retried, because
	// there is no record of the messages.
	publishWithin = 30 * time.Second
	// maxLost limits the number of losses that wait to be logged.
	maxLost = 64
)

// NewDualWrite returns the DualWrite of a process that works on a database. It
// publishes the message types that have a queue in the topology.
func NewDualWrite(db *database.DB, to Publisher, topology broker.Topology) *DualWrite {
	return &DualWrite{db: db, broker: to, routes: routesOf(topology), lost: make(chan error, maxLost)}
}

// Add publishes messages as soon as the transaction that the context carries is
// committed, or at once if there is none. The caller of the transaction waits for
// the broker's confirmation. A failed publication is only logged (see Run), because
// the caller can no longer undo the commit. Messages of types that no queue takes are
// dropped.
func (d *DualWrite) Add(ctx context.Context, messages ...broker.Message) error {
	wanted, err := d.routes.routed(ctx, messages)
	if err != nil || len(wanted) == 0 {
		return err
	}
	d.db.AfterCommit(ctx, func() { d.publish(ctx, wanted) })
	return nil
}

// publish sends messages to the broker, even if the caller's context has ended.
func (d *DualWrite) publish(ctx context.Context, messages []broker.Message) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishWithin)
	defer cancel()
	traced := startPublishSpans(d.Tracer, messages)
	defer traced.End()
	err := d.broker.Publish(limited, messages...)
	if err == nil {
		return
	}
	select {
	case d.lost <- fmt.Errorf("the messages from %s on are lost: %w", messages[0].ID, err):
	default: // maxLost errors are waiting already; one more would add nothing
	}
}

// Run logs losses until the context ends, and those that are known then.
func (d *DualWrite) Run(ctx context.Context, logError func(error)) {
	for {
		select {
		case err := <-d.lost:
			logError(err)
		case <-ctx.Done():
			for range len(d.lost) {
				logError(<-d.lost)
			}
			return
		}
	}
}
