package event

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/backing/broker"
)

// The service and method with which units ask each other about their consumers. Not every broker can report
// its unacknowledged messages (see broker.Depth); but each unit knows those that it holds.
const consumers, takenCall = "cleave.event.v1.Consumers", "Taken"

// Working is the result of Taken if the unit still handles a message.
const Working = -1

// Taken returns the number of messages that this unit's consumers have received since its start, or Working.
func Taken(client broker.Client) int64 {
	if client.Held() > 0 {
		return Working
	}
	return client.Counts().Delivered
}

// OfferTaken registers the service that answers AskTaken.
func OfferTaken(binding grpc.ServiceRegistrar, client broker.Client) {
	answer := func(
		_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor,
	) (any, error) {
		if err := decode(&emptypb.Empty{}); err != nil {
			return nil, err
		}
		return wrapperspb.Int64(Taken(client)), nil
	}
	binding.RegisterService(&grpc.ServiceDesc{ServiceName: consumers, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: takenCall, Handler: answer}}}, client)
}

// AskTaken returns Taken of the unit at the other end of a binding.
func AskTaken(ctx context.Context, unit grpc.ClientConnInterface) (int64, error) {
	var taken wrapperspb.Int64Value
	err := unit.Invoke(ctx, "/"+consumers+"/"+takenCall, &emptypb.Empty{}, &taken)
	return taken.GetValue(), err
}
