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

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// domain marks the reasons that are kinds of faults.
const domain = "cleave"

// encode makes the status of a fault.
func encode(fault rpc.Fault) *status.Status {
	plain := status.New(code(fault.Kind), fault.Detail)
	detailed, err := plain.WithDetails(&errdetails.ErrorInfo{Reason: fault.Kind, Domain: domain})
	if err != nil {
		return plain // the code alone still says the most
	}
	return detailed
}

// code is the nearest that gRPC itself has for a kind.
func code(kind string) codes.Code {
	switch kind {
	case rpc.InvalidArgument:
		return codes.InvalidArgument
	case rpc.Unavailable:
		return codes.Unavailable
	case rpc.DeadlineExceeded:
		return codes.DeadlineExceeded
	case rpc.Cancelled:
		return codes.Canceled
	case rpc.Internal:
		return codes.Internal
	}
	return codes.FailedPrecondition
}

// decode makes the caller's error of a status. What has no kind was made by gRPC
// itself, at the other end.
func decode(ctx context.Context, faults rpc.Faults, address string, answered *status.Status) error {
	for _, detail := range answered.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return faults.Decode(rpc.Fault{Kind: info.GetReason(), Detail: answered.Message()}, nil)
		}
	}
	fault := rpc.Fault{Kind: rpc.Internal, Detail: answered.Message()}
	switch answered.Code() {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented:
		fault.Kind = rpc.InvalidArgument
	case codes.Unavailable, codes.Canceled, codes.Aborted:
		fault = rpc.Lost(ctx, address)
	case codes.DeadlineExceeded: // the callee can notice first
		fault = rpc.Fault{Kind: rpc.DeadlineExceeded, Detail: "no answer from " + address + " in time"}
	}
	return faults.Decode(fault, answered.Err())
}
