package assembly

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

const (
	// callsAtOnce bounds the calls from one unit to another over HTTP; each has a
	// connection of its own.
	callsAtOnce = 256
	// maxMessage is the longest message between units, in bytes.
	maxMessage = 1 << 20
)

// Calls returns the settings of calls over a binding.
func Calls(binding architecture.Binding) hosting.Calls {
	return hosting.Calls{Binding: string(binding.OverTCP()), Connections: callsAtOnce, MaxMessage: maxMessage,
		ProblemOf: shop.ProblemOf}
}

// callees holds the clients of the units that this one calls, by their kind.
type callees struct {
	clients map[string]grpc.ClientConnInterface
	calls   map[string]*atomic.Int64 // made so far
	err     error                    // of making the clients
}

// call returns the client of the unit that hosts a component. It spreads calls over the unit's replicas.
func (u *Unit) call(component string) grpc.ClientConnInterface {
	kind := u.design.Hosting(component)
	if client, known := u.callees.clients[kind.Name]; known {
		return client
	}
	var replicas []grpc.ClientConnInterface
	for _, instance := range kind.Instances() {
		client, err := u.Client(instance)
		u.callees.err = errors.Join(u.callees.err, err)
		replicas = append(replicas, client)
	}
	client := replicas[0]
	if len(replicas) > 1 {
		client = rpc.Balance(u.Calls.Balancing, replicas...)
	}
	u.callees.calls[kind.Name] = new(atomic.Int64)
	u.callees.clients[kind.Name] = rpc.Counted(client, u.callees.calls[kind.Name])
	return u.callees.clients[kind.Name]
}

// peer returns the address of another unit.
func (u *Unit) peer(instance string) (string, error) {
	if u.design.Binding.OverUnix() {
		return "unix:" + socketOf(u.place.Dir, instance), nil
	}
	return u.place.Peer(instance)
}

// socketOf returns the socket file of a unit.
func socketOf(dir, instance string) string { return filepath.Join(dir, instance+".sock") }

// serveUnits answers the calls of other units until ctx ends. In a shop of events it answers requests for
// takenPath at the same address; those are the laboratory's and are not protected.
func (u *Unit) serveUnits(ctx context.Context, listener net.Listener) (err error) {
	if u.design.Binding.OverUnix() {
		if listener, err = listenUnix(ctx, listener, socketOf(u.place.Dir, u.Name)); err != nil {
			return fmt.Errorf("unit %s: %w", u.Name, err)
		}
	}
	for _, register := range u.hosted.Offers {
		u.Offer(register)
	}
	if u.around.Broker == nil {
		return u.Unit.Serve(ctx, Counting{listener, &u.callBytes})
	}
	asks, calls := accept.Fork(listener, http.MethodGet+" "+takenPath+" ")
	ctx, end := context.WithCancel(ctx)
	defer end()
	asked := make(chan error, 1)
	go func() { asked <- api.Serve(ctx, asks, http.HandlerFunc(u.answerTaken)) }()
	err = u.Unit.Serve(ctx, Counting{calls, &u.callBytes})
	end()
	return errors.Join(err, <-asked)
}

// listenUnix closes a listener and listens on a socket file instead, also where a unit that was killed has
// left it behind.
func listenUnix(ctx context.Context, instead net.Listener, path string) (net.Listener, error) {
	if err := instead.Close(); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(ctx, "unix", path)
}
