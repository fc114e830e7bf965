// Package grpcservice is the architecture grpc of Big: one process per worker,
// unary gRPC calls with protobuf messages over TCP, one persistent client
// connection per neighbour. It is what a team would use today, written as in the
// documentation of grpc-go, and corresponds to the architecture http: the same
// endpoints, concurrent serving, a goroutine of its own that pings.
//
// The messages are in pb/big.proto; the Go files beside it are generated.
//
// Entry points: NewCore and RunWorker.
package grpcservice

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/grpcservice/pb"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
	"github.com/cleave-lab/cleave/unit"
)

// core implements big.Workers by calls to the worker processes.
type core struct {
	pb.UnimplementedCoreServer
	*big.Reception
	job     big.UnitJob
	server  *grpc.Server
	workers []*grpc.ClientConn // by number, once all have registered
}

// NewCore returns the core of a job, which serves registrations at its address.
func NewCore(job big.UnitJob) (big.Workers, error) {
	address, err := unit.Address()
	if err != nil {
		return nil, err
	}
	listener, err := rendezvous.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &core{Reception: big.NewReception(job.Job), job: job, server: grpc.NewServer()}
	pb.RegisterCoreServer(c.server, c)
	go func() {
		if err := c.server.Serve(listener); err != nil {
			c.Fail(fmt.Errorf("serve: %w", err))
		}
	}()
	return c, nil
}

// Register implements pb.CoreServer.
func (c *core) Register(_ context.Context, request *pb.RegisterRequest) (*pb.RegisterResponse, error) {
	if _, _, err := net.SplitHostPort(request.GetAddress()); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "address %q: %v", request.GetAddress(), err)
	}
	if _, err := c.Reception.Register(request.GetAddress()); err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &pb.RegisterResponse{}, nil
}

// Finish implements pb.CoreServer.
func (c *core) Finish(context.Context, *pb.FinishRequest) (*pb.FinishResponse, error) {
	c.Reception.Finish()
	return &pb.FinishResponse{}, nil
}

// Gather implements big.Workers. The connections that it makes are established by the kick-off, as in the
// architecture http.
func (c *core) Gather() error {
	if err := c.Reception.Gather(); err != nil {
		return err
	}
	for _, address := range c.Addresses() {
		conn, err := dial(address)
		if err != nil {
			return err
		}
		c.workers = append(c.workers, conn)
	}
	return nil
}

// KickOff implements big.Workers: it sends every worker its neighbourhood, which starts the worker.
func (c *core) KickOff() error {
	for number, address := range c.Addresses() {
		start := &pb.StartRequest{PingLimit: int32(c.job.Pings), Neighbourhood: c.NeighbourhoodOf(number)}
		if _, err := pb.NewWorkerClient(c.workers[number]).Start(context.Background(), start); err != nil {
			return fmt.Errorf("start worker at %s: %w", address, err)
		}
	}
	return nil
}

// Dismiss implements big.Workers.
func (c *core) Dismiss() error {
	var stops errgroup.Group
	stops.SetLimit(big.StopsAtOnce)
	for number, address := range c.Addresses() {
		stops.Go(func() error {
			_, err := pb.NewWorkerClient(c.workers[number]).Stop(context.Background(), &pb.StopRequest{})
			if err := errors.Join(err, c.workers[number].Close()); err != nil {
				return fmt.Errorf("stop worker at %s: %w", address, err)
			}
			return nil
		})
	}
	if err := stops.Wait(); err != nil {
		c.server.Stop()
		return err
	}
	c.server.GracefulStop()
	return nil
}

// dial returns a connection, which is established by its first call. The address consists of numbers and
// needs no resolver.
func dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}
