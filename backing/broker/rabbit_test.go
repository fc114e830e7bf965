package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestAQueueThatComesUpIsWaitedFor(t *testing.T) {
	comes := fmt.Errorf("queue views: %w", &amqp.Error{
		Code: amqp.NotFound, Reason: "NOT_FOUND - home node 'cleave@localhost' of durable queue 'views-dead' in " +
			"vhost '/' is down or inaccessible",
	})
	missing := &amqp.Error{Code: amqp.NotFound, Reason: "NOT_FOUND - no queue 'views' in vhost '/'"}
	if permanent(comes) || !permanent(missing) {
		t.Errorf("permanent: coming up %t, missing %t", permanent(comes), permanent(missing))
	}
	for name, c := range map[string]struct {
		said  []error
		want  error
		tries int
	}{
		"there":         {[]error{nil}, nil, 1},
		"missing":       {[]error{missing}, missing, 1},
		"up after two":  {[]error{comes, comes, nil}, nil, 3},
		"up and broken": {[]error{comes, missing}, missing, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tries := 0
			err := whenUp(t.Context(), func() error { tries++; return c.said[tries-1] })
			if !errors.Is(err, c.want) || tries != c.tries {
				t.Errorf("%v after %d tries, want %v after %d", err, tries, c.want, c.tries)
			}
		})
	}
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	tries := 0
	if err := whenUp(given, func() error { tries++; return comes }); !errors.Is(err, comes) || tries != 1 {
		t.Errorf("given up: %v after %d tries, want what the broker says", err, tries)
	}
}
