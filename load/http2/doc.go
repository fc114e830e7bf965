// Package http2 is the client's side of one HTTP/2 connection (RFC 9113) for a load generator: many
// exchanges at the same time from many goroutines, frames of several exchanges in one write, header
// fields without a dynamic table (RFC 7541), and answers bounded as in package http1. It repeats no
// request, opens no connections and does no TLS: its caller does all of that.
//
// Entry points: Open, Conn.RoundTrip and Exchange.
package http2
