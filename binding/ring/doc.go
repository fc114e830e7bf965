// Package ring carries messages between processes through memory they share: an
// Inbox is a bounded ring of 32-bit messages with many senders and one reader,
// who can sleep on a futex until something arrives.
//
// It neither creates nor maps the memory: Attach uses bytes that the caller has
// mapped as inboxes. Zeroed memory is an empty inbox.
//
// Guarantees:
//   - Every message is delivered exactly once, and messages of one sender in the
//     order in which they were sent. (Between senders the order is that of their
//     reservations of slots.)
//   - An inbox never blocks a sender and never loses a message: when it is full,
//     Send fails with ErrFull. Choose a capacity of at least the number of messages
//     that can be unread at once; see systems/big/shm.
//   - No lock is ever held, so a process that dies leaves nothing to release. If
//     it dies between reserving a slot and filling it, the reader waits at that
//     slot forever. This package does not detect that: the process that started the
//     others must notice the death and end them.
//
// The ring follows Vyukov's bounded queue (2010, 1024cores.net, "Bounded MPMC
// queue"), reduced to one reader, with the slot's lap and its message in one
// 64-bit word, so that one store publishes both.
package ring
