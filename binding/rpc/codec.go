package rpc

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Codec is an encoding of messages. Each binding has one of its own and takes others (Encoded). Values of
// its implementations can be compared. Faults have their own encoding, whatever the codec is.
type Codec interface {
	// Name is the end of the media type: application/NAME.
	Name() string
	// Append appends the encoding of a message. On error it returns nothing of use.
	Append(dst []byte, message any) ([]byte, error)
	// Unmarshal reads a whole message. The data can change afterwards.
	Unmarshal(data []byte, message any) error
}

// MediaType returns the type of HTTP messages in an encoding.
func MediaType(c Codec) string { return "application/" + c.Name() }

// GRPCName returns what gRPC calls an encoding: application/grpc+NAME.
func GRPCName(c Codec) string {
	if c == Codec(Protobuf{}) {
		return "proto"
	}
	return c.Name()
}

// JSON is encoding/json, by the tags of generated messages.
type JSON struct{}

var _ Codec = JSON{}

// Name implements Codec.
func (JSON) Name() string { return "json" }

// Append implements Codec.
func (JSON) Append(dst []byte, message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil || len(dst) == 0 {
		return data, err // not copied
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

// Message returns a message that generated code has handed over, or why it is none.
func Message(message any) (proto.Message, error) {
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protocol buffer", message)
	}
	return known, nil
}
