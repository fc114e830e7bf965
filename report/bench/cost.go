//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/traces"
)

// playTracing measures the CPU time of an instrumented server that records spans of none, of one in 32 and of
// all of its requests, and of the same server without instruments.
func playTracing(ctx context.Context, p player, seed uint64, found *tally) error {
	receiver := traces.Collector{}.Receive()
	variables, err := receiver.Listen("127.0.0.1")
	if err != nil {
		return err
	}
	defer func() { _, _ = receiver.Close(time.Time{}, time.Time{}) }() // its spans are not used
	variables = append(variables, "OTEL_BSP_SCHEDULE_DELAY=200")       // milliseconds until spans are sent
	return p.serving(ctx, "", nil, func(plain string) error {
		return p.serving(ctx, "-traced", variables, func(traced string) error {
			sides := []figures.Side[float64]{p.costing("without instruments", plain, "0"),
				p.costing("no request", traced, "0"), p.costing("1 request in 32", traced, "1/32"),
				p.costing("every request", traced, "1")}
			rounds := figures.Rounds{Count: 6, Seed: seed, Story: p.story}
			if p.quick {
				rounds.Count = 2
			}
			costs, err := figures.Play(ctx, rounds, sides...)
			if err != nil {
				return err
			}
			return found.addTracing(sides, costs)
		})
	})
}

// costing returns a side that measures the CPU time of a server in microseconds per request, with spans of
// a share of the requests.
func (p player) costing(name, url, share string) figures.Side[float64] {
	play := func(ctx context.Context, seed uint64) (float64, error) {
		before, err := usedBy(ctx, url)
		if err != nil {
			return 0, err
		}
		var got loaded
		err = p.run(ctx, &got, "load", url, "--rate", "500", "--duration", "4s", "--trace-share", share,
			"--seed", fmt.Sprint(seed))
		if err != nil {
			return 0, err
		}
		time.Sleep(time.Second) // until the server has sent its last spans
		after, err := usedBy(ctx, url)
		return (after - before).Seconds() / float64(got.Sent) * 1e6, err
	}
	return figures.Side[float64]{Name: "spans of " + name, Play: play,
		Says: func(cost float64) string { return fmt.Sprintf("%.1f us", cost) }}
}

// usedBy asks a server for the CPU time that it has used.
func usedBy(ctx context.Context, url string) (time.Duration, error) {
	answer, err := get(ctx, url+"used")
	if err != nil {
		return 0, fmt.Errorf("ask a server what it used: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Errorf("ask a server what it used: %w", err)
	}
	nanoseconds, err := strconv.ParseInt(string(text), 10, 64)
	return time.Duration(nanoseconds), err
}

// addTracing adds the CPU time per request of each side, and its ratio to the instrumented server that
// records no spans.
func (t *tally) addTracing(sides []figures.Side[float64], costs [][]float64) error {
	for i, side := range sides {
		t.each = append(t.each, figures.Median("CPU per request, "+side.Name, "us", lab.LowerIsBetter, costs[i]))
	}
	const base = 1 // the side that records no spans
	for i, side := range sides {
		if i == base {
			continue
		}
		ratio, err := figures.Ratio("CPU per request, "+side.Name+" / "+sides[base].Name, lab.LowerIsBetter,
			costs[i], costs[base])
		if err != nil {
			return err
		}
		t.each = append(t.each, ratio)
	}
	return nil
}
