//go:build linux

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/load/engine"
)

// parallelDials is the number of connections that are made at the same time before the load.
const parallelDials = 16

// pool holds all links of a load.
type pool struct {
	config *Config
	dialer *dialer
	links  []link
	ctx    context.Context // of all requests
	cancel context.CancelFunc
}

// newPool returns a pool without connections. Within ctx it determines the protocol, and for gRPC the
// messages of the methods. Requests of the load end with abort or close, not with ctx.
func newPool(ctx context.Context, config *Config) (*pool, error) {
	p := &pool{config: config, dialer: newDialer(config)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	ctx, cancel := context.WithTimeout(ctx, max(patience, config.Timeout))
	defer cancel()
	if err := p.negotiate(ctx); err != nil {
		p.close()
		return nil, err
	}
	makeLink, err := p.maker(ctx)
	if err != nil {
		p.close()
		return nil, err
	}
	for range config.Connections {
		p.links = append(p.links, makeLink())
	}
	return p, nil
}

// negotiate determines the protocol if the configuration leaves it open, and writes it to the configuration.
// Without TLS the protocol is HTTP/1.1.
func (p *pool) negotiate(ctx context.Context) error {
	if p.config.Protocol != Auto {
		return nil
	}
	p.config.Protocol = HTTP1
	if p.dialer.tls != nil {
		w, err := p.dialer.dial(ctx)
		if err != nil {
			return &engine.UnreachableError{Target: p.dialer.address, Cause: err}
		}
		conn, err := p.dialer.secure(ctx, w, "h2", "http/1.1")
		switch {
		case errors.Is(err, errNoHTTP2): // a server without ALPN speaks HTTP/1.1
		case err != nil:
			return &engine.UnreachableError{Target: p.dialer.address, Cause: err}
		default:
			if conn.ConnectionState().NegotiatedProtocol == "h2" {
				p.config.Protocol = HTTP2
			}
			_ = conn.Close() // the links make connections of their own
		}
	}
	return p.config.fill()
}

// maker returns a function that makes links of the configured protocol.
func (p *pool) maker(ctx context.Context) (func() link, error) {
	switch p.config.Protocol {
	case HTTP2:
		return func() link { return p.http2Link(p.config.Timeout) }, nil
	case GRPC:
		methods, err := p.describe(ctx)
		return func() link { return &grpcLink{p.http2Link(p.config.Timeout), methods} }, err
	}
	return func() link {
		return &http1Link{dialer: p.dialer, input: make([]byte, readSize),
			polled: [1]unix.PollFd{{Events: unix.POLLRDHUP}}}
	}, nil
}

// http2Link returns a link of HTTP/2, whose exchanges have a time limit.
func (p *pool) http2Link(limit time.Duration) *http2Link {
	return &http2Link{dialer: p.dialer, limit: limit, base: p.ctx}
}

// describe returns the methods of the configuration with their messages: from the file of descriptors if
// there is one, otherwise from the server. The end of ctx aborts the questions to the server.
func (p *pool) describe(ctx context.Context) (map[string]*method, error) {
	if p.config.ProtoSet != nil {
		return fromProtoSet(p.config.ProtoSet, p.config.Methods)
	}
	l := &grpcLink{http2Link: p.http2Link(max(patience, p.config.Timeout))}
	l.base = ctx // this link is closed before the load begins
	if err := l.connect(ctx); err != nil {
		return nil, &engine.UnreachableError{Target: p.dialer.address, Cause: err}
	}
	defer l.hangUp()
	defer context.AfterFunc(ctx, l.abort)()
	return fromServer(l, p.config.Methods)
}

// open makes all connections before the load begins, or without keep-alive only the first one. If the first
// connection fails, open returns an UnreachableError with the time that the attempt took. Other connections
// that fail are tried again when needed.
func (p *pool) open(caller context.Context) error {
	ctx, cancel := context.WithTimeout(caller, max(patience, p.config.Timeout))
	defer cancel()
	begun := time.Now()
	if err := p.links[0].connect(ctx); err != nil { // the others would fail alike
		return &engine.UnreachableError{Target: p.dialer.address,
			Cause: fmt.Errorf("after %v: %w", time.Since(begun).Round(time.Millisecond), err)}
	}
	if !p.config.KeepAlive { // each flow makes its own connection
		return nil
	}
	rest := make(chan link)
	var all sync.WaitGroup
	for range parallelDials {
		all.Go(func() {
			for l := range rest {
				_ = l.connect(ctx) // tried again when needed
			}
		})
	}
	for _, l := range p.links[1:] {
		rest <- l
	}
	close(rest)
	all.Wait()
	return caller.Err()
}

// abort ends all connections with everything in flight.
func (p *pool) abort() {
	p.cancel()
	for _, l := range p.links {
		l.abort()
	}
}

// close closes all connections in the regular way, when nothing is in flight any more.
func (p *pool) close() {
	p.cancel()
	for _, l := range p.links {
		l.hangUp()
		l.abort()
	}
}
