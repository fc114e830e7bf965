package hosting_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
)

// oven is a component of a bakery.
type oven interface {
	Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error)
}

// hot is the component itself. It bakes only bread.
type hot struct{}

func (hot) Check(
	_ context.Context, in *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	if in.GetService() != "bread" {
		return nil, &rpc.Problem{Kind: "no-bread", Detail: "there is bread only", Cause: errors.New("secret")}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// served serves an oven as generated code does.
type served struct {
	grpc_health_v1.UnimplementedHealthServer
	of oven
}

func (s served) Check(
	ctx context.Context, in *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	return s.of.Check(ctx, in)
}

// offer registers an oven with a server, as generated code does.
func offer(binding grpc.ServiceRegistrar, o oven) {
	grpc_health_v1.RegisterHealthServer(binding, served{of: o})
}

// elsewhere is the client of an oven in another unit, as generated code makes it.
type elsewhere struct{ client grpc_health_v1.HealthClient }

func (e elsewhere) Check(
	ctx context.Context, in *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	return e.client.Check(ctx, in)
}

// call returns the client of an oven over a binding.
func call(binding grpc.ClientConnInterface) oven {
	return elsewhere{grpc_health_v1.NewHealthClient(binding)}
}

// followed calls begin for each call of an oven, as generated code does.
type followed struct {
	of    oven
	begin hosting.Begin
}

func (f followed) Check(
	ctx context.Context, in *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	ctx, end := f.begin(ctx, grpc_health_v1.Health_Check_FullMethodName)
	defer end()
	return f.of.Check(ctx, in)
}

// follow wraps an oven for Join.
func follow(o oven, begin hosting.Begin) oven { return followed{o, begin} }

// unitOf returns a unit of a bakery in which the unit kitchen, at the address, has the oven.
func unitOf(name, binding, address string, security *secure.Transport) *hosting.Unit {
	return &hosting.Unit{Name: name, UnitOf: func(string) string { return "kitchen" },
		Peer: func(unit string) (string, error) {
			if address == "" {
				return "", errors.New("nobody knows where the " + unit + " is")
			}
			return address, nil
		},
		Calls: hosting.Calls{Binding: binding, Connections: 4, MaxMessage: 1 << 10, Security: security,
			ProblemOf: func(err error) *rpc.Problem { return rpc.ProblemOf(err, "cold", "burnt") }}}
}

// TestAComponentIsTheSameHereAndElsewhere calls it in its own unit and from another one, over each binding,
// with every protection.
func TestAComponentIsTheSameHereAndElsewhere(t *testing.T) {
	for _, protected := range kit.Security().Values {
		for _, binding := range []string{hosting.HTTP, hosting.GRPC, hosting.HTTPLean, hosting.GRPCLean} {
			t.Run(binding+" "+protected, func(t *testing.T) { isTheSame(t, binding, protected) })
		}
	}
}

// isTheSame runs the test over one binding with one protection.
func isTheSame(t *testing.T, binding, protected string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	dir := hostingtest.Identities(t, protected, "kitchen", "shop")
	kitchenSecurity, err := hosting.Security(protected, dir, "kitchen")
	testset.Must(t, err)
	shopSecurity, err := hosting.Security(protected, dir, "shop")
	testset.Must(t, err)
	var lines bytes.Buffer
	kitchen := unitOf("kitchen", binding, "", kitchenSecurity)
	kitchen.Log = requestlog.New(&lines, "kitchen")
	shop := unitOf("shop", binding, listener.Addr().String(), shopSecurity)
	here := hosting.Join(kitchen, "oven", func() oven { return hot{} }, offer, call, follow)
	there := hosting.Join(shop, "oven", func() oven { t.Error("the shop has no oven"); return nil }, offer, call,
		follow)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- kitchen.Serve(ctx, listener) }()
	if err := shop.Healthy(t.Context()); err != nil || shop.Err() != nil {
		t.Errorf("the shop is not healthy: %v, %v", err, shop.Err())
	}
	for _, o := range []oven{here, there} {
		answer, err := o.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "bread"})
		if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("%T: %v, %v", o, answer, err)
		}
		var problem *rpc.Problem
		if _, err = o.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "cake"}); !errors.As(err,
			&problem) || problem.Kind != "no-bread" || problem.Detail != "there is bread only" {
			t.Errorf("%T: %v, want the problem no-bread", o, err)
		}
	}
	stop()
	if err := errors.Join(<-ended, shop.Close(), kitchen.Close()); err != nil {
		t.Error(err)
	}
	if err := shop.Healthy(t.Context()); err == nil {
		t.Error("the shop is healthy without a kitchen")
	}
	if text := lines.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"status":"ok"`) ||
		!strings.Contains(text, `"status":"no-bread"`) {
		t.Errorf("of the shop's two calls the kitchen logs: %s", text)
	}
}

// busy is an oven whose calls last until done is closed.
type busy struct{ begun, done chan struct{} }

func (b busy) Check(
	context.Context, *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	b.begun <- struct{}{}
	<-b.done
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// TestAUnitChoosesReplicasByItsKnob: with least-requests, no call goes to a kitchen that has an open one
// while another has none.
func TestAUnitChoosesReplicasByItsKnob(t *testing.T) {
	slow := busy{make(chan struct{}), make(chan struct{})}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var addresses []string
	ended := make(chan error, 2)
	for _, o := range []oven{hot{}, slow} { // rpc counts turns from 1: the first call goes to slow
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testset.Must(t, err)
		kitchen := unitOf("kitchen", hosting.HTTP, "", nil)
		hosting.Join(kitchen, "oven", func() oven { return o }, offer, call, follow)
		addresses = append(addresses, listener.Addr().String())
		go func() { ended <- kitchen.Serve(ctx, listener) }()
	}
	shop := unitOf("shop", hosting.HTTP, strings.Join(addresses, lab.AddressSeparator), nil)
	shop.Calls.Balancing = hosting.Balancing(kit.LeastRequests)
	there := hosting.Join(shop, "oven", func() oven { return hot{} }, offer, call, follow)
	bake := func() error {
		_, err := there.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "bread"})
		return err
	}
	first := make(chan error, 1)
	go func() { first <- bake() }()
	select {
	case <-slow.begun:
	case err := <-first:
		t.Fatalf("the first call did not reach the slow kitchen: %v", err)
	}
	for range 4 {
		if err := bake(); err != nil {
			t.Errorf("a call while one is open at the other kitchen: %v", err)
		}
	}
	close(slow.done)
	if err := <-first; err != nil {
		t.Error(err)
	}
	stop()
	if err := errors.Join(<-ended, <-ended, shop.Close()); err != nil {
		t.Error(err)
	}
	if hosting.Balancing(kit.TwoChoices) != rpc.TwoChoices ||
		hosting.Balancing(kit.RoundRobin) != rpc.RoundRobin {
		t.Error("Balancing does not return the value of the knob")
	}
}

func TestErrSaysWhomAUnitCannotCall(t *testing.T) {
	shop := unitOf("shop", hosting.HTTP, "", nil)
	hosting.Join(shop, "oven", func() oven { return hot{} }, offer, call, follow)
	if err := shop.Err(); err == nil || !strings.Contains(err.Error(), "kitchen") {
		t.Errorf("%v, want what is wrong with the kitchen", err)
	}
}

// closed records the order in which closers are closed.
type closed struct {
	name  string
	order *[]string
}

func (c closed) Close() error { *c.order = append(*c.order, c.name); return nil }

func TestCloseClosesTheLastFirst(t *testing.T) {
	var order []string
	var u hosting.Unit
	for _, name := range []string{"database", "broker"} {
		u.Keep(closed{name, &order})
	}
	if err := u.Close(); err != nil || strings.Join(order, " ") != "broker database" {
		t.Errorf("closed %v, %v", order, err)
	}
}
