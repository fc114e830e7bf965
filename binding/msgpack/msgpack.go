// Package msgpack encodes messages of Protocol Buffers as MessagePack. A message is a map by field names, as
// in JSON; numbers are numbers, and bytes are binary. Unset fields are omitted. Unknown fields are ignored.
// It reads and sets fields with protoreflect, without generated code, and uses github.com/tinylib/msgp for
// the format.
//
// Entry points: Codec.
package msgpack

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// Codec implements rpc.Codec.
type Codec struct{}

var _ rpc.Codec = Codec{}

// Name implements rpc.Codec.
func (Codec) Name() string { return "msgpack" }

// Append implements rpc.Codec.
func (Codec) Append(dst []byte, message any) ([]byte, error) {
	known, err := rpc.Message(message)
	if err != nil {
		return nil, err
	}
	return appendMessage(dst, known.ProtoReflect()), nil
}

// Unmarshal implements rpc.Codec.
func (Codec) Unmarshal(data []byte, message any) error {
	known, err := rpc.Message(message)
	if err != nil {
		return err
	}
	rest, err := readMessage(data, known.ProtoReflect(), maxDepth)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the message", len(rest))
	}
	return err
}

// maxDepth is the largest depth of nested messages that Unmarshal accepts.
const maxDepth = 100

// appendMessage appends a map of the fields that are set.
func appendMessage(dst []byte, m protoreflect.Message) []byte {
	fields := m.Descriptor().Fields()
	count := uint32(0)
	for i := range fields.Len() {
		if m.Has(fields.Get(i)) {
			count++
		}
	}
	dst = msgp.AppendMapHeader(dst, count)
	for i := range fields.Len() {
		if field := fields.Get(i); m.Has(field) {
			dst = msgp.AppendString(dst, string(field.Name()))
			dst = appendField(dst, field, m.Get(field))
		}
	}
	return dst
}

func appendField(dst []byte, field protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	switch {
	case field.IsList():
		list := value.List()
		dst = msgp.AppendArrayHeader(dst, uint32(list.Len()))
		for i := range list.Len() {
			dst = appendOne(dst, field.Kind(), list.Get(i))
		}
		return dst
	case field.IsMap():
		entries := value.Map()
		dst = msgp.AppendMapHeader(dst, uint32(entries.Len()))
		entries.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
			dst = appendOne(dst, field.MapKey().Kind(), key.Value())
			dst = appendOne(dst, field.MapValue().Kind(), value)
			return true
		})
		return dst
	}
	return appendOne(dst, field.Kind(), value)
}

// appendOne appends a value that is neither a list nor a map.
func appendOne(dst []byte, kind protoreflect.Kind, value protoreflect.Value) []byte {
	switch kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return appendMessage(dst, value.Message())
	case protoreflect.StringKind:
		return msgp.AppendString(dst, value.String())
	case protoreflect.BytesKind:
		return msgp.AppendBytes(dst, value.Bytes())
	case protoreflect.BoolKind:
		return msgp.AppendBool(dst, value.Bool())
	case protoreflect.EnumKind:
		return msgp.AppendInt32(dst, int32(value.Enum()))
	case protoreflect.FloatKind:
		return msgp.AppendFloat32(dst, float32(value.Float()))
	case protoreflect.DoubleKind:
		return msgp.AppendFloat64(dst, value.Float())
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return msgp.AppendUint64(dst, value.Uint())
	}
	return msgp.AppendInt64(dst, value.Int())
}

// readMessage decodes a message into m and returns the data after it. Messages may be nested up to depth.
func readMessage(data []byte, m protoreflect.Message, depth int) ([]byte, error) {
	if depth == 0 {
		return nil, fmt.Errorf("messages are nested more than %d deep", maxDepth)
	}
	entries, data, err := msgp.ReadMapHeaderBytes(data)
	for ; err == nil && entries > 0; entries-- {
		var name []byte
		if name, data, err = msgp.ReadStringZC(data); err != nil {
			return nil, err
		}
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil || msgp.IsNil(data) {
			data, err = msgp.Skip(data)
			continue
		}
		if data, err = readField(data, m, field, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", field.Name(), err)
		}
	}
	return data, err
}

// readField decodes the value of a field and sets it; it replaces an earlier value. It returns the data after
// it.
func readField(
	data []byte, m protoreflect.Message, field protoreflect.FieldDescriptor, depth int,
) (rest []byte, err error) {
	var entries uint32
	var value, key protoreflect.Value
	switch {
	case field.IsList():
		value = m.NewField(field)
		list := value.List()
		for entries, data, err = msgp.ReadArrayHeaderBytes(data); err == nil && entries > 0; entries-- {
			var element protoreflect.Value
			if element, data, err = readOne(data, field.Kind(), list.NewElement, depth); err == nil {
				list.Append(element)
			}
		}
	case field.IsMap():
		value = m.NewField(field)
		all := value.Map()
		for entries, data, err = msgp.ReadMapHeaderBytes(data); err == nil && entries > 0; entries-- {
			if key, data, err = readOne(data, field.MapKey().Kind(), nil, depth); err != nil {
				break
			}
			var element protoreflect.Value
			if element, data, err = readOne(data, field.MapValue().Kind(), all.NewValue, depth); err == nil {
				all.Set(key.MapKey(), element)
			}
		}
	default:
		fresh := func() protoreflect.Value { return m.NewField(field) }
		value, data, err = readOne(data, field.Kind(), fresh, depth)
	}
	if err == nil {
		m.Set(field, value)
	}
	return data, err
}

// readOne decodes a value that is neither a list nor a map, and returns it with the data after it. fresh
// returns a new message to decode into; nil for the key of a map, which is never a message.
func readOne(
	data []byte, kind protoreflect.Kind, fresh func() protoreflect.Value, depth int,
) (v protoreflect.Value, rest []byte, err error) {
	switch kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		v = fresh()
		rest, err = readMessage(data, v.Message(), depth-1)
		return v, rest, err
	case protoreflect.StringKind:
		text, rest, err := msgp.ReadStringBytes(data)
		if err == nil && !utf8.ValidString(text) {
			err = errors.New("a string is not in UTF-8")
		}
		return protoreflect.ValueOfString(text), rest, err
	case protoreflect.BytesKind:
		bytes, rest, err := msgp.ReadBytesBytes(data, nil)
		return protoreflect.ValueOfBytes(bytes), rest, err
	case protoreflect.BoolKind:
		is, rest, err := msgp.ReadBoolBytes(data)
		return protoreflect.ValueOfBool(is), rest, err
	}
	return readNumber(data, kind)
}

func readNumber(data []byte, kind protoreflect.Kind) (v protoreflect.Value, rest []byte, err error) {
	switch kind {
	case protoreflect.EnumKind:
		n, rest, err := msgp.ReadInt32Bytes(data)
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), rest, err
	case protoreflect.FloatKind:
		f, rest, err := msgp.ReadFloat32Bytes(data)
		return protoreflect.ValueOfFloat32(f), rest, err
	case protoreflect.DoubleKind:
		f, rest, err := msgp.ReadFloat64Bytes(data)
		return protoreflect.ValueOfFloat64(f), rest, err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, rest, err := msgp.ReadUint32Bytes(data)
		return protoreflect.ValueOfUint32(n), rest, err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, rest, err := msgp.ReadUint64Bytes(data)
		return protoreflect.ValueOfUint64(n), rest, err
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, rest, err := msgp.ReadInt32Bytes(data)
		return protoreflect.ValueOfInt32(n), rest, err
	}
	n, rest, err := msgp.ReadInt64Bytes(data)
	return protoreflect.ValueOfInt64(n), rest, err
}
