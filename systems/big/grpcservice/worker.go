package grpcservice

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/grpcservice/pb"
	"github.com/cleave-lab/cleave/systems/big/rendezvous"
)

// registerTimeout limits the wait for the core, which is started at the same time.
const registerTimeout = 30 * time.Second

// worker is one worker process.
type worker struct {
	pb.UnimplementedWorkerServer
	job        big.UnitJob
	address    string
	core       *grpc.ClientConn
	neighbours []*grpc.ClientConn // by index, once started
	mu         sync.Mutex         // guards rules and started
	rules      *big.Worker
	started    bool
	outcome    big.Outcome // receives nil when the core dismisses the worker
}

// RunWorker runs the job's worker: it registers at the core and serves until it is dismissed.
func RunWorker(job big.UnitJob) (big.Account, error) {
	return big.PlayWorker(job, func(rules *big.Worker) error {
		w := &worker{job: job, rules: rules, outcome: big.NewOutcome()}
		return w.run()
	})
}

// run listens, registers and serves.
func (w *worker) run() error {
	address, core, err := rendezvous.Addresses()
	if err != nil {
		return err
	}
	w.address = address
	listener, err := rendezvous.Listen("tcp", address)
	if err != nil {
		return err
	}
	if w.core, err = dial(core); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := w.register(); err != nil {
		return errors.Join(err, w.core.Close(), listener.Close())
	}
	return w.serve(listener)
}

// register registers at the core, once that listens.
func (w *worker) register() error {
	ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
	defer cancel()
	_, err := pb.NewCoreClient(w.core).Register(ctx, &pb.RegisterRequest{Address: w.address},
		grpc.WaitForReady(true))
	if err != nil {
		return fmt.Errorf("register at the core: %w", err)
	}
	return nil
}

// serve answers until the worker is dismissed or fails.
func (w *worker) serve(listener net.Listener) error {
	server := grpc.NewServer()
	pb.RegisterWorkerServer(server, w)
	go func() {
		if err := server.Serve(listener); err != nil {
			w.outcome.Set(fmt.Errorf("serve: %w", err))
		}
	}()
	err := <-w.outcome
	if err != nil {
		server.Stop()
		return err
	}
	for _, conn := range append(w.neighbours, w.core) {
		err = errors.Join(err, conn.Close())
	}
	server.GracefulStop()
	return err
}

// Start implements pb.WorkerServer: it checks the message and begins to ping.
func (w *worker) Start(_ context.Context, request *pb.StartRequest) (*pb.StartResponse, error) {
	addresses := request.GetNeighbourhood()
	if int(request.GetPingLimit()) != w.job.Pings || len(addresses) != w.job.Workers ||
		addresses[w.rules.Index()] != w.address {
		return nil, status.Errorf(codes.InvalidArgument,
			"limit %d and neighbourhood %q: want limit %d and %d addresses, %s at index %d",
			request.GetPingLimit(), addresses, w.job.Pings, w.job.Workers, w.address, w.rules.Index())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return nil, status.Error(codes.FailedPrecondition, "started already")
	}
	w.started = true
	for _, address := range addresses {
		conn, err := dial(address)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		w.neighbours = append(w.neighbours, conn)
	}
	go func() {
		if err := w.pingAll(); err != nil {
			w.outcome.Set(err)
		}
	}()
	return &pb.StartResponse{}, nil
}

// Ping implements pb.WorkerServer: it answers a neighbour.
func (w *worker) Ping(_ context.Context, request *pb.PingRequest) (*pb.PingResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.rules.Ping(int(request.GetSender())); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &pb.PingResponse{Sender: int32(w.rules.Index())}, nil
}

// Stop implements pb.WorkerServer.
func (w *worker) Stop(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
	w.outcome.Set(nil)
	return &pb.StopResponse{}, nil
}

// pingAll pings until the limit is reached and reports that to the core.
func (w *worker) pingAll() error {
	var clients []pb.WorkerClient
	for _, conn := range w.neighbours {
		clients = append(clients, pb.NewWorkerClient(conn))
	}
	request := &pb.PingRequest{Sender: int32(w.rules.Index())}
	for {
		w.mu.Lock()
		target, more := w.rules.Next()
		w.mu.Unlock()
		if !more {
			if _, err := pb.NewCoreClient(w.core).Finish(context.Background(), &pb.FinishRequest{}); err != nil {
				return fmt.Errorf("tell the core of the finish: %w", err)
			}
			return nil
		}
		response, err := clients[target].Ping(context.Background(), request)
		if err != nil {
			return fmt.Errorf("ping neighbour %d: %w", target, err)
		}
		if err := w.pong(target, int(response.GetSender())); err != nil {
			return err
		}
	}
}

// pong counts an answer on the connection to a neighbour. It is an error if another worker has sent it.
func (w *worker) pong(target, sender int) error {
	if sender != target {
		return fmt.Errorf("neighbour %d answered at the address of neighbour %d", sender, target)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules.Pong(sender)
}
