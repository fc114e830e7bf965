package figures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
)

// played is the result of a trial of one of the sides that spies returns.
type played struct {
	side int
	seed uint64
}

// spies returns sides that record the order in which they are played.
func spies(count int, order *[]int) []Side[played] {
	sides := make([]Side[played], count)
	for i := range sides {
		sides[i] = Side[played]{
			Name: fmt.Sprintf("side %d", i),
			Play: func(_ context.Context, seed uint64) (played, error) {
				*order = append(*order, i)
				return played{i, seed}, nil
			},
			Says: func(p played) string { return fmt.Sprintf("this is %d", p.side) },
		}
	}
	return sides
}

// TestPlayNeedsARound: without one there would be no figures.
func TestPlayNeedsARound(t *testing.T) {
	var order []int
	_, err := Play(t.Context(), Rounds{Story: &bytes.Buffer{}}, spies(2, &order)...)
	if err == nil || len(order) > 0 {
		t.Errorf("of 0 rounds %d trials were played: %v", len(order), err)
	}
}

func TestPlay(t *testing.T) {
	const sides, count = 4, 5
	run := func(seed uint64) (order []int, results [][]played, story string) {
		var text bytes.Buffer
		results, err := Play(t.Context(), Rounds{Count: count, Seed: seed, Story: &text}, spies(sides, &order)...)
		testset.Must(t, err)
		return order, results, text.String()
	}
	order, results, story := run(1)
	for round := range slices.Chunk(order, sides) {
		if !slices.Equal(slices.Sorted(slices.Values(round)), []int{0, 1, 2, 3}) {
			t.Errorf("a round plays the sides %v, want each once", round)
		}
	}
	if slices.Equal(order[:2*sides], append(slices.Clone(order[:sides]), order[:sides]...)) {
		t.Errorf("the order is %v: the second round repeats the first", order)
	}
	seeds := map[uint64]bool{}
	for i, list := range results {
		for _, trial := range list {
			seeds[trial.seed] = true
			if trial.side != i {
				t.Errorf("the results of side %d hold a trial of side %d", i, trial.side)
			}
		}
	}
	if len(results) != sides || len(results[3]) != count || len(seeds) != sides*count {
		t.Errorf("results %v: want %d sides, %d rounds, a seed per trial", results, sides, count)
	}
	if lines := strings.Count(story, "\n"); lines != sides*count ||
		!strings.Contains(story, "  round 2 of 5: side 3: this is 3\n") {
		t.Errorf("the story has %d lines:\n%s", lines, story)
	}
	if again, _, _ := run(1); !slices.Equal(again, order) {
		t.Errorf("the same seed orders %v, then %v", order, again)
	}
	if other, _, _ := run(2); slices.Equal(other, order) {
		t.Errorf("another seed has the same order %v", order)
	}
}

func TestPlayEndsWithTheFirstFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var order []int
	sides := spies(1, &order)
	broken := errors.New("broken")
	sides[0].Play = func(context.Context, uint64) (played, error) {
		if order = append(order, 0); len(order) == 2 {
			cancel()
			return played{}, broken
		}
		return played{}, nil
	}
	_, err := Play(ctx, Rounds{Count: 3, Story: &bytes.Buffer{}}, sides...)
	if !errors.Is(err, broken) || !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "round 2, side 0: broken") {
		t.Errorf("%v, want what broke, in which trial, and that the run was cancelled", err)
	}
	if len(order) != 2 {
		t.Errorf("%d trials were played, want 2", len(order))
	}
}

func TestEach(t *testing.T) {
	got := Each([]played{{3, 0}, {1, 0}}, func(p played) float64 { return float64(p.side) })
	if !slices.Equal(got, []float64{3, 1}) {
		t.Errorf("got %v, want 3 and 1", got)
	}
}
