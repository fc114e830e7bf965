package broker

import "sync/atomic"

// Counts holds what a client has done since it was opened, in messages unless said
// otherwise. The meter subtracts two readings.
type Counts struct {
	Published      int64 // passed to Publish; dead letters do not count
	Delivered      int64 // received from queues
	PublishedBytes int64 // bytes of published bodies
	DeliveredBytes int64 // bytes of received bodies
}

// counters holds the counts behind Counts and Held.
type counters struct {
	published, delivered, publishedBytes, deliveredBytes, held atomic.Int64
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
}

// Counts implements Client.
func (c *counters) Counts() Counts {
	return Counts{
		Published: c.published.Load(), Delivered: c.delivered.Load(),
		PublishedBytes: c.publishedBytes.Load(), DeliveredBytes: c.deliveredBytes.Load(),
	}
}
