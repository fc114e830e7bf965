package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// playEncodings compares the encodings over each binding with the binding's own: CPU time and bytes.
func playEncodings(ctx context.Context, o options) (all []figures.Figure, err error) {
	for _, binding := range []struct{ name, own string }{{"net/http", kit.JSON}, {"grpc-go", kit.Protobuf},
		{"httpjson", kit.JSON}, {"grpcunary", kit.Protobuf}} {
		values := slices.DeleteFunc(kit.Encoding().Values, func(value string) bool {
			return value == kit.OwnEncoding || value == binding.own
		})
		some, err := playEach(ctx, o, binding.name+" call", append([]string{binding.own}, values...),
			func(value string) callJob {
				return callJob{Binding: binding.name, Callers: 16, Security: kit.Plain, Encoding: value, Sizes: true}
			})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// playEach plays a trial with every value of a knob of calls, and compares them with the first value.
func playEach(
	ctx context.Context, o options, what string, values []string, jobOf func(value string) callJob,
) (all []figures.Figure, err error) {
	var sides []figures.Side[callCost]
	for _, value := range values {
		side := callSide(o, jobOf(value))
		side.Name = what + ", " + value
		sides = append(sides, side)
	}
	results, err := figures.Play(ctx, o.figureRounds(), sides...)
	if err != nil {
		return nil, err
	}
	for i, value := range values {
		name := what + ", " + value
		all = append(all,
			figures.Median(name+", CPU", "s", lab.LowerIsBetter, figures.Each(results[i], callCost.cpu)),
			figures.Median(name+", wall", "s", lab.LowerIsBetter, figures.Each(results[i], callCost.wall)))
		if results[i][0].Bytes > 0 {
			all = append(all,
				figures.Median(name+", bytes", "B", lab.LowerIsBetter, figures.Each(results[i], callCost.bytes)))
		}
		if i == 0 {
			continue
		}
		ratio, err := figures.Ratio(name+" / "+values[0]+", CPU", lab.LowerIsBetter,
			figures.Each(results[i], callCost.cpu), figures.Each(results[0], callCost.cpu))
		if err != nil {
			return nil, err
		}
		all = append(all, ratio)
	}
	return all, nil
}

// bytesPerCall returns the bytes of a call in both directions, on a connection that is in use.
func bytesPerCall(job callJob) (size float64, err error) {
	const calls = 100
	var bytes atomic.Int64
	catalog, stop, err := serveQuotes(job, &bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := callAll(catalog, 1, calls); err != nil { // compressed headers have become short
		return 0, err
	}
	before := bytes.Load()
	if err := callAll(catalog, 1, calls); err != nil {
		return 0, err
	}
	return float64(bytes.Load()-before) / calls, nil
}
