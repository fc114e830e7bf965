// Package threadsfast runs Big in one process as fast as Go lets it with a
// mailbox per worker: what multithreading can be, beside package threads, which
// is what the study had.
//
// Every worker owns its state and a mailbox (mailbox.go): the study's two channels
// in one word, into which any thread may put messages. As many processors as
// GOMAXPROCS allows, one goroutine each, run the workers that have mail
// (processor.go). Why it is fast:
//
//   - A message is one compare-and-swap, taking all that have arrived one swap,
//     and nothing is allocated: the ping is turned into the pong.
//   - A run queue belongs to its processor alone. A processor without work sits on
//     a bench; one that has work sees that and gives half of it away. So nobody
//     spins and nothing is locked while all have work.
//   - A message wakes its receiver on the sender's processor. Workers that talk
//     to each other thus end up on one processor, whose cache has their state.
//     The runtime knows nothing of neighbourhoods; it deals workers out in turn.
//
// What was tried and gave nothing: mailboxes without atomics that belong to a
// processor, with a synchronised list per processor for what comes from others;
// one compare-and-swap less per run. The processor's wrong guesses cost more than
// its atomics, which is why pongs do not go through the list of pings.
//
// It is not a loop over a neighbourhood: that would be several times as fast
// again, but a simulation of message passing with nothing synchronised.
//
// Entry point: NewWorkers.
package threadsfast
