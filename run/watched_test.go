package run

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Look implements lab.Progress. Trial, Loaded and Used implement lab.SecondsWatcher.
func (r *rooms) Look(block int, headline lab.Headline) {
	r.watched = append(r.watched, fmt.Sprintf("after block %d: %s", block, headline.Title))
}

func (r *rooms) Trial(number, attempt int) {
	r.watched = append(r.watched, fmt.Sprintf("trial %d/%d", number, attempt))
}

func (r *rooms) Loaded(s lab.LoadSecond) {
	r.watched = append(r.watched, fmt.Sprint("load ", s.Failed))
}
func (r *rooms) Used(s lab.UsedSecond) { r.watched = append(r.watched, fmt.Sprint("use ", s.Cores)) }

// followed is a meter that reports a second of use at once.
type followed struct{ *rooms }

func (f followed) Watch(context.Context, []lab.Unit) (lab.Metering, error) {
	return followedMetering{}, nil
}

type followedMetering struct{ metering }

func (followedMetering) Follow(report func(lab.UsedSecond)) error {
	report(lab.UsedSecond{Cores: map[string]float64{"one": 0.5}})
	return nil
}

// TestWatchersGetLoadUsageAndHeadlines checks that watchers get the load and the usage of each trial, and the
// headline of the first two blocks before the third.
func TestWatchersGetLoadUsageAndHeadlines(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Meter = followed{r}
	c.Seconds = r
	c.Stopping = &fakeRule{}
	p := blocks(3)
	p.Study.Design.Until = ""
	testset.Must(t, c.Play(t.Context(), p))
	var want []string
	for i := range 6 {
		if i == 4 {
			want = append(want, "after block 2: 4 trials")
		}
		want = append(want, fmt.Sprintf("trial %d/1", i+1), fmt.Sprint("load ", i+1), "use map[one:0.5]")
	}
	if !slices.Equal(r.watched, want) {
		t.Errorf("watchers get %q, want %q", r.watched, want)
	}
}
