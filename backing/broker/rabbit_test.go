package broker

import (
	"context"
	"errors"
	"fmt"
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
