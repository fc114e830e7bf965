// Package nethttp carries calls as HTTP/1.1 requests the way a Go team writes it
// today: net/http and encoding/json as they come, with kept connections and with
// limits. Bodies are JSON unless rpc.Encoded says otherwise. On the wire it is what
// package httpjson speaks, which costs less and is ours: each understands the other
// (a test holds them together). It takes the place of gRPC's transport behind the
// same generated code.
//
// Entry points: NewServer, NewClient.
package nethttp
