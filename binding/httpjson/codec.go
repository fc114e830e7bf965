package httpjson

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// encoder is memory for messages that are being written.
type encoder struct {
	body bytes.Buffer
	json *json.Encoder
	out  []byte
}

// encode writes a message. JSON needs no memory of its own here, since its encoder is kept.
func (e *encoder) encode(codec rpc.Codec, message any) error {
	if codec == rpc.Codec(rpc.JSON{}) {
		return e.json.Encode(message)
	}
	data, err := codec.Append(e.body.AvailableBuffer(), message)
	e.body.Write(data)
	return err
}

// encoders keeps the memory of encoders for the next call.
type encoders struct{ pool sync.Pool }

func (e *encoders) get() *encoder {
	if used, ok := e.pool.Get().(*encoder); ok {
		used.body.Reset()
		return used
	}
	fresh := &encoder{}
	fresh.json = json.NewEncoder(&fresh.body)
	fresh.json.SetEscapeHTML(false)
	return fresh
}

// largest is how much memory, in bytes, an encoder may take back to the pool.
const largest = 64 << 10

func (e *encoders) put(used *encoder) {
	if used.body.Cap()+cap(used.out) <= largest {
		e.pool.Put(used)
	}
}
