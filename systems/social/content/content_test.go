package content

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// TestAThirdPartyHasFewConnections: twice as many posts as it grants connections take two of
// its answers, a post without media none, and who gives up waits no longer.
func TestAThirdPartyHasFewConnections(t *testing.T) {
	m := NewMedia(true)
	one := &pb.MediaList{Media: []*pb.Medium{{Id: "a", Type: "png"}}}
	begun := time.Now()
	var all sync.WaitGroup
	for range 2 * thirdConnections {
		all.Go(func() {
			if _, err := m.Attach(t.Context(), one); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took < 2*thirdTakes {
		t.Errorf("%d posts took %v, less than two answers", 2*thirdConnections, took)
	}
	for range thirdConnections {
		m.third.connections <- struct{}{}
	}
	if _, err := m.Attach(t.Context(), &pb.MediaList{}); err != nil {
		t.Errorf("a post without media waits: %v", err)
	}
	hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := m.Attach(hurried, one); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who gives up gets %v", err)
	}
}
