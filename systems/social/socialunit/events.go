package socialunit

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

// SettledPath is asked by who measures, where home timelines are filled by events: it is
// answered with 204 as soon as no announced post waits in the broker, and no unit fills a timeline.
// It is no part of the public interface.
const SettledPath = "/settled"

const (
	// lookAgain is how long to wait before the broker is asked once more.
	lookAgain = 10 * time.Millisecond
	// settleWithin is how long one question is held back; whoever measures asks again.
	settleWithin = 5 * time.Second
	// quietLooks is how often in a row nothing must be found where the broker does not tell what it
	// has handed out: a message on its way to a unit is seen nowhere.
	quietLooks = 3
)

// openBroker returns a client of a design's broker, which knows the queues.
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

// look returns how many announced posts have been entered by all units that fill home timelines,
// or event.Working while one waits or is being entered. sure: the broker itself knows.
func (u *Unit) look(ctx context.Context) (taken int64, sure bool, err error) {
	depth, err := u.broker.Depth(ctx, timelines.Queue)
	if err != nil || depth.Ready > 0 || depth.Unacked > 0 {
		return event.Working, false, err
	}
	if depth.Unacked == 0 {
		return 0, true, nil
	}
	taken = event.Taken(u.broker)
	for _, filler := range u.fillers {
		more, err := event.AskTaken(ctx, filler)
		if err != nil && filler.standby {
			continue // it need not be there yet
		}
		if err != nil || more == event.Working || taken == event.Working {
			return event.Working, false, err
		}
		taken += more
	}
	return taken, false, nil
}

// settled waits until no announced post waits, and none is being entered by this unit or by those
// that it asks.
func (u *Unit) settled(ctx context.Context) error {
	before, quiet := int64(event.Working), 0
	for {
		taken, sure, err := u.look(ctx)
		if err != nil || sure {
			return err
		}
		if quiet++; taken == event.Working || taken != before {
			quiet = 0
		}
		if quiet == quietLooks {
			return nil
		}
		before = taken
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// filler is a replica of the unit that fills home timelines.
type filler struct {
	rpc.Client
	standby bool
}

// connectFillers connects the unit in front to every replica of that which fills home timelines,
// so that it can ask each.
func (u *Unit) connectFillers() error {
	home := u.design.Hosting(parts.HomeTimelinesName).Name
	if u.broker == nil || u.unit.Name != u.design.Front().Name || home == u.unit.Name {
		return nil
	}
	addresses, err := u.place.Peer(home)
	if err != nil {
		return err
	}
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		address, standby := strings.CutPrefix(address, lab.StandbyMark)
		client, err := u.connectTo(address)
		if err != nil {
			return err
		}
		u.fillers = append(u.fillers, filler{client, standby})
	}
	return nil
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
