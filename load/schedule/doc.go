// Package schedule computes when operations are due: constant and Poisson arrivals, ramps, steps and
// recorded times. It only computes: it reads no clock, never sleeps and sends nothing.
//
// Entry points: Constant, Ramp, Steps and Replay return a Schedule; its methods Random and Jittered
// return variations of it. Schedule.Arrivals yields the due times one by one. ParseRate parses "300/m".
// DESIGN.md in this folder has the equations.
package schedule
