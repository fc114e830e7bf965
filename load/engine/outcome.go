package engine

import (
	"errors"
	"syscall"
	"time"

	"github.com/cleave-lab/cleave/load/record"
)

// Backoff is how long a user waits after finding nobody at the target.
const Backoff = 10 * time.Millisecond

// Unreached reports whether an outcome means that nobody was there.
func Unreached(o record.Outcome) bool {
	return o == record.Refused || o == record.Unreachable || o == record.Exhausted
}

// OutcomeOf names what the kernel says of a connection.
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

// OutcomeOfConnect names what the kernel says of an attempt to connect. A full queue
// of a Unix socket is EAGAIN; a socket file nobody listens at is gone or refuses. known
// is false for any other error.
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
