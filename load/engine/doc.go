// Package engine sends load: plain HTTP/1.1 requests over TCP or Unix sockets, in an open loop (operations
// are due by a schedule, whatever the target does) or a closed loop (users who wait for each answer). One
// thread with an epoll instance of its own sends, reads, judges and records everything.
//
// It resolves no names, follows no redirects, speaks no TLS and does not decide whether a target may be
// loaded: the caller passes an address. It computes no statistics; package record does.
//
// Entry points: NewTarget and RunAll. Package stream, the engine for all other protocols, shares Load,
// Report, Limit, Agenda and the outcomes of errors. DESIGN.md beside this file says why this engine waits the
// way it does, and what that costs.
package engine
