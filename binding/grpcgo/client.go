package grpcgo

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// maxAnswer is the size limit, in bytes, of answers. grpc-go uses one code and one text for an answer that
// the client has refused and for a request that the server has refused. Only the limit at the end of the text
// tells them apart, so this one differs by a byte from the usual limit of servers.
const maxAnswer = rpc.MaxAnswer + 1

// beyondMaxAnswer is the end of the text if grpc-go has refused an answer.
var beyondMaxAnswer = fmt.Sprintf(" vs. %d)", maxAnswer)

// Client calls one server over one connection that all calls share. It
// implements grpc.ClientConnInterface.
type Client struct {
	rpc.Unary
	address string // for messages
	codec   rpc.Codec
	grpc    *grpc.ClientConn
}

var _ grpc.ClientConnInterface = (*Client)(nil)

// NewClient returns a client of the server at an address: host:port, or unix:PATH. It
// connects with the first call. While the server is down it tries to reconnect at least
// every second; grpc-go's default backoff grows to two minutes. secured is the TLS
// configuration; nil means no TLS. codec is the encoding; nil means Protocol Buffers.
func NewClient(address string, secured *tls.Config, codec rpc.Codec) (*Client, error) {
	network, shown := lab.SplitAddress(address)
	target := address
	if network == "tcp" {
		target = "passthrough:///" + address // otherwise grpc-go would ask DNS
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("call %s: %w", address, err)
		}
	}
	pauses := backoff.DefaultConfig
	pauses.BaseDelay = 100 * time.Millisecond
	pauses.MaxDelay = time.Second
	protection := insecure.NewCredentials()
	if secured != nil {
		protection = credentials.NewTLS(secured)
	}
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(protection),
		grpc.WithNoProxy(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: greetingTimeout}))
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", address, err)
	}
	return &Client{address: shown, codec: cmp.Or[rpc.Codec](codec, rpc.Protobuf{}), grpc: connection}, nil
}

// Invoke implements grpc.ClientConnInterface.
func (c *Client) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	ctx, call := spans.Call(ctx, method)
	defer call.End()
	if call != nil {
		ctx = metadata.AppendToOutgoingContext(ctx, spans.Header, call.Traceparent())
		in = traced{message: in, call: call}
		out = traced{message: out, call: call}
	}
	if call != nil || c.codec != rpc.Codec(rpc.Protobuf{}) { // else grpc-go's default codec is used
		options = append(options, grpc.ForceCodecV2(newCodec(c.codec, nil)))
	}
	err := c.grpc.Invoke(ctx, method, in, out, options...)
	if err == nil {
		return nil
	}
	failed := status.Convert(err)
	if failed.Code() == codes.ResourceExhausted && strings.HasSuffix(failed.Message(), beyondMaxAnswer) {
		return rpc.TooLong(c.address, maxAnswer, err)
	}
	return rpc.ProblemOfStatus(ctx, c.address, failed)
}

// Close ends the connection and the calls on it.
func (c *Client) Close() error { return c.grpc.Close() }
