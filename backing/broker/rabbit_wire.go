package broker

import (
	"net"
	"sync"
)

// wire is a connection to RabbitMQ that can gather writes. The library writes each
// message to the socket separately. A gathered batch takes only a few system calls, here
// and in the broker.
type wire struct {
	net.Conn

	mu        sync.Mutex
	gatherers int    // callers of gather that have not called send yet
	gathered  []byte // not written yet
}

// maxGathered is the number of bytes that are gathered before they are written.
const maxGathered = 64 << 10

// Write implements net.Conn.
func (w *wire) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gatherers == 0 {
		return w.Conn.Write(text)
	}
	w.gathered = append(w.gathered, text...)
	if len(w.gathered) < maxGathered {
		return len(text), nil
	}
	if err := w.flush(); err != nil {
		return 0, err
	}
	return len(text), nil
}

// gather buffers writes until send, which the caller must call before it waits for the
// broker.
func (w *wire) gather() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gatherers++
}

// send ends one call of gather and writes all gathered data, including that of other gatherers.
func (w *wire) send() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gatherers--
	if w.flush() != nil {
		// The library then treats it as a lost connection.
		_ = w.Close()
	}
}

// flush writes the gathered data. The caller holds mu.
func (w *wire) flush() error {
	if len(w.gathered) == 0 {
		return nil
	}
	_, err := w.Conn.Write(w.gathered)
	w.gathered = w.gathered[:0]
	return err
}
