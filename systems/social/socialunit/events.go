package socialunit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/compose"
	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// SettledPath is the path that the load generator asks where events fill home timelines. It answers with 204
// as soon as no announced post waits in the broker, and no unit fills a timeline. It is not part of the
// public interface.
const SettledPath = "/settled"

// Queue holds announced posts until home timelines have them.
const Queue = parts.HomeTimelinesName

// posted is the type of a message that announces a post.
const posted = "post.composed"

const (
	// lookAgain is the time between two questions to the broker.
	lookAgain = 10 * time.Millisecond
	// settleWithin is how long a request for SettledPath waits; the load generator repeats it.
	settleWithin = 5 * time.Second
	// drainWithin is how long a unit that ends goes on filling timelines with posts that wait.
	drainWithin = 10 * time.Second
	// quietLooks is how often in a row nothing must be found if the broker does not know which messages it
	// has delivered: a message on its way to a unit is seen nowhere.
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
	if err := client.Declare(ctx, broker.Topology{Exchange: social.Name,
		Queues: []broker.Queue{{Name: Queue, Types: []string{posted}}}}); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return client, nil
}

// announcer tells home timelines of posts through a broker.
type announcer struct{ broker broker.Client }

var _ compose.FanOut = announcer{}

// Add returns when the broker has the entry on its disk. Home timelines get it some time later.
func (a announcer) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	body, err := proto.Marshal(in)
	if err == nil {
		err = a.broker.Publish(ctx, broker.Message{ID: in.GetPost(), Type: posted, Key: in.GetUser(), Body: body})
	}
	return &pb.Empty{}, err
}

// take enters announced posts into home timelines; it is an event.Handler. A repeated post changes nothing.
// An error of the component makes the broker deliver the message again later; a message that cannot be read
// fails.
func (u *Unit) take(ctx context.Context, messages []broker.Message) error {
	for _, message := range messages {
		var entry pb.Entry
		if err := proto.Unmarshal(message.Body, &entry); err != nil {
			return fmt.Errorf("the announcement %q is no entry: %w", message.ID, err)
		}
		if _, err := u.parts.HomeTimelines.Add(ctx, &entry); err != nil {
			return event.Unavailable(err)
		}
	}
	return nil
}

// look returns how many announced posts the units that fill home timelines have entered, or event.Working
// while one waits or is being entered. sure: the broker itself knows that none is.
func (u *Unit) look(ctx context.Context) (taken int64, sure bool, err error) {
	depth, err := u.broker.Depth(ctx, Queue)
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

// settled waits until no announced post waits, and neither this unit nor a filler enters one.
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
	if u.broker == nil || u.Name != u.design.Front().Name || u.Hosts(parts.HomeTimelinesName) {
		return nil
	}
	filling := u.UnitOf(parts.HomeTimelinesName)
	addresses, err := u.Peer(filling)
	if err != nil {
		return err
	}
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		address, standby := strings.CutPrefix(address, lab.StandbyMark)
		client, err := u.Calls.NewClient(filling, address)
		if err != nil {
			return err
		}
		u.Keep(client)
		u.fillers = append(u.fillers, filler{client, standby})
	}
	return nil
}

func (u *Unit) answerSettled(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), settleWithin)
	defer cancel()
	if err := u.settled(ctx); err != nil {
		http.Error(w, "posts wait for their timelines: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// takeAnnounced fills home timelines with announced posts in the background. end stops that after the posts
// that still wait; the units that announce posts have ended before.
func (u *Unit) takeAnnounced(ctx context.Context) (end func()) {
	taking, stop := context.WithCancel(context.WithoutCancel(ctx))
	subscriber := event.Subscriber{Source: u.broker, Queue: Queue, Handle: u.take}
	var beside sync.WaitGroup
	beside.Go(func() { subscriber.Run(taking, u.LogError) })
	return func() {
		limited, cancel := context.WithTimeout(taking, drainWithin)
		defer cancel()
		if err := u.settled(limited); err != nil {
			u.LogError(err)
		}
		stop()
		beside.Wait()
	}
}
