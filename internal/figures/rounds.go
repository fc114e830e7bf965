package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Side is one of the things that a benchmark compares. M is what one trial gives.
type Side[M any] struct {
	Name string
	// Play plays one trial; a side that draws lots draws them from the seed.
	Play func(ctx context.Context, seed uint64) (M, error)
	// Says is the trial in one line, for who watches.
	Says func(M) string
}

// Rounds configures how sides take turns.
type Rounds struct {
	Count int
	Seed  uint64    // of the order of trials, and of the seeds that they are given
	Story io.Writer // has a line per trial
}

// Play plays every side once per round, in random order, so that what changes on
// the host during a run falls on all sides alike. It returns what each gave: one
// list per side, in the order of the sides, one value per round. The first trial
// that fails ends it.
func Play[M any](ctx context.Context, rounds Rounds, sides ...Side[M]) ([][]M, error) {
	random := rand.New(rand.NewPCG(rounds.Seed, 0))
	results := make([][]M, len(sides))
	for round := 1; round <= rounds.Count; round++ {
		for _, at := range random.Perm(len(sides)) {
			s := sides[at]
			got, err := s.Play(ctx, random.Uint64())
			if err != nil {
				return nil, errors.Join(fmt.Errorf("round %d, %s: %w", round, s.Name, err), ctx.Err())
			}
			results[at] = append(results[at], got)
			fmt.Fprintf(rounds.Story, "  round %d of %d: %s: %s\n", round, rounds.Count, s.Name, s.Says(got))
		}
	}
	return results, nil
}

// Each takes one number out of each trial.
func Each[M any](trials []M, number func(M) float64) []float64 {
	values := make([]float64, len(trials))
	for i, trial := range trials {
		values[i] = number(trial)
	}
	return values
}
