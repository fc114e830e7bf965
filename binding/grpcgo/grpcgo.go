// Package grpcgo carries calls with grpc-go, client and server, the way a Go team
// deploys it today: as it comes, with limits, and with errors that keep their kind.
// Package grpcunary speaks the same protocol, costs less and is ours.
//
// Only a traced call is carried differently: its message is wrapped, so that the codec,
// which knows no context, can say when it encodes and decodes.
//
// Entry points: NewServer, NewClient.
package grpcgo

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// traced is a message of a call that is traced.
type traced struct {
	message any
	call    *spans.Part
	ends    bool // the call is over once the message is encoded
}

// codec is grpc-go's own, and tells of traced messages.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(message any) (mem.BufferSlice, error) {
	t, is := message.(traced)
	if !is {
		return c.CodecV2.Marshal(message)
	}
	if t.ends {
		defer t.call.End()
	}
	part := t.call.Begin("encode", lab.SegmentEncoding)
	defer part.End()
	return c.CodecV2.Marshal(t.message)
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
