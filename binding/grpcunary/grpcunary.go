// Package grpcunary carries calls with gRPC, over TCP or Unix sockets: it speaks
// gRPC's protocol over HTTP/2 and understands every other implementation of it (a
// test holds it against grpc-go, both ways), but knows calls of one message each
// way only. It takes the place of gRPC's transport behind the same generated code,
// with errors that keep their kind: the kind travels as the reason of an ErrorInfo,
// so that callers learn the same as over every other binding.
//
// It is written here because the binding is what is measured: a call costs a
// fraction of grpc-go's (make bench-shop). All calls to a server share a connection.
// Whoever has something to say writes it, for all who have something to say at that
// moment; one goroutine per connection reads. There is no TLS, no compression, and
// no balancing over addresses.
//
// Files: frames.go and headers.go are the protocol, conn.go what both ends of a
// connection have in common, client.go and server.go the ends.
//
// Entry points: NewServer, NewClient.
package grpcunary
