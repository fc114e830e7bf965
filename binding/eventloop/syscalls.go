//go:build linux

package eventloop

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the hot path. Sockets are non-blocking, so the calls return at
// once. They are raw system calls, which do not inform the Go scheduler.

// read uses recvfrom, which needs less time in the kernel than read.
func read(descriptor int, buffer []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM,
			uintptr(descriptor), uintptr(unsafe.Pointer(unsafe.SliceData(buffer))), uintptr(len(buffer)), 0, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// write sends data. It suppresses the signal SIGPIPE of closed connections.
func write(descriptor int, data []byte) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO,
			uintptr(descriptor), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)),
			unix.MSG_NOSIGNAL, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

func accept(descriptor int) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4,
		uintptr(descriptor), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(n), errno
}

// wait waits until a descriptor is ready, fills l.events, and returns the number of events.
func (l *Loop) wait() (int, unix.Errno) {
	if l.config.Yield {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) // cannot fail
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT,
			uintptr(l.poller), uintptr(unsafe.Pointer(&l.events)), eventsPerWait, 0, 0, 0)
		if n > 0 && errno == 0 {
			return int(n), 0
		}
	}
	const forever = ^uintptr(0)
	var n uintptr
	var errno unix.Errno
	if l.config.Dedicated {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT,
			uintptr(l.poller), uintptr(unsafe.Pointer(&l.events)), eventsPerWait, forever, 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT,
			uintptr(l.poller), uintptr(unsafe.Pointer(&l.events)), eventsPerWait, forever, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
