package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
)

// side is one of the things that a row compares. M is what one trial gives.
type side[M any] struct {
	name string
	play func(ctx context.Context) (M, error)
	// says is the trial in one line, for who watches.
	says func(M) string
}

// playRounds plays every side once per round, in random order, and returns what
// each gave: one list per side, one value per round.
func playRounds[M any](ctx context.Context, o options, sides ...side[M]) ([][]M, error) {
	random := rand.New(rand.NewPCG(o.seed, 0))
	results := make([][]M, len(sides))
	for round := 1; round <= o.rounds; round++ {
		for _, at := range random.Perm(len(sides)) {
			s := sides[at]
			got, err := s.play(ctx)
			if err != nil {
				return nil, fmt.Errorf("round %d, %s: %w", round, s.name, err)
			}
			results[at] = append(results[at], got)
			fmt.Fprintf(os.Stderr, "  round %d of %d: %s: %s\n", round, o.rounds, s.name, s.says(got))
		}
	}
	return results, nil
}

// each takes one number out of each trial.
func each[M any](trials []M, number func(M) float64) []float64 {
	values := make([]float64, len(trials))
	for i, trial := range trials {
		values[i] = number(trial)
	}
	return values
}
