// Package threads is the study's multithreading (Rêgo 2021, "Multithreading"):
// a goroutine per worker, two channels per worker, a wait group for the end.
//
// A worker waits in one select for the pong channel and the ping channel, named
// in the study's order. A ping carries the index of its sender, who is found in
// the neighbourhood by it. What differs from the study, and why:
//
//   - A pong carries the index of the answering worker in place of the text
//     "pong", whose content the study calls irrelevant. So the pinger can verify
//     that it was answered by whom it asked, and a word is sent where the text
//     would take two: the check makes the baseline no slower.
//   - Workers whose limit is reached go on answering until all are done; then
//     their ping channels are closed, which costs the select no third case.
//   - A worker may ping itself only where the knob says so.
//
// This is the honest baseline of every ratio: nothing in it is there to make it
// slow. It does not try to be fast either; package threadsfast does.
package threads
