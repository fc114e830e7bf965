package httpjson

import (
	"bytes"
	"encoding/json"
	"sync"
)

// encoder is memory for messages that are being written.
type encoder struct {
	body bytes.Buffer
	json *json.Encoder
	out  []byte
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
