package socialunit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

// SettledPath is asked by who measures, where home timelines are filled by events: it is
// answered with 204 as soon as no announced post waits. It is no part of the public interface.
const SettledPath = "/settled"

const (
	// lookAgain is how long to wait before the broker is asked once more.
	lookAgain = 10 * time.Millisecond
	// settleWithin is how long one question is held back; whoever measures asks again.
	settleWithin = 5 * time.Second
)

// openBroker is a client of a design's broker, which knows the queues.
func openBroker(ctx context.Context, design architecture.Design, address string) (broker.Client, error) {
	config := broker.Config{Driver: broker.RabbitMQ, URL: address}
	if design.Broker == architecture.NATS {
		config.Driver = broker.NATS
	}
	client, err := broker.Open(config)
	if err != nil {
		return nil, err
	}
	if err := client.Declare(ctx, timelines.Topology()); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// waiting is how many announced posts are not in all home timelines, as far as this unit can
// see: what another one holds only some brokers tell.
func (u *Unit) waiting(ctx context.Context) (int, error) {
	depth, err := u.broker.Depth(ctx, timelines.Queue)
	return depth.Ready + max(depth.Unacked, u.broker.Held()), err
}

// settled waits until no announced post waits.
func (u *Unit) settled(ctx context.Context) error {
	for {
		if n, err := u.waiting(ctx); err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

func (u *Unit) answerSettled(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), settleWithin)
	defer cancel()
	if err := u.settled(ctx); err != nil {
		http.Error(w, "posts wait for their timelines", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeAnnounced fills home timelines with posts that are announced. The function that it
// returns ends that, after those that still wait: who announced them has ended before.
func (u *Unit) takeAnnounced(ctx context.Context) (end func()) {
	taking, stop := context.WithCancel(context.WithoutCancel(ctx))
	subscriber := event.Subscriber{Source: u.broker, Queue: timelines.Queue,
		Handle: u.parts.HomeTimelines.(*timelines.Home).Take}
	var beside sync.WaitGroup
	beside.Go(func() { subscriber.Run(taking, u.place.LogError) })
	return func() {
		limited, cancel := context.WithTimeout(taking, drain)
		defer cancel()
		if err := u.settled(limited); err != nil {
			u.place.LogError(err)
		}
		stop()
		beside.Wait()
	}
}
