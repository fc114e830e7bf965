package bindingtest

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// replica counts its calls. A slow one answers only when it is released.
type replica struct {
	grpc_health_v1.UnimplementedHealthServer
	asked          atomic.Int64
	begun, release chan struct{} // nil: it answers at once
}

// Check implements grpc_health_v1.HealthServer.
func (r *replica) Check(
	context.Context, *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	r.asked.Add(1)
	if r.release != nil {
		r.begun <- struct{}{}
		<-r.release
	}
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// balances checks each kind of balancing with a replica that does not answer: it keeps getting its share with
// round robin, and at most one call with the others.
func balances(t *testing.T, b Binding) {
	const calls = 30
	for name, c := range map[string]struct {
		by          rpc.Balancing
		least, most int64 // calls that the slow one of three replicas gets
	}{
		"round robin":    {rpc.RoundRobin, calls / 3, calls / 3},
		"least requests": {rpc.LeastRequests, 1, 1},
		"two choices":    {rpc.TwoChoices, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			slow := &replica{begun: make(chan struct{}), release: make(chan struct{})}
			replicas := []*replica{{}, {}, slow}
			client := spreadOver(t, b, c.by, replicas)
			answers := make(chan error, calls)
			ctx := within(t)
			open := 0
			for range calls {
				go func() {
					_, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
					answers <- err
				}()
				select {
				case err := <-answers:
					if err != nil {
						t.Error(err)
					}
				case <-slow.begun:
					open++
				}
			}
			close(slow.release)
			for range open {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
			got := slow.asked.Load()
			others := replicas[0].asked.Load() + replicas[1].asked.Load()
			if got < c.least || got > c.most || got+others != calls {
				t.Errorf("of %d calls %d went to the slow replica, and %d and %d to the others, want %d to %d",
					calls, got, replicas[0].asked.Load(), replicas[1].asked.Load(), c.least, c.most)
			}
		})
	}
}

// spreadOver serves replicas over TCP, and returns a client that balances over them.
func spreadOver(t *testing.T, b Binding, by rpc.Balancing, replicas []*replica) grpc_health_v1.HealthClient {
	t.Helper()
	var addresses []string
	for _, r := range replicas {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testset.Must(t, err)
		stop := b.Serve(t, listener, func(s grpc.ServiceRegistrar) {
			grpc_health_v1.RegisterHealthServer(s, r)
		}, rpc.Serving{})
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
			defer cancel()
			if err := stop(ctx); err != nil {
				t.Error(err)
			}
		})
		addresses = append(addresses, listener.Addr().String())
	}
	client, err := rpc.Spread(strings.Join(addresses, lab.AddressSeparator), by,
		func(address string) (rpc.Client, error) { return b.NewClient(address, nil, nil) })
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return grpc_health_v1.NewHealthClient(client)
}
