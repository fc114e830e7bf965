package socialunit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/compose"
	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// SettledPath is the path that the load generator polls if events fill home timelines. It answers with 204 as
// soon as no announced post waits in the broker and no unit is filling a timeline. It is not part of the
// public interface.
const SettledPath = "/settled"

// Queue holds announced posts until home timelines have them.
const Queue = parts.HomeTimelinesName

// posted is the type of a message that announces a post.
const posted = "post.composed"

const (
	// pollInterval is the time between two checks of the broker.
	pollInterval = 10 * time.Millisecond
	// settleTimeout bounds a request for SettledPath; the load generator repeats it.
	settleTimeout = 5 * time.Second
	// drainTimeout bounds the time in which a unit that stops goes on filling timelines with waiting posts.
	drainTimeout = 10 * time.Second
	// quietPolls is the number of consecutive polls without a change that count as settled, for a broker that
	// does not report unacknowledged messages: one on its way to a unit is visible nowhere.
	quietPolls = 3
)

// openBroker returns a client of the broker at an address, in which it has declared the queue.
func openBroker(ctx context.Context, address string) (broker.Client, error) {
	client, err := broker.Open(broker.Config{URL: address})
	if err != nil {
		return nil, err
	}
	if err := client.Declare(ctx, broker.Topology{Exchange: social.Name,
		Queues: []broker.Queue{{Name: Queue, Types: []string{posted}}}}); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// announcer announces posts to home timelines through a broker.
type announcer struct{ broker broker.Client }

var _ compose.FanOut = announcer{}

// Add returns when the broker has stored the entry on disk. Home timelines get it later.
func (a announcer) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	body, err := proto.Marshal(in)
	if err == nil {
		err = a.broker.Publish(ctx, broker.Message{ID: in.GetPost(), Type: posted, Key: in.GetUser(), Body: body})
	}
	return &pb.Empty{}, err
}

// enterAnnounced enters announced posts into home timelines; it is an event.Handler. A repeated post changes
// nothing. After an error of the component the broker delivers the message again; a message that cannot be
// decoded becomes a dead letter.
func (u *Unit) enterAnnounced(ctx context.Context, messages []broker.Message) error {
	for _, message := range messages {
		var entry pb.Entry
		if err := proto.Unmarshal(message.Body, &entry); err != nil {
			return fmt.Errorf("the announcement %q is not an entry: %w", message.ID, err)
		}
		if _, err := u.parts.HomeTimelines.Add(ctx, &entry); err != nil {
			return event.Unavailable(err)
		}
	}
	return nil
}

// poll returns the number of announced posts that the units have entered into home timelines so far, or
// event.Working while one waits or is being entered. sure is true if the broker itself knows that nothing is
// pending; then taken is not counted.
func (u *Unit) poll(ctx context.Context) (taken int64, sure bool, err error) {
	depth, err := u.broker.Depth(ctx, Queue)
	if err != nil || depth.Ready > 0 || depth.Unacked > 0 {
		return event.Working, false, err
	}
	if depth.Unacked == 0 { // negative: the broker does not know
		return 0, true, nil
	}
	taken = event.Taken(u.broker)
	for _, filler := range u.fillers {
		more, err := event.AskTaken(ctx, filler)
		if err != nil && filler.Standby {
			continue // a standby replica may not have been started
		}
		if err != nil || more == event.Working || taken == event.Working {
			return event.Working, false, err
		}
		taken += more
	}
	return taken, false, nil
}

// awaitSettled returns when no announced post waits, and neither this unit nor a filler is entering one.
func (u *Unit) awaitSettled(ctx context.Context) error {
	before, quiet := int64(event.Working), 0
	for {
		taken, sure, err := u.poll(ctx)
		if err != nil || sure {
			return err
		}
		if quiet++; taken == event.Working || taken != before {
			quiet = 0
		}
		if quiet == quietPolls {
			return nil
		}
		before = taken
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// connectFillers connects the front to every replica of the unit that fills home timelines, so that it can
// poll each.
func (u *Unit) connectFillers() (err error) {
	if u.broker == nil || !u.design.IsFront(u.Name) || u.Hosts(parts.HomeTimelinesName) {
		return nil
	}
	u.fillers, err = u.Replicas(u.UnitOf(parts.HomeTimelinesName), "")
	return err
}

// answerSettled answers a request for SettledPath.
func (u *Unit) answerSettled(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), settleTimeout)
	defer cancel()
	if err := u.awaitSettled(ctx); err != nil {
		http.Error(w, "posts wait for their timelines: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// fillFromEvents fills home timelines with announced posts in the background, also after ctx ends. end stops
// that once no post waits, within drainTimeout. By then the front has stopped, so that nobody announces more.
func (u *Unit) fillFromEvents(ctx context.Context) (end func()) {
	filling, stop := context.WithCancel(context.WithoutCancel(ctx))
	subscriber := event.Subscriber{Source: u.broker, Queue: Queue, Handle: u.enterAnnounced}
	var background sync.WaitGroup
	background.Go(func() { subscriber.Run(filling, u.LogError) })
	return func() {
		limited, cancel := context.WithTimeout(filling, drainTimeout)
		defer cancel()
		if err := u.awaitSettled(limited); err != nil {
			u.LogError(err)
		}
		stop()
		background.Wait()
	}
}
