package socialunit

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

// slowGraph takes 300 ms to return followers, as in a large network, and counts its answers.
type slowGraph struct {
	pb.SocialGraph
	answered *atomic.Int64
}

func (g slowGraph) Followers(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	time.Sleep(300 * time.Millisecond)
	defer g.answered.Add(1)
	return g.SocialGraph.Followers(ctx, in)
}

// TestSettledMeansThatNobodyFillsATimeline: RabbitMQ delivers all announcements at once to a unit that works
// on them for seconds. The network is settled only after that.
func TestSettledMeansThatNobodyFillsATimeline(t *testing.T) {
	var answered atomic.Int64
	n := startWith(t, architecture.Services,
		map[string]string{"fan_out_by": "events", "broker": "rabbitmq", "calls": "http"}, peopleOf(t, 12, 20),
		func(u *Unit) {
			if slices.Contains(u.unit.Components, parts.HomeTimelinesName) {
				u.parts.HomeTimelines = timelines.NewHome(u.stores[parts.HomeTimelinesName], nil,
					slowGraph{u.parts.SocialGraph, &answered}, u.parts.UserTimelines, u.parts.Posts, u.parts.Users)
			}
		})
	const posts = 10
	for i := range posts {
		n.compose(t, 1+i%3, fmt.Sprintf("post %d", i))
	}
	n.settle(t)
	if got := answered.Load(); got != posts {
		t.Errorf("settled while only %d of %d posts are in home timelines", got, posts)
	}
}
