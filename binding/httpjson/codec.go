package httpjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"time"
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

// appendTimeout appends the value of Cleave-Context: the microseconds left.
func appendTimeout(dst []byte, left time.Duration) []byte {
	dst = append(dst, "timeout="...)
	return strconv.AppendInt(dst, max(left.Microseconds(), 0), 10)
}

// parseTimeout reads what appendTimeout wrote; ok is false where there is none.
func parseTimeout(value []byte) (left time.Duration, ok bool) {
	digits, found := bytes.CutPrefix(value, []byte("timeout="))
	if !found {
		return 0, false
	}
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil || n < 0 || n > int64(longest/time.Microsecond) {
		return 0, false
	}
	return time.Duration(n) * time.Microsecond, true
}

// longest bounds the time that a caller can ask for.
const longest = 24 * time.Hour
