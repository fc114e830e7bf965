// Package grpcgo carries calls with the client and the server of grpc-go, as Go teams
// usually deploy it: with its defaults and with limits. Errors keep their kind. Package
// grpcunary is our own, cheaper implementation of the same protocol.
//
// The codec records the spans of encoding and decoding. grpc-go passes it no context, so
// each message of a traced call is wrapped together with its call.
//
// Entry points: NewServer, NewClient.
package grpcgo

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// traced wraps a message of a traced call.
type traced struct {
	message any
	call    *spans.Part
	ends    bool // the message is the answer: the codec ends the call's span after encoding it
}

// codec is the codec of an encoding; it also records the spans of traced messages.
type codec struct {
	encoding.CodecV2
	logError func(error) // receives encoding errors; may be nil
}

// newCodec returns the codec of an encoding: for Protocol Buffers the one of grpc-go, and
// an adapter for all others.
func newCodec(of rpc.Codec, logError func(error)) codec {
	if of == rpc.Codec(rpc.Protobuf{}) {
		return codec{encoding.GetCodecV2("proto"), logError}
	}
	return codec{adapted{of}, logError}
}

// adapted implements encoding.CodecV2 for an encoding that grpc-go does not have.
type adapted struct{ of rpc.Codec }

// Name implements encoding.CodecV2.
func (a adapted) Name() string { return rpc.GRPCName(a.of) }

// Marshal implements encoding.CodecV2.
func (a adapted) Marshal(message any) (mem.BufferSlice, error) {
	data, err := a.of.Append(nil, message)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(data)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (a adapted) Unmarshal(data mem.BufferSlice, message any) error {
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return a.of.Unmarshal(whole.ReadOnlyData(), message)
}

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	t, is := message.(traced)
	if !is {
		return c.encode(message)
	}
	if t.ends {
		defer t.call.End()
	}
	part := t.call.Begin("encode", lab.SegmentEncoding)
	defer part.End()
	return c.encode(t.message)
}

// encode encodes a message. It logs errors itself, because grpc-go reports them only to
// the peer, which is not to blame.
func (c codec) encode(message any) (mem.BufferSlice, error) {
	data, err := c.CodecV2.Marshal(message)
	if err != nil && c.logError != nil {
		c.logError(fmt.Errorf("encode %T: %w", message, err))
	}
	return data, err
}

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, message any) error {
	t, is := message.(traced)
	if !is {
		return c.CodecV2.Unmarshal(data, message)
	}
	part := t.call.Begin("decode", lab.SegmentEncoding)
	defer part.End()
	return c.CodecV2.Unmarshal(data, t.message)
}
