// Package scenario describes what operations send, how their answers are judged and what follows: flows
// of steps, chosen by weight, with generated values, data from files, values extracted from answers, and
// cookies. A scenario is written as YAML (cleave-scenario/1, see File and docs/scenarios.md) or built in
// Go from the same types.
//
// A scenario is compiled once into a Plan, which is immutable. Every loop of an engine has its own
// Player, and every flow in progress is a Session. Neither uses sockets or clocks: engines send the
// requests of a session and pass back the answers. DESIGN.md explains the reasons.
//
// Entry points: Parse, Single, File.Compile, Plan.Player, Player.Begin.
package scenario
