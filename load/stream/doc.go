// Package stream sends load over the protocols that the event loop (package engine) lacks: HTTP/1.1 over
// TLS, HTTP/2 (over TLS, or in clear text by prior knowledge) and unary gRPC calls. It plays the same
// scenarios by the same schedules into the same recorder as package engine, with a goroutine for every
// flow in progress.
//
// It resolves no names, follows no redirects, uses no proxy, repeats only requests that are safe to repeat,
// and does not decide whether a target may be loaded: the caller passes an address. It computes no
// statistics; package record does.
//
// Entry point: Run. DESIGN.md beside this file says what its times mean and how
// exact they are.
package stream
