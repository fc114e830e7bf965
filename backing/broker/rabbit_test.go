package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestWhenUpWaitsForAQueue(t *testing.T) {
	inaccessible := fmt.Errorf("queue views: %w", &amqp.Error{
		Code: amqp.NotFound, Reason: "NOT_FOUND - home node 'cleave@localhost' of durable queue 'views-dead' in " +
			"vhost '/' is down or inaccessible",
	})
	missing := &amqp.Error{Code: amqp.NotFound, Reason: "NOT_FOUND - no queue 'views' in vhost '/'"}
	if isPermanent(inaccessible) || !isPermanent(missing) {
		t.Errorf("permanent: inaccessible %t, missing %t", isPermanent(inaccessible), isPermanent(missing))
	}
	for name, c := range map[string]struct {
		answers []error
		want    error
		tries   int
	}{
		"there":         {[]error{nil}, nil, 1},
		"missing":       {[]error{missing}, missing, 1},
		"up after two":  {[]error{inaccessible, inaccessible, nil}, nil, 3},
		"up and broken": {[]error{inaccessible, missing}, missing, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			err := whenUp(t.Context(), func() error { tries++; return c.answers[tries-1] })
			if !errors.Is(err, c.want) || tries != c.tries {
				t.Errorf("%v after %d tries, want %v after %d", err, tries, c.want, c.tries)
			}
		})
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tries := 0
	if err := whenUp(canceled, func() error { tries++; return inaccessible }); !errors.Is(err, inaccessible) ||
		tries != 1 {
		t.Errorf("canceled: %v after %d tries, want the broker's error after one", err, tries)
	}
}

// TestOnlyHeadersOfTheBrokerAreLeftOut: a message has the headers that it was sent with, whatever their name,
// and none of those that RabbitMQ adds.
func TestOnlyHeadersOfTheBrokerAreLeftOut(t *testing.T) {
	sent := map[string]string{"traceparent": "00-1", "x-request-id": "7", "x-": "", "X-Tenant": "a"}
	delivered := toAMQP(Message{Key: "k", Headers: sent}).Headers
	maps.Copy(delivered, amqp.Table{"x-delivery-count": int64(2), "x-death": []any{amqp.Table{"count": 1}},
		"x-first-death-exchange": "shop", "x-first-death-queue": "views", "x-first-death-reason": "rejected",
		"x-last-death-exchange": "shop", "x-last-death-queue": "views", "x-last-death-reason": "rejected"})
	if got := fromAMQP(amqp.Delivery{Headers: delivered}); !maps.Equal(got.Headers, sent) || got.Key != "k" {
		t.Errorf("headers %v and key %q, want %v and k", got.Headers, got.Key, sent)
	}
}
