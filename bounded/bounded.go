// Package bounded reads from hosts, agents, units, daemons and registries, any of which may send without end.
//
// Entry points: New, ReadAll.
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

// New returns a reader of messages of at most so many bytes each. What is longer is an error and is not read.
func New(from io.Reader, most int64) *Reader {
	r := &Reader{from: from, most: most}
	r.Next()
	return r
}

// ReadAll reads a message of at most so many bytes to its end.
func ReadAll(from io.Reader, most int64) ([]byte, error) { return io.ReadAll(New(from, most)) }

// Next says that the next message begins. It may be called from another goroutine than Read.
func (r *Reader) Next() { r.left.Store(r.most) }

// Read implements io.Reader.
func (r *Reader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if r.left.Add(-int64(n)) < 0 {
		return 0, Error(r.most)
	}
	return n, err
}

// Error is that of a message that is longer than its limit, in bytes.
type Error int64

// Error implements error.
func (e Error) Error() string {
	return fmt.Sprintf("it sends more than %d bytes at once: the rest is not read", int64(e))
}
