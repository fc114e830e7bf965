package grpcservice

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigtest"
	"github.com/cleave-lab/cleave/systems/big/grpcservice/pb"
)

func TestMain(m *testing.M) { bigtest.Main(m, NewCore, RunWorker) }

func TestWholeTrials(t *testing.T) { bigtest.WholeTrials(t, big.GRPC) }

// newWorker returns worker 1 of two, which has not registered.
func newWorker() *worker {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 2, Pings: 20}, Worker: 1}
	return &worker{job: job, address: "127.0.0.1:2", rules: job.NewWorker(1, big.Clock),
		outcome: big.NewOutcome()}
}

// TestWorkerRefusesStart with a wrong neighbourhood or limit, and does not start.
func TestWorkerRefusesStart(t *testing.T) {
	for _, test := range []struct {
		name    string
		request *pb.StartRequest
	}{
		{"nothing", &pb.StartRequest{}},
		{"strangers", &pb.StartRequest{PingLimit: 20, Neighbourhood: []string{"127.0.0.1:2", "127.0.0.1:1"}}},
		{"another limit", &pb.StartRequest{PingLimit: 21, Neighbourhood: []string{"127.0.0.1:1", "127.0.0.1:2"}}},
		{"too many", &pb.StartRequest{PingLimit: 20, Neighbourhood: []string{"127.0.0.1:1", "127.0.0.1:2",
			"127.0.0.1:3"}}},
	} {
		w := newWorker()
		if _, err := w.Start(context.Background(), test.request); status.Code(err) != codes.InvalidArgument ||
			w.started {
			t.Errorf("%s: error %v, started: %t", test.name, err, w.started)
		}
	}
}

// TestWorkerChecksSenders of pings and of pongs.
func TestWorkerChecksSenders(t *testing.T) {
	w := newWorker()
	if _, err := w.Ping(context.Background(),
		&pb.PingRequest{Sender: 2}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("ping from outside the neighbourhood: error %v", err)
	}
	if response, err := w.Ping(context.Background(), &pb.PingRequest{Sender: 0}); err != nil ||
		response.GetSender() != 1 {
		t.Errorf("ping of a neighbour: answer %v, error %v", response, err)
	}
	if answered := w.rules.Account().Answered; answered != 1 {
		t.Errorf("%d pings answered, want 1", answered)
	}
	target, _ := w.rules.Next()
	if err := w.pong(target, 1); err == nil || !strings.Contains(err.Error(), "at the address of neighbour 0") {
		t.Errorf("pong of the wrong worker: error %v", err)
	}
	if err := w.pong(target, target); err != nil {
		t.Errorf("pong of the pinged worker: %v", err)
	}
}

func TestCoreRefusesRegistrations(t *testing.T) {
	job := big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 1, Pings: 1}}
	c := &core{Reception: big.NewReception(job.Job), job: job}
	for _, test := range []struct {
		address string
		code    codes.Code
	}{
		{"nowhere", codes.InvalidArgument},
		{"127.0.0.1:1", codes.OK},
		{"127.0.0.1:2", codes.FailedPrecondition}, // one more than the trial has
	} {
		if _, err := c.Register(context.Background(),
			&pb.RegisterRequest{Address: test.address}); status.Code(err) != test.code {
			t.Errorf("register %s: error %v, want %s", test.address, err, test.code)
		}
	}
	if err := c.AwaitFinish(); err == nil {
		t.Error("the core does not fail after one registration too many")
	}
}

// TestDismissalStopsTheServer, also if a worker cannot be reached.
func TestDismissalStopsTheServer(t *testing.T) {
	t.Setenv("CLEAVE_ADDRESS", "127.0.0.1:0")
	workers, err := NewCore(big.UnitJob{Job: big.Job{Neighbourhoods: 1, Workers: 1, Pings: 1}})
	testset.Must(t, err)
	c := workers.(*core)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	_, err = c.Reception.Register(nobody.Addr().String())
	testset.Must(t, errors.Join(err, nobody.Close(), c.Gather()))
	if err := c.Dismiss(); status.Code(err) != codes.Unavailable {
		t.Errorf("the dismissal of nobody: %v", err)
	}
	if err := c.server.Serve(nobody); !errors.Is(err, grpc.ErrServerStopped) {
		t.Errorf("after the dismissal the server goes on: %v", err)
	}
}
