// Package grpcunary carries gRPC calls over TCP, TLS or Unix sockets. It speaks gRPC's
// protocol over HTTP/2 and interoperates with every other implementation of it (a test
// runs it against grpc-go, both ways), but supports only unary calls. It replaces
// gRPC's transport behind the same generated code, with errors that keep their kind:
// the kind travels as the reason of an ErrorInfo, so that callers learn the same as
// over every other binding.
//
// It is written here because the binding is what studies measure: a call costs a
// fraction of grpc-go's (make bench-shop). All calls to a server share a connection.
// Each goroutine writes its own frames, and those that others have queued meanwhile;
// one goroutine per connection reads. There is no compression and no balancing over
// addresses.
//
// Files: frames.go and headers.go hold the protocol, conn.go the part that both ends
// of a connection share, client.go and server.go the ends.
//
// Entry points: NewServer, NewClient.
package grpcunary
