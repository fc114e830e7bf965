package engine

import (
	"errors"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Backoff is the time that a user waits after the target was unreachable.
const Backoff = 10 * time.Millisecond

// Unreached reports whether an outcome means that no target was reached.
func Unreached(o record.Outcome) bool {
	return o == record.Refused || o == record.Unreachable || o == record.Exhausted
}

// Disconnected reports whether an outcome means that the target ended the connection.
func Disconnected(o record.Outcome) bool { return o == record.Closed || o == record.Reset }

// OutcomeOf returns the outcome for an error of the kernel on a connection.
func OutcomeOf(errno syscall.Errno) record.Outcome {
	switch errno {
	case syscall.ECONNRESET, syscall.EPIPE:
		return record.Reset
	case syscall.ETIMEDOUT:
		return record.Timeout
	case syscall.ENOBUFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL:
		return record.Exhausted
	case syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EACCES, syscall.EPERM, syscall.ENOTSOCK:
		return record.Unreachable
	}
	return record.OtherError
}

// OutcomeOfConnect returns the outcome for an error of an attempt to connect. EAGAIN is a
// full queue of a Unix socket, ENOENT a socket file that is gone. known is false for an
// error that is not the kernel's.
func OutcomeOfConnect(err error) (outcome record.Outcome, known bool) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return record.OtherError, false
	}
	switch errno {
	case syscall.ECONNREFUSED, syscall.ENOENT, syscall.EAGAIN, syscall.ECONNRESET:
		return record.Refused, true
	}
	return OutcomeOf(errno), true
}
