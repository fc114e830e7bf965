// Package http1 reads answers of HTTP/1.1 servers (RFC 9112) as their bytes come,
// in whatever pieces. It keeps what somebody asked for and bounds everything: a
// server cannot make it grow. It knows no sockets.
//
// Entry points: Response.Begin, Feed and End.
package http1
