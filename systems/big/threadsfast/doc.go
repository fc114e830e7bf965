// Package threadsfast runs Big in one process as fast as Go allows with a
// mailbox per worker. It is the tuned version of package threads, which is the
// study's.
//
// Every worker owns its state and a mailbox (mailbox.go): the study's two channels
// in one word, to which any thread may add messages. GOMAXPROCS processors, each a
// goroutine, run the workers that have messages (processor.go). Why it is fast:
//
//   - Sending a message takes one compare-and-swap, taking all messages one swap,
//     and nothing is allocated: the ping is turned into the pong.
//   - A run queue is accessed by its processor alone. A processor without work
//     waits on a bench; one that has work notices and gives it half of its queue.
//     So nothing spins, and nothing is locked while all have work.
//   - A message wakes its receiver on the sender's processor. Workers that talk
//     to each other thus end up on one processor, whose cache has their state.
//     Workers are assigned to processors in turn, without regard to neighbourhoods.
//
// Tried without a gain: mailboxes without atomics that belong to a processor, with
// a synchronised list per processor for messages from others; and one
// compare-and-swap less per run. Mispredicted branches cost more than atomics,
// which is why pongs do not go through the list of pings.
//
// A loop over a neighbourhood would be several times as fast again, but it would
// only simulate message passing, without any synchronisation.
//
// Entry point: NewWorkers.
package threadsfast
