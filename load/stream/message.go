package stream

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// method is a unary method by the server's description. It is immutable.
type method struct {
	path    string // "/package.Service/Method"
	in, out protoreflect.MessageDescriptor
	types   *dynamicpb.Types
}

// encode encodes a message from JSON; an empty text is an empty message.
func (m *method) encode(text []byte) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	message := dynamicpb.NewMessage(m.in)
	if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(text, message); err != nil {
		const shown = 120
		return nil, fmt.Errorf("%s: the request %q is no %s: %w", m.path, text[:min(len(text), shown)],
			m.in.FullName(), err)
	}
	return proto.Marshal(message)
}

// decode decodes a message to JSON. It also writes fields without presence that have their default, so
// that a failure such as "ok": false is visible. It removes the spaces, which the library varies on
// purpose.
func (m *method) decode(wire []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.out)
	if err := (proto.UnmarshalOptions{Resolver: m.types}).Unmarshal(wire, message); err != nil {
		return nil, fmt.Errorf("%s: the answer is no %s: %w", m.path, m.out.FullName(), err)
	}
	text, err := (protojson.MarshalOptions{Resolver: m.types, EmitDefaultValues: true}).Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("%s: write the answer as JSON: %w", m.path, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("%s: write the answer as JSON: %w", m.path, err)
	}
	return compact.Bytes(), nil
}

// plainCodec passes messages on as bytes: they are encoded where their method is known, and decoded only
// if needed.
type plainCodec struct{}

// Marshal implements encoding.CodecV2 for []byte.
func (plainCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("stream: a message of type %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(message)}, nil
}

// Unmarshal implements encoding.CodecV2 for *[]byte.
func (plainCodec) Unmarshal(data mem.BufferSlice, v any) error {
	into, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("stream: a message into %T", v)
	}
	n := data.Len()
	if cap(*into) < n {
		*into = make([]byte, n)
	}
	*into = (*into)[:n]
	data.CopyTo(*into)
	return nil
}

// Name returns the content subtype of protocol buffers.
func (plainCodec) Name() string { return "proto" }
