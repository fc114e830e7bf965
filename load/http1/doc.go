// Package http1 parses answers of HTTP/1.1 servers (RFC 9112) from pieces of any size. It keeps only the
// parts that the caller asks for and bounds all memory, so a server cannot exhaust it. It knows no
// sockets.
//
// Entry points: Response.Begin, Feed and End.
package http1
