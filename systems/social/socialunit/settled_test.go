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

// slowGraph takes long to tell who follows somebody, as in a large network, and counts.
type slowGraph struct {
	pb.SocialGraph
	told *atomic.Int64
}

func (g slowGraph) Followers(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	time.Sleep(300 * time.Millisecond)
	defer g.told.Add(1)
	return g.SocialGraph.Followers(ctx, in)
}

// TestSettledMeansThatNobodyFillsATimeline: RabbitMQ has handed out all announcements at once, to a unit
// that works on them for seconds.
func TestSettledMeansThatNobodyFillsATimeline(t *testing.T) {
	var told atomic.Int64
	n := startWith(t, architecture.Services,
		map[string]string{"fan_out_by": "events", "broker": "rabbitmq", "calls": "http"}, peopleOf(t, 12, 20),
		func(u *Unit) {
			if slices.Contains(u.unit.Components, parts.HomeTimelinesName) {
				u.parts.HomeTimelines = timelines.NewHome(u.stores[parts.HomeTimelinesName], nil,
					slowGraph{u.parts.SocialGraph, &told}, u.parts.UserTimelines, u.parts.Posts, u.parts.Users)
			}
		})
	const posts = 10
	for i := range posts {
		n.compose(t, 1+i%3, fmt.Sprintf("post %d", i))
	}
	n.settle(t)
	if got := told.Load(); got != posts {
		t.Errorf("settled, and %d of %d posts are in home timelines", got, posts)
	}
}
