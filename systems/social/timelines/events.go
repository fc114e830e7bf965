package timelines

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// Queue is where posts wait until home timelines have them.
const Queue = parts.HomeTimelinesName

// posted is the type of a message that announces a post.
const posted = "post.composed"

// Topology returns what filling home timelines by events needs of a broker.
func Topology() broker.Topology {
	return broker.Topology{Exchange: "social", Queues: []broker.Queue{{Name: Queue, Types: []string{posted}}}}
}

// Announcer tells home timelines of posts through a broker.
type Announcer struct{ Broker broker.Client }

// Add returns when the broker has the entry on its disk: home timelines will have it, some
// time later.
func (a Announcer) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	body, err := proto.Marshal(in)
	if err == nil {
		err = a.Broker.Publish(ctx, broker.Message{ID: in.GetPost(), Type: posted, Key: in.GetUser(), Body: body})
	}
	return &pb.Empty{}, err
}

// Take enters posts that were announced; it is an event.Handler. One that comes once more
// does nothing. What fails is waited out: the message is not to blame, unless it cannot be
// read.
func (t *Home) Take(ctx context.Context, messages []broker.Message) error {
	for _, message := range messages {
		var entry pb.Entry
		if err := proto.Unmarshal(message.Body, &entry); err != nil {
			return fmt.Errorf("the announcement %q is no entry: %w", message.ID, err)
		}
		if _, err := t.Add(ctx, &entry); err != nil {
			return event.Unavailable(err)
		}
	}
	return nil
}
