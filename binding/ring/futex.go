package ring

import (
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), on words that processes share.
const (
	futexWait = 0
	futexWake = 1
)

// All is the number of sleepers with which Wake wakes every sleeper.
const All = math.MaxInt32

// Wait sleeps until Wake is called for a word in shared memory. It returns at once
// if the word does not have the value. It may also return without a reason, so callers
// must check the word again. Other goroutines run meanwhile.
func Wait(word *atomic.Uint32, value uint32) error {
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0,
		0, 0)
	return waitError(errno)
}

// WaitAlone is Wait for a process with one goroutine; see Inbox.SleepAlone.
func WaitAlone(word *atomic.Uint32, value uint32) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(value), 0,
		0, 0)
	return waitError(errno)
}

// waitError returns the error of a wait: nil if it ended by a wake-up, a signal or another value of the word.
func waitError(errno unix.Errno) error {
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR:
		return nil
	default:
		return fmt.Errorf("sleep on a word in shared memory: %w", errno)
	}
}

// Wake wakes up to the given number of processes that wait for the word.
func Wake(word *atomic.Uint32, sleepers int) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(sleepers),
		0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("wake a sleeper on shared memory: %w", errno)
	}
	return nil
}
