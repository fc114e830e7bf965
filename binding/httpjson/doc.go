// Package httpjson carries calls as HTTP/1.1 requests, over TCP or Unix sockets:
// POST /package.Service/Method, with JSON bodies unless rpc.Encoded sets another
// encoding. It replaces gRPC's transport behind the same generated code. The time left
// for a call travels in the field Cleave-Context; a caller that gives up closes its
// connection, which cancels the callee's context. A failure is answered with a status
// of 400 or above and the body {"kind": ..., "detail": ...}.
//
// Every connection has its goroutine and carries one call at a time; messages are
// read and written by package leanhttp, so a call costs a fraction of net/http's
// (make bench-shop).
//
// Entry points: NewServer, NewClient.
package httpjson
