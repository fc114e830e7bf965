package httpjson

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// encoder holds the buffers for encoding one message.
type encoder struct {
	body bytes.Buffer
	json *json.Encoder
	out  []byte
}

// encode encodes a message into body. For JSON it reuses a json.Encoder, which saves allocations.
func (e *encoder) encode(codec rpc.Codec, message any) error {
	if codec == rpc.Codec(rpc.JSON{}) {
		return e.json.Encode(message)
	}
	data, err := codec.Append(e.body.AvailableBuffer(), message)
	e.body.Write(data)
	return err
}

// fail encodes a problem into body and returns its HTTP status.
func (e *encoder) fail(problem *rpc.Problem) int {
	if err := e.json.Encode(problem); err != nil {
		e.body.Reset() // cannot happen with two strings; the status would be enough
	}
	return problem.HTTPStatus()
}

// encoders is a pool of encoders.
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

// keptBytes is the size, in bytes, of the largest buffers that are kept for reuse.
const keptBytes = 64 << 10

func (e *encoders) put(used *encoder) {
	if used.body.Cap()+cap(used.out) <= keptBytes {
		e.pool.Put(used)
	}
}
