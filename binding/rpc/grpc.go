package rpc

import (
	"context"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// GRPCType is the content type of gRPC; a suffix +NAME names the encoding of messages.
const GRPCType = "application/grpc"

// domain is the domain of ErrorInfos whose reason is the kind of a problem.
const domain = "cleave"

// Status returns the problem as a status of gRPC: the kind travels as the reason of an
// ErrorInfo.
func (p *Problem) Status() *status.Status {
	plain := status.New(p.code(), p.Detail)
	detailed, err := plain.WithDetails(&errdetails.ErrorInfo{Reason: string(p.Kind), Domain: domain})
	if err != nil {
		return plain // without details the code still tells most
	}
	return detailed
}

// code returns the gRPC code that is nearest to the kind.
func (p *Problem) code() codes.Code {
	switch p.Kind {
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

// CheckGRPCType returns nil if a server whose encoding is own accepts the content type sent, else the status
// to refuse it with. A content type without an encoding means Protocol Buffers; its parameters are ignored.
func CheckGRPCType(sent string, own Codec) *status.Status {
	rest, isGRPC := strings.CutPrefix(sent, GRPCType)
	rest, _, _ = strings.Cut(rest, ";")
	encoding, isNamed := strings.CutPrefix(rest, "+")
	switch {
	case !isGRPC, !isNamed && rest != "":
		return status.Newf(codes.InvalidArgument, "%q is no gRPC call", sent)
	case isNamed && encoding == GRPCName(own), !isNamed && own == Codec(Protobuf{}):
		return nil
	}
	return status.Newf(codes.Unimplemented, "the request is %q: send %s+%s", sent, GRPCType, GRPCName(own))
}

// ProblemOfStatus returns the problem of a call that failed with a status. A status
// without a kind was created by gRPC itself, at either end; its code decides then.
func ProblemOfStatus(ctx context.Context, callee string, answered *status.Status) *Problem {
	for _, detail := range answered.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == domain {
			return &Problem{Kind: Kind(info.GetReason()), Detail: answered.Message()}
		}
	}
	switch cause := answered.Err(); answered.Code() {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.Unimplemented:
		return &Problem{InvalidArgument, answered.Message(), cause}
	case codes.Unavailable, codes.Canceled, codes.Aborted:
		return Lost(ctx, callee, cause)
	case codes.DeadlineExceeded: // the callee can notice first
		return late(callee, cause)
	default:
		return &Problem{Internal, answered.Message(), cause}
	}
}
