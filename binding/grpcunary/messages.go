package grpcunary

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/lab"
)

// messages encodes and decodes messages, and pools buffers and streams.
type messages struct {
	codec          rpc.Codec
	bytes, streams sync.Pool
}

// encode returns a message with its prefix, in a buffer that put returns to the pool.
func (m *messages) encode(message any, call *spans.Part) (*[]byte, error) {
	part := call.Begin("encode", lab.SegmentEncoding)
	defer part.End()
	into, used := m.bytes.Get().(*[]byte)
	if !used {
		into = new([]byte)
	}
	data, err := m.codec.Append(append((*into)[:0], 0, 0, 0, 0, 0), message)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(data[1:], uint32(len(data)-messagePrefix))
	*into = data
	return into, nil
}

// put returns a buffer to the pool, unless it is too large to be kept.
func (m *messages) put(memory *[]byte) {
	if cap(*memory) <= keptBytes {
		m.bytes.Put(memory)
	}
}

// isTooLong reports whether a body has or announces a message of more than limit bytes. The receiver need not
// wait for the rest, which may be longer than the window of the stream.
func isTooLong(body []byte, limit int) bool {
	if len(body) < messagePrefix {
		return false
	}
	return len(body) > limit+messagePrefix || announced(body) > int64(limit)
}

// announced returns the number of bytes of a message by its prefix, with which body begins.
func announced(body []byte) int64 { return int64(binary.BigEndian.Uint32(body[1:])) }

// decode decodes a body, which must hold exactly one uncompressed message.
func (m *messages) decode(body []byte, into any, call *spans.Part) error {
	part := call.Begin("decode", lab.SegmentEncoding)
	defer part.End()
	switch {
	case len(body) < messagePrefix, announced(body) != int64(len(body)-messagePrefix):
		return errors.New("there is not one whole message")
	case body[0] != 0:
		return errors.New("the message is compressed, which this binding does not know")
	}
	return m.codec.Unmarshal(body[messagePrefix:], into)
}

// stream returns an unused stream.
func (m *messages) stream() *stream {
	if used, ok := m.streams.Get().(*stream); ok {
		return used
	}
	return &stream{done: make(chan struct{}, 1)}
}

// release returns a stream to the pool, unless its buffer is too large to be kept. The caller may not use it
// any more.
func (m *messages) release(s *stream) {
	if cap(s.body) <= keptBytes {
		*s = stream{done: s.done, body: s.body[:0]}
		m.streams.Put(s)
	}
}
