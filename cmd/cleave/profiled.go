package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/study"
)

// profileFlag has variants profiled: --profile, or --profile=5.
const profileFlag = "profile"

// profiledFlag is its value: in how many blocks.
type profiledFlag int

func (p *profiledFlag) register(flags *pflag.FlagSet) {
	flags.IntVar((*int)(p), profileFlag, 0, "also play every variant under the profiler of its runtime (Java, "+
		"Node.js, our units in Go) in so many `blocks`; "+
		"such trials are not timed (docs/profiling.md)")
	flags.Lookup(profileFlag).NoOptDefVal = strconv.Itoa(study.ProfiledByDefault)
}

// blocks are how many were asked for; nil: nobody has.
func (p *profiledFlag) blocks(flags *pflag.FlagSet) *int {
	if !flags.Changed(profileFlag) {
		return nil
	}
	return (*int)(p)
}
