package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// drain is how long calls in flight have when a unit ends.
const drain = 10 * time.Second

// peers are the other units, as far as this one calls them.
type peers struct {
	design    architecture.Design
	place     Place
	addresses []string
	clients   map[string]grpc.ClientConnInterface // by kind of unit
	calls     map[string]*atomic.Int64            // by kind of unit
	closers   []func() error
	err       error // the first
}

// to reaches the unit that hosts a component, all replicas of it in turn.
func (p *peers) to(component string) grpc.ClientConnInterface {
	kind := p.design.Hosting(component)
	if client, known := p.clients[kind.Name]; known {
		return client
	}
	var replicas []grpc.ClientConnInterface
	for _, instance := range kind.Instances() {
		client, err := p.connect(instance)
		if err != nil && p.err == nil {
			p.err = err
		}
		replicas = append(replicas, client)
	}
	if p.clients == nil {
		p.clients, p.calls = map[string]grpc.ClientConnInterface{}, map[string]*atomic.Int64{}
	}
	client := replicas[0]
	if len(replicas) > 1 {
		client = rpc.Balance(replicas...)
	}
	p.calls[kind.Name] = new(atomic.Int64)
	client = rpc.Counted(client, p.calls[kind.Name])
	p.clients[kind.Name] = client
	return client
}

// connect makes the client of one unit; it dials when it is first used.
func (p *peers) connect(instance string) (grpc.ClientConnInterface, error) {
	address := "unix:" + socketOf(p.place.Dir, instance)
	if !p.design.Binding.OverUnix() {
		found, err := p.place.Peer(instance)
		if err != nil {
			return nil, err
		}
		address = found
	}
	p.addresses = append(p.addresses, address)
	client, err := rpc.Spread(address, func(address string) (rpc.Client,
		error) {
		return NewClient(p.design.Binding, address)
	})
	if err == nil {
		p.closers = append(p.closers, client.Close)
	}
	return client, err
}

// reachable is nil when every peer accepts connections.
func (p *peers) reachable(ctx context.Context) error {
	for _, address := range p.addresses {
		if err := rpc.Reachable(ctx, address); err != nil {
			return err
		}
	}
	return nil
}

func (p *peers) close() error {
	var errs []error
	for _, end := range p.closers {
		errs = append(errs, end())
	}
	return errors.Join(errs...)
}

// socketOf returns the socket file of a unit.
func socketOf(dir, instance string) string { return filepath.Join(dir, instance+".sock") }

// serveUnits answers the calls of other units until ctx ends.
func (u *unit) serveUnits(ctx context.Context, hosted Hosted) error {
	opened, err := u.listen(ctx)
	if err != nil {
		return fmt.Errorf("unit %s: %w", u.instance, err)
	}
	listener := counting{opened, &u.callBytes}
	server, err := NewServer(u.design.Binding, rpc.Traced(u.around.Tracer))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	hosted.offer(server)
	return rpc.Serve(ctx, listener, server, drain)
}

func (u *unit) listen(ctx context.Context) (net.Listener, error) {
	if u.design.Binding.OverUnix() {
		return listenUnix(ctx, socketOf(u.place.Dir, u.instance))
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", u.place.Address)
}

// offer registers all that the unit hosts.
func (h Hosted) offer(binding grpc.ServiceRegistrar) {
	for _, offer := range h.Offers {
		offer(binding)
	}
}
