package rpc

import (
	"context"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// GRPCType is the content type of gRPC; +NAME behind it names the encoding of messages.
const GRPCType = "application/grpc"

// domain marks the reasons that are kinds of faults.
const domain = "cleave"

// Status returns the fault as a status of gRPC: the kind travels as the reason of an
// ErrorInfo.
func (f Fault) Status() *status.Status {
	plain := status.New(f.code(), f.Detail)
	detailed, err := plain.WithDetails(&errdetails.ErrorInfo{Reason: f.Kind, Domain: domain})
	if err != nil {
		return plain // the code alone still says the most
	}
	return detailed
}

// CheckGRPCType returns why a call of a content type is not for a server of an encoding; nil if it is. A call
// that names no encoding is in Protocol Buffers.
func CheckGRPCType(sent string, own Codec) *status.Status {
	name, is := strings.CutPrefix(sent, GRPCType)
	if i := strings.IndexByte(name, ';'); i >= 0 {
		name = name[:i]
	}
	switch {
	case !is || name != "" && name[0] != '+':
		return status.Newf(codes.InvalidArgument, "%q is no gRPC call", sent)
	case name == "" && own == Codec(Protobuf{}), name != "" && name[1:] == GRPCName(own):
		return nil
	}
	return status.Newf(codes.Unimplemented, "the request is %q: send %s+%s", sent, GRPCType, GRPCName(own))
}

// code returns the nearest that gRPC itself has for a kind.
func (f Fault) code() codes.Code {
	switch f.Kind {
	case InvalidArgument:
		return codes.InvalidArgument
	case Unavailable:
		return codes.Unavailable
	case DeadlineExceeded:
		return codes.DeadlineExceeded
	case Cancelled:
		return codes.Canceled
	case Internal:
		return codes.Internal
	}
	return codes.FailedPrecondition
}

// DecodeStatus makes the caller's error of a status. What has no kind was made by
// gRPC itself, at either end.
func DecodeStatus(ctx context.Context, faults Faults, callee string, answered *status.Status) error {
	for _, detail := range answered.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return faults.Decode(Fault{Kind: info.GetReason(), Detail: answered.Message()}, nil)
		}
	}
	fault := Fault{Kind: Internal, Detail: answered.Message()}
	switch answered.Code() {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented:
		fault.Kind = InvalidArgument
	case codes.Unavailable, codes.Canceled, codes.Aborted:
		fault = Lost(ctx, callee)
	case codes.DeadlineExceeded: // the callee can notice first
		fault = Fault{Kind: DeadlineExceeded, Detail: "no answer from " + callee + " in time"}
	}
	return faults.Decode(fault, answered.Err())
}
