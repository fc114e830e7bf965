// Package grpcunary carries calls with gRPC, over TCP or Unix sockets. It is
// grpc-go with the settings that calls between services on one network need, and
// with errors that keep their kind: the kind travels as the reason of an
// ErrorInfo, so that callers learn the same as over every other binding.
//
// Entry points: NewServer, NewClient.
package grpcunary

import (
	"context"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// domain marks the reasons that are kinds of faults.
const domain = "cleave"

// NewServer makes a server whose messages may have up to maxBody bytes.
func NewServer(maxBody int, faults rpc.Faults) *grpc.Server {
	return grpc.NewServer(grpc.MaxRecvMsgSize(maxBody), grpc.UnaryInterceptor(
		func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			reply, err := handler(ctx, request)
			if err != nil {
				return nil, encode(faults.Encode(err))
			}
			return reply, nil
		}))
}

// encode makes the status of a fault.
func encode(fault rpc.Fault) error {
	plain := status.New(code(fault.Kind), fault.Detail)
	detailed, err := plain.WithDetails(&errdetails.ErrorInfo{Reason: fault.Kind, Domain: domain})
	if err != nil {
		return plain.Err() // the code alone still says the most
	}
	return detailed.Err()
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

// Client calls one server over one connection that all calls share. It
// implements grpc.ClientConnInterface.
type Client struct {
	*grpc.ClientConn
	address string
	faults  rpc.Faults
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// NewClient calls the server at an address: host:port, or unix:PATH. Nothing is
// connected before the first call.
func NewClient(address string, faults rpc.Faults) (*Client, error) {
	target := "passthrough:///" + address
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableServiceConfig())
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	return &Client{connection, address, faults}, nil
}

// Invoke implements grpc.ClientConnInterface.
func (c *Client) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	err := c.ClientConn.Invoke(ctx, method, in, out, options...)
	if err == nil {
		return nil
	}
	return c.decode(ctx, err)
}

// decode makes the caller's error. What has no kind was made by gRPC itself.
func (c *Client) decode(ctx context.Context, err error) error {
	answered := status.Convert(err)
	for _, detail := range answered.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return c.faults.Decode(rpc.Fault{Kind: info.GetReason(), Detail: answered.Message()}, nil)
		}
	}
	switch answered.Code() {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented:
		return c.faults.Decode(rpc.Fault{Kind: rpc.InvalidArgument, Detail: answered.Message()}, err)
	case codes.Internal, codes.Unknown:
		return c.faults.Decode(rpc.Fault{Kind: rpc.Internal, Detail: answered.Message()}, err)
	}
	return c.faults.Decode(c.lost(ctx, answered.Code()), err)
}

// lost is the fault of a call that was not brought to its end. gRPC can notice a
// deadline before the context does.
func (c *Client) lost(ctx context.Context, code codes.Code) rpc.Fault {
	fault := rpc.Lost(ctx, c.address)
	if fault.Kind == rpc.Unavailable && code == codes.DeadlineExceeded {
		fault = rpc.Fault{Kind: rpc.DeadlineExceeded, Detail: "no answer from " + c.address + " in time"}
	}
	return fault
}
