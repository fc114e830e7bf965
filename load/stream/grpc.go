package stream

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// maxMessage bounds an answer, in bytes, because gRPC keeps the whole message. It is the default limit of
// gRPC clients.
const maxMessage = 4 << 20

// grpcLink is a connection that several calls share.
type grpcLink struct {
	dialer   *dialer
	methods  map[string]*method
	base     context.Context // ends with the load
	attempts singleflight.Group

	mu      sync.Mutex
	conn    *grpc.ClientConn // nil: not connected
	wire    *wire            // the last one
	failure error            // error of the last attempt to connect
}

// isUsable reports whether the connection accepts calls.
func (l *grpcLink) isUsable() bool {
	conn, _ := l.current()
	return conn != nil && conn.GetState() == connectivity.Ready
}

// connect makes the connection. Concurrent callers share one attempt.
func (l *grpcLink) connect(ctx context.Context) error {
	return joinAttempt(ctx, &l.attempts, l.establish)
}

// current returns the connection, and the wire below it.
func (l *grpcLink) current() (*grpc.ClientConn, *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn, l.wire
}

// establish makes a connection and waits until it is ready. After a failure it drops the client, because
// the library would wait before the next attempt.
func (l *grpcLink) establish() error {
	ctx, cancel := context.WithTimeout(l.base, l.dialer.timeout)
	defer cancel()
	conn, err := l.client()
	for err == nil {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			conn.Connect()
		case connectivity.TransientFailure, connectivity.Shutdown:
			l.abort()
			return l.lastFailure()
		}
		if !conn.WaitForStateChange(ctx, state) {
			err = ctx.Err()
		}
	}
	l.abort()
	return err
}

// client returns the library's client, or a new one, which has not connected yet.
func (l *grpcLink) client() (*grpc.ClientConn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return l.conn, nil
	}
	var err error
	l.failure = nil
	l.conn, err = grpc.NewClient("passthrough:///"+l.dialer.authority, l.options()...)
	return l.conn, err
}

// options turns off the library's automatic behaviour: proxies, service configuration, repeating, idling.
func (l *grpcLink) options() []grpc.DialOption {
	security := insecure.NewCredentials()
	if l.dialer.tls != nil {
		security = &handshaker{credentials.NewTLS(l.dialer.tls), l}
	}
	return []grpc.DialOption{
		grpc.WithContextDialer(l.dial), grpc.WithTransportCredentials(security), grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(), grpc.WithIdleTimeout(0),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: grpcbackoff.DefaultConfig,
			MinConnectTimeout: l.dialer.timeout}),
		grpc.WithStatsHandler(trailers{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}
}

// dial connects to the permitted address, whatever address the library passes.
func (l *grpcLink) dial(ctx context.Context, _ string) (net.Conn, error) {
	w, err := l.dialer.dial(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failure = err
		return nil, err
	}
	l.wire = w
	return w, nil
}

// lastFailure returns the error of the last failure, which the library reports as text only.
func (l *grpcLink) lastFailure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != nil:
		return l.failure
	case l.wire != nil:
		return l.wire.noHTTP2()
	}
	return errNotHTTP2
}

// handshaker is TLS that records why a handshake failed.
type handshaker struct {
	credentials.TransportCredentials
	link *grpcLink
}

// ClientHandshake does the handshake of TLS for the name of the server, whatever the authority.
func (h *handshaker) ClientHandshake(
	ctx context.Context, _ string, conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := h.TransportCredentials.ClientHandshake(ctx, h.link.dialer.tls.ServerName, conn)
	if err != nil {
		h.link.mu.Lock()
		defer h.link.mu.Unlock()
		h.link.failure = &handshakeError{err, h.link.wire.outcome()}
	}
	return secure, info, err
}

// Info returns the protocol without the server's name, which the library would use as the authority.
func (h *handshaker) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: h.TransportCredentials.Info().SecurityProtocol}
}

// Clone returns a copy for another client.
func (h *handshaker) Clone() credentials.TransportCredentials {
	return &handshaker{h.TransportCredentials.Clone(), h.link}
}

// trailers records whether the server has sent a status: the library makes statuses with the same codes
// itself.
type trailers struct{}

// trailerKey is the context key of the call's *atomic.Bool, which is set when the trailers come.
type trailerKey struct{}

// TagRPC implements stats.Handler. It changes nothing.
func (trailers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC notes that the trailers have come.
func (trailers) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, is := event.(*stats.InTrailer); is {
		if seen, ok := ctx.Value(trailerKey{}).(*atomic.Bool); ok {
			seen.Store(true)
		}
	}
}

// TagConn implements stats.Handler. It changes nothing.
func (trailers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler. It does nothing.
func (trailers) HandleConn(context.Context, stats.ConnStats) {}

// exchange makes a call.
func (l *grpcLink) exchange(ctx context.Context, x *exchange) {
	ctx, cancel := context.WithTimeout(ctx, x.limit)
	defer cancel()
	call := x.session.Call()
	method := l.methods[call.GRPC]
	if method == nil {
		x.fail(record.OtherError, "the method "+call.GRPC+
			" was not looked up before the load: name it in Config.Methods")
		return
	}
	message, err := method.encode(call.Body)
	if err != nil {
		x.fail(record.OtherError, err.Error())
		return
	}
	conn, w := l.current()
	if conn == nil {
		x.fail(record.Closed, "the connection ended as soon as it was made")
		return
	}
	md, err := metadataOf(&call)
	if err != nil {
		x.fail(record.OtherError, err.Error())
		return
	}
	needsHeader, needsBody := x.session.Needs()
	var answered atomic.Bool
	var header, trailer metadata.MD // of the answer
	options := []grpc.CallOption{grpc.ForceCodecV2(plainCodec{})}
	if needsHeader {
		options = append(options, grpc.Header(&header), grpc.Trailer(&trailer))
	}
	ctx = context.WithValue(metadata.NewOutgoingContext(ctx, md), trailerKey{}, &answered)
	x.written, x.sent = int64(len(message)), x.clock()
	err = conn.Invoke(ctx, method.path, message, &x.body, options...)
	x.received = int64(len(x.body))
	if err != nil && (!answered.Load() || ctx.Err() != nil || tooLarge(err)) {
		x.fail(outcomeOfGRPC(err, w), statusError{status.Convert(err)}.Error())
		return
	}
	x.answer.Status, x.answer.Header = int(status.Code(err)), append(lines(header), lines(trailer)...)
	if err == nil && needsBody {
		if x.answer.Body, err = method.decode(x.body); err != nil {
			x.fail(record.Malformed, err.Error())
		}
	}
}

// metadataOf returns the headers of a step as metadata, without the headers of HTTP itself, which gRPC
// sets. The values of names that end in -bin are bytes, which the step has in base64.
func metadataOf(call *scenario.Call) (metadata.MD, error) {
	md := make(metadata.MD, len(call.Header))
	for _, field := range call.Header {
		name := strings.ToLower(field.Name)
		if name == "content-type" || name == "te" || name == "user-agent" {
			continue
		}
		value := field.Value
		if strings.HasSuffix(name, scenario.BinarySuffix) {
			bytes, err := scenario.DecodeBinary(value)
			if err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
			value = string(bytes)
		}
		md[name] = append(md[name], value)
	}
	return md, nil
}

func (l *grpcLink) hangUp() { l.abort() }

// abort ends the connection and all calls in flight.
func (l *grpcLink) abort() {
	l.mu.Lock()
	conn := l.conn
	l.conn = nil
	l.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // an error only means that it was closed before
	}
}

// lines returns headers in the form of package oracle; bytes are in base64.
func lines(header map[string][]string) []byte {
	var out []byte
	for name, values := range header {
		for _, value := range values {
			if strings.HasSuffix(name, scenario.BinarySuffix) {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			out = append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
		}
	}
	return out
}
