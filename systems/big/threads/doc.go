// Package threads is the study's multithreading (Rêgo 2021, "Multithreading"):
// a goroutine per worker, two channels per worker, a wait group for the end.
//
// A worker waits in one select for the pong channel and the ping channel, in the
// study's order. A ping carries the index of its sender in the neighbourhood.
// Differences from the study, and why:
//
//   - A pong carries the index of the answering worker in place of the text
//     "pong", whose content the study calls irrelevant. So a worker can verify
//     that the pinged worker has answered. A word is sent instead of a string,
//     which takes two: the check does not make the baseline slower.
//   - Workers that have reached their limit go on answering until all have; then
//     their ping channels are closed, so that the select needs no third case.
//   - A worker pings itself only if the knob self is on.
//
// This is the baseline of the ratios. It is neither slowed down nor tuned; package
// threadsfast is tuned.
//
// Entry point: NewWorkers.
package threads
