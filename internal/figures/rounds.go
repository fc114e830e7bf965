package figures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
)

// Side is one of the things that a benchmark compares. M is the result of one trial.
type Side[M any] struct {
	Name string
	// Play plays one trial; seed is the seed for its random choices.
	Play func(ctx context.Context, seed uint64) (M, error)
	// Says returns a line about the result, for Rounds.Story.
	Says func(M) string
}

// Rounds configures how sides take turns.
type Rounds struct {
	Count int
	Seed  uint64    // determines the order of trials and their seeds
	Story io.Writer // gets a line per trial
}

// Play plays every side once per round, in random order, so that changes of the host
// during a run affect all sides alike. It returns the results: one list per side, in
// the order of the sides, with one value per round. It stops at the first failed trial.
func Play[M any](ctx context.Context, rounds Rounds, sides ...Side[M]) ([][]M, error) {
	if rounds.Count < 1 {
		return nil, fmt.Errorf("%d rounds, expected at least 1", rounds.Count)
	}
	random := rand.New(rand.NewPCG(rounds.Seed, 0))
	results := make([][]M, len(sides))
	for round := 1; round <= rounds.Count; round++ {
		for _, at := range random.Perm(len(sides)) {
			s := sides[at]
			got, err := s.Play(ctx, random.Uint64())
			if err != nil {
				// After an interrupt the error of the trial alone may not say that ctx has ended.
				return nil, errors.Join(fmt.Errorf("round %d, %s: %w", round, s.Name, err), ctx.Err())
			}
			results[at] = append(results[at], got)
			fmt.Fprintf(rounds.Story, "  round %d of %d: %s: %s\n", round, rounds.Count, s.Name, s.Says(got))
		}
	}
	return results, nil
}

// Each returns the results of number for each of the trials, in their order.
func Each[M any](trials []M, number func(M) float64) []float64 {
	values := make([]float64, len(trials))
	for i, trial := range trials {
		values[i] = number(trial)
	}
	return values
}
