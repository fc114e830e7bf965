// Package scenario says what an operation sends, how its answer is judged and
// what comes next: flows of steps, chosen by weight, with generated values, data
// from files, values taken from answers, and cookies. It is written as YAML
// (cleave-scenario/1, see File and docs/scenarios.md) or built in Go from the same
// types.
//
// A scenario is compiled once into a Plan, which is immutable. Every loop of an
// engine has its own Player, and every flow in progress is a Session. Neither
// knows sockets or clocks: engines send what a session says and hand back what
// came. DESIGN.md says why it is built so.
//
// Entry points: Parse, Single, File.Compile, Plan.Player, Player.Begin.
package scenario
