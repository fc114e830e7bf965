package broker

import "sync/atomic"

// Counts hold what a client has done since it was opened, in messages unless said
// otherwise. They are for the meter: two readings give what lies between.
type Counts struct {
	Published      int64 // given to Publish, dead letters excluded
	Confirmed      int64 // of these, confirmed by the broker
	Delivered      int64 // received from queues
	Redelivered    int64 // of these, not for the first time
	Retried        int64 // handed to a handler once more without leaving the client
	Acked          int64
	DeadLettered   int64
	PublishedBytes int64 // bodies of what was published, in bytes
	DeliveredBytes int64 // bodies of what was received, in bytes
}

// counters are the live form of Counts.
type counters struct {
	published, confirmed, delivered, redelivered, retried, acked, deadLettered atomic.Int64
	publishedBytes, deliveredBytes                                             atomic.Int64

	held atomic.Int64
}

// Held implements Client.
func (c *counters) Held() int { return int(c.held.Load()) }

func (c *counters) addPublished(messages []Message) {
	c.published.Add(int64(len(messages)))
	for _, m := range messages {
		c.publishedBytes.Add(int64(len(m.Body)))
	}
}

func (c *counters) addReceived(d Delivery) {
	c.delivered.Add(1)
	c.deliveredBytes.Add(int64(len(d.Body)))
	if d.Attempt > 1 {
		c.redelivered.Add(1)
	}
}

// Counts implements Client.
func (c *counters) Counts() Counts {
	return Counts{
		Published: c.published.Load(), Confirmed: c.confirmed.Load(),
		Delivered: c.delivered.Load(), Redelivered: c.redelivered.Load(), Retried: c.retried.Load(),
		Acked: c.acked.Load(), DeadLettered: c.deadLettered.Load(),
		PublishedBytes: c.publishedBytes.Load(), DeliveredBytes: c.deliveredBytes.Load(),
	}
}
