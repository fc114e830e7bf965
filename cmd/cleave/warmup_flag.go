package main

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/study"
)

// warmUp is the unrecorded load before the measured one, as flags give it: for a time,
// and with a limit until the load is steady.
type warmUp struct{ least, limit time.Duration }

// registerWarmUp adds the flags.
func registerWarmUp(flags *pflag.FlagSet, w *warmUp) {
	w.least = 2 * time.Second
	flags.Var(w, "warm-up", "`length` of the unrecorded load before it; "+study.Steady+": until the load is")
	flags.DurationVar(&w.limit, "warm-up-limit", 0,
		"go on from --warm-up until the load is steady, so long at most (with "+study.Steady+": 1m)")
}

// The methods of pflag.Value.

func (w *warmUp) String() string { return w.least.String() }
func (w *warmUp) Type() string   { return "length" }

func (w *warmUp) Set(text string) (err error) {
	if text == study.Steady {
		w.least, w.limit = 0, cmp.Or(w.limit, study.WarmUpLimit*time.Second)
		return nil
	}
	w.least, err = time.ParseDuration(text)
	return err
}
