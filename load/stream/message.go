package stream

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

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

// encode returns the body of a request with a message in JSON; an empty text is an empty message.
func (m *method) encode(text []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.in)
	if len(bytes.TrimSpace(text)) > 0 {
		if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal(text, message); err != nil {
			const shown = 120
			return nil, fmt.Errorf("%s: the request %q is no %s: %w", m.path, text[:min(len(text), shown)],
				m.in.FullName(), err)
		}
	}
	return prefixed(message)
}

// prefixed returns a message as the body of a request.
func prefixed(message proto.Message) ([]byte, error) {
	body, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, prefix), message)
	if err == nil {
		binary.BigEndian.PutUint32(body[1:], uint32(len(body)-prefix))
	}
	return body, err
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
