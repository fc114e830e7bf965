// Package bounded limits the size of messages from hosts, agents, units, daemons and registries: any of them
// may send without end. A Tail keeps only the last bytes of an output.
//
// Entry points: New, ReadAll; Tail.
package bounded

import (
	"fmt"
	"io"
	"sync/atomic"
)

// Reader reads messages of a limited size.
type Reader struct {
	from io.Reader
	most int64
	left atomic.Int64
}

// New returns a reader of messages of up to most bytes each. For a longer message Read returns an Error;
// the caller must stop then. Bytes that a decoder reads ahead count for the current message, so most should
// be well above the length of any regular message.
func New(from io.Reader, most int64) *Reader {
	r := &Reader{from: from, most: most}
	r.Next()
	return r
}

// ReadAll reads to the end. It returns an Error if there are more than most bytes.
func ReadAll(from io.Reader, most int64) ([]byte, error) { return io.ReadAll(New(from, most)) }

// Next begins the next message: it resets the limit. It may be called from another goroutine than Read.
func (r *Reader) Next() { r.left.Store(r.most) }

// Read implements io.Reader.
func (r *Reader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if r.left.Add(-int64(n)) < 0 {
		return 0, Error(r.most)
	}
	return n, err
}

// Error reports a message that is longer than the limit. Its value is the limit, in bytes.
type Error int64

// Error implements error.
func (e Error) Error() string {
	return fmt.Sprintf("it sends more than %d bytes at once: the rest is not read", int64(e))
}
