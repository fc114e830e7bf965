package event

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/backing/broker"
)

// What units ask each other of their consumers. A broker may not tell what it has handed out and
// nobody has acknowledged (broker.Depth); each unit knows its own.
const consumers, takenCall = "cleave.event.v1.Consumers", "Taken"

// Working is the answer of a unit that works on a message.
const Working = -1

// Taken returns how many messages the consumers of this unit have taken in since it began, or Working.
func Taken(client broker.Client) int64 {
	if client.Held() > 0 {
		return Working
	}
	return client.Counts().Delivered
}

// OfferTaken answers AskTaken over a binding.
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

// AskTaken is Taken of the unit at the other end of a binding.
func AskTaken(ctx context.Context, unit grpc.ClientConnInterface) (int64, error) {
	var taken wrapperspb.Int64Value
	err := unit.Invoke(ctx, "/"+consumers+"/"+takenCall, &emptypb.Empty{}, &taken)
	return taken.GetValue(), err
}
