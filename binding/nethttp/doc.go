// Package nethttp carries calls as HTTP/1.1 requests, as Go teams usually do it: with
// net/http and encoding/json with their defaults, persistent connections and limits.
// Bodies are JSON unless client and server have another encoding. The protocol is that of
// package httpjson, our own, cheaper implementation; a test checks that each can call
// the other. Both replace gRPC's transport behind the same generated code.
//
// Entry points: NewServer, NewClient.
package nethttp
