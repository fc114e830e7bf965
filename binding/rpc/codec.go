package rpc

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Codec is an encoding of messages. Each binding has a default. Implementations must be comparable. Problems
// are always encoded in the same way.
type Codec interface {
	// Name returns the subtype of the media type application/NAME.
	Name() string
	// Append appends the encoding of a message to dst. After an error its result is undefined.
	Append(dst []byte, message any) ([]byte, error)
	// Unmarshal decodes one message into message. It keeps no reference to data.
	Unmarshal(data []byte, message any) error
}

// MediaType returns the type of HTTP messages in an encoding.
func MediaType(c Codec) string { return "application/" + c.Name() }

// GRPCName returns gRPC's name of an encoding, as in application/grpc+NAME.
func GRPCName(c Codec) string {
	if c == Codec(Protobuf{}) {
		return "proto"
	}
	return c.Name()
}

// JSON encodes with encoding/json, which uses the struct tags of generated messages.
type JSON struct{}

var _ Codec = JSON{}

// Name implements Codec.
func (JSON) Name() string { return "json" }

// Append implements Codec.
func (JSON) Append(dst []byte, message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil || len(dst) == 0 {
		return data, err // without a copy
	}
	return append(dst, data...), nil
}

// Unmarshal implements Codec.
func (JSON) Unmarshal(data []byte, message any) error { return json.Unmarshal(data, message) }

// Protobuf is the wire format of Protocol Buffers.
type Protobuf struct{}

var _ Codec = Protobuf{}

// Name implements Codec.
func (Protobuf) Name() string { return "protobuf" }

// Append implements Codec.
func (Protobuf) Append(dst []byte, message any) ([]byte, error) {
	known, err := Message(message)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{}.MarshalAppend(dst, known)
}

// Unmarshal implements Codec.
func (Protobuf) Unmarshal(data []byte, message any) error {
	known, err := Message(message)
	if err != nil {
		return err
	}
	return proto.Unmarshal(data, known)
}

// Message returns message as a proto.Message, or an error if it is none.
func Message(message any) (proto.Message, error) {
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protocol buffer", message)
	}
	return known, nil
}
