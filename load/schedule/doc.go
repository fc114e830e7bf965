// Package schedule says when operations are due: constant and Poisson arrivals,
// ramps, steps and recorded times. It is arithmetic only: it reads no
// clock, sleeps never and sends nothing.
//
// Entry points: Constant, Ramp, Steps and Replay make a Schedule, Random and Jittered another one of a
// Schedule; Schedule.Arrivals yields its due times one by one; ParseRate reads
// "300/m". DESIGN.md beside this file has the equations.
package schedule
