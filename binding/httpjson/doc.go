// Package httpjson carries calls as HTTP/1.1 requests, over TCP or Unix sockets:
// POST /package.Service/Method, with JSON bodies unless client and server have
// another encoding. It replaces gRPC's transport behind the same generated code. The header
// field Cleave-Context has the time left for a call, in the format of rpc.AppendTimeout. A
// caller that gives up closes its connection, which cancels the callee's context. The answer
// to a failed call has a status of 400 or above and the body {"kind": ..., "detail": ...}.
//
// Every connection has its goroutine and carries one call at a time. Messages are
// read and written by package leanhttp, so a call costs a fraction of one with net/http
// (make bench-shop).
//
// Entry points: NewServer, NewClient.
package httpjson
