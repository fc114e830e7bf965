// Package grpcunary carries gRPC calls over TCP, TLS or Unix sockets. It speaks gRPC's
// protocol over HTTP/2 and interoperates with all other implementations (a test runs both
// of its ends against grpc-go), but supports only unary calls. It replaces gRPC's
// transport behind the same generated code. Errors keep their kind, as over all other
// bindings: the kind is sent as the reason of an ErrorInfo.
//
// We have our own implementation because studies measure the cost of bindings: a call costs a
// fraction of one with grpc-go (make bench-shop). All calls to a server share a connection. Each
// goroutine writes its own frames, and those that others have queued meanwhile. One goroutine per
// connection reads. There is no compression and no balancing over addresses.
//
// Files: frames.go and headers.go hold the protocol, messages.go the encoding of messages, conn.go
// the part that both ends of a connection share, client.go and server.go the ends.
//
// Entry points: NewServer, NewClient.
package grpcunary
