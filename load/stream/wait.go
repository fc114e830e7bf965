//go:build linux

package stream

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// waiter lets one thread sleep with a precision of some microseconds, and be woken. Timers of the Go
// runtime wait whole milliseconds.
type waiter struct{ fd int }

func newWaiter() (*waiter, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	return &waiter{fd}, err
}

// wait sleeps for a time, or until a nudge.
func (w *waiter) wait(d time.Duration) error {
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	limit := unix.NsecToTimespec(int64(max(d, 0)))
	n, err := unix.Ppoll(fds, &limit, nil)
	if err == unix.EINTR {
		return nil
	}
	if n > 0 {
		var count [8]byte
		_, err = unix.Read(w.fd, count[:])
	}
	return err
}

// nudge ends the current wait, or else the next one at once.
func (w *waiter) nudge() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(w.fd, one[:]) // it only fails if the counter is full: then the waiter has been nudged
}

func (w *waiter) close() error { return unix.Close(w.fd) }
