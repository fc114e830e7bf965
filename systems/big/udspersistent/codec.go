package udspersistent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

// op is the kind of a message between workers.
type op byte

const (
	ping op = 1
	pong op = 2
)

// codec encodes and decodes the pings and pongs of one link. A message that names another sender than the
// worker at the other end is an error.
type codec interface {
	// encode returns a message, which is valid until the next call.
	encode(o op) []byte
	// decode decodes a message at the beginning of data. n is its length; 0 if data does not have all of it yet.
	decode(data []byte) (o op, n int, err error)
}

// frameSize is the length of a binary message in bytes: the op, three zeros, and the index of the sender in
// the neighbourhood as a little-endian number.
const frameSize = 8

// binaryCodec encodes messages as frames of frameSize.
type binaryCodec struct {
	own, peer int // indices in the neighbourhood
	frame     [frameSize]byte
}

func (b *binaryCodec) encode(o op) []byte {
	binary.LittleEndian.PutUint64(b.frame[:], uint64(o)|uint64(b.own)<<32)
	return b.frame[:]
}

func (b *binaryCodec) decode(data []byte) (o op, n int, err error) {
	if len(data) < frameSize {
		return 0, 0, nil
	}
	frame := binary.LittleEndian.Uint64(data)
	o = op(frame)
	if uint32(frame) != uint32(o) || o != ping && o != pong {
		return 0, 0, fmt.Errorf("frame % x: op %d, want %d or %d", data[:frameSize], uint32(frame), ping, pong)
	}
	if sender := frame >> 32; sender != uint64(b.peer) {
		return 0, 0, fmt.Errorf("frame % x: sender %d on the link to %d", data[:frameSize], sender, b.peer)
	}
	return o, frameSize, nil
}

// maxLine is the longest JSON message in bytes: a path of 107 bytes, escaped,
// with its op.
const maxLine = 1 << 10

// jsonCodec encodes the messages of udsservice, one per line. Both ends of a link write a message in one
// form, without blanks, so the decoder takes no other.
type jsonCodec struct {
	own, peer []byte // addresses, as JSON strings
	line      []byte
}

// The parts of a line around its op and its content.
var beginning, middle, ending = []byte(`{"op":"`), []byte(`","content":`), []byte("}")

// newJSONCodec returns the codec of a link between two workers with these addresses.
func newJSONCodec(own, peer string) *jsonCodec {
	ownText, _ := json.Marshal(own) // strings cannot fail
	peerText, _ := json.Marshal(peer)
	return &jsonCodec{own: ownText, peer: peerText}
}

func (j *jsonCodec) encode(o op) []byte {
	name := udsservice.OpPing
	if o == pong {
		name = udsservice.OpPong
	}
	j.line = append(j.line[:0], beginning...)
	j.line = append(j.line, name...)
	j.line = append(j.line, middle...)
	j.line = append(j.line, j.own...)
	j.line = append(j.line, ending...)
	j.line = append(j.line, '\n')
	return j.line
}

func (j *jsonCodec) decode(data []byte) (o op, n int, err error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > maxLine {
			return 0, 0, fmt.Errorf("message %.40q...: longer than %d bytes", data, maxLine)
		}
		return 0, 0, nil
	}
	line := data[:end]
	rest, begins := bytes.CutPrefix(line, beginning)
	name, rest, divided := bytes.Cut(rest, middle)
	content, ends := bytes.CutSuffix(rest, ending)
	switch {
	case !begins || !divided || !ends:
		return 0, 0, fmt.Errorf("message %.120q: want %s...%s...%s", line, beginning, middle, ending)
	case !bytes.Equal(content, j.peer):
		return 0, 0, fmt.Errorf("message %.120q: sender %s on the link to %s", line, content, j.peer)
	}
	switch string(name) {
	case udsservice.OpPing:
		return ping, end + 1, nil
	case udsservice.OpPong:
		return pong, end + 1, nil
	}
	return 0, 0, fmt.Errorf("message %.120q: op %q, want %s or %s", line, name, udsservice.OpPing,
		udsservice.OpPong)
}
