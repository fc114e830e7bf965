//go:build linux

package engine

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the hot path return at once, so they are made without the Go scheduler.

// read uses recvfrom, which has a shorter path in the kernel than read.
func read(fd int, buffer []byte) (int, unix.Errno) { return transfer(unix.SYS_RECVFROM, fd, buffer, 0) }

// write sends data without the signal for writing to a closed connection.
func write(fd int, data []byte) (int, unix.Errno) {
	return transfer(unix.SYS_SENDTO, fd, data, unix.MSG_NOSIGNAL)
}

// transfer receives or sends bytes with a system call, and repeats it if a signal interrupts it.
func transfer(call uintptr, fd int, data []byte, flags uintptr) (int, unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(call,
			uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)), flags, 0, 0)
		if errno == 0 {
			return int(n), 0
		}
		if errno != unix.EINTR {
			return 0, errno
		}
	}
}

// message is the memory of a stamped read, allocated once.
type message struct {
	header  unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

// readStamped is read with the time at which the kernel received the last byte, in nanoseconds since
// 1970, or zero if the kernel gives none.
func readStamped(fd int, buffer []byte, m *message) (int, int64, unix.Errno) {
	m.vector.Base = unsafe.SliceData(buffer)
	m.vector.SetLen(len(buffer))
	m.header.Iov = &m.vector
	m.header.SetIovlen(1)
	m.header.Control = &m.control[0]
	for {
		m.header.SetControllen(len(m.control))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&m.header)), 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return 0, 0, errno
		}
		return int(n), m.stamp(), 0
	}
}

// stamp returns the receive time from the control data.
func (m *message) stamp() int64 {
	const head = unix.SizeofCmsghdr
	if int(m.header.Controllen) < head+int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	kind := (*unix.Cmsghdr)(unsafe.Pointer(&m.control))
	if kind.Level != unix.SOL_SOCKET || kind.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&m.control[head])).Nano()
}

// poller is an epoll instance with one timer in it.
type poller struct {
	epoll  int
	timer  int
	origin int64 // time zero of the load on the monotonic clock, nanoseconds
	armed  time.Duration
	events [256]unix.EpollEvent
}

// timerSlot marks the timer among the events; connections have slots from 0 on.
const timerSlot = -1

// newPoller returns a poller whose timer is not set.
func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll instance: %w", err)
	}
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create timer: %w", err), unix.Close(epoll))
	}
	p := &poller{epoll: epoll, timer: timer}
	// Edge-triggered: every expiry is reported once, and needs no read.
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: timerSlot}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, timer, &event); err != nil {
		return nil, errors.Join(fmt.Errorf("watch timer: %w", err), p.close())
	}
	return p, nil
}

func (p *poller) close() error { return errors.Join(unix.Close(p.timer), unix.Close(p.epoll)) }

// arm sets the timer to a time of the load, unless it is set to it already.
func (p *poller) arm(at time.Duration) {
	if at == p.armed {
		return
	}
	p.armed = at
	value := unix.ItimerSpec{Value: unix.NsecToTimespec(p.origin + int64(at))}
	// It cannot fail: the descriptor is a timer and the time is positive.
	_, _, _ = unix.RawSyscall6(unix.SYS_TIMERFD_SETTIME,
		uintptr(p.timer), unix.TFD_TIMER_ABSTIME, uintptr(unsafe.Pointer(&value)), 0, 0, 0)
}

// armWithin sets the timer so that a wait that begins now ends within a span. The timer then serves all
// waits until it expires.
func (p *poller) armWithin(now, span time.Duration) {
	if p.armed <= now || p.armed > now+span {
		p.arm(now + span)
	}
}

// forever is a wait that only an event ends. A wait with a limit sets and cancels a kernel timer each
// time, which is expensive on a busy machine.
const forever = -1

// wait returns the events that come within some milliseconds; zero does not wait. A brief wait bypasses
// the Go scheduler, which would otherwise take the processor from this thread and have to give it back: 10 us
// for each wait.
func (p *poller) wait(milliseconds int, brief bool) ([]unix.EpollEvent, error) {
	call := unix.Syscall6
	if brief {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT,
		uintptr(p.epoll), uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events)), uintptr(milliseconds), 0, 0)
	switch errno {
	case 0:
		return p.events[:n], nil
	case unix.EINTR: // a signal of Go's runtime
		return nil, nil
	}
	return nil, fmt.Errorf("wait for events: %w", errno)
}

// sleep waits until a time of the load and ignores events.
func (p *poller) sleep(until time.Duration, brief bool) {
	call := unix.Syscall6
	if brief {
		call = unix.RawSyscall6
	}
	at := unix.NsecToTimespec(p.origin + int64(until))
	// A signal may end the sleep early: then the caller looks at the clock and sleeps again.
	_, _, _ = call(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&at)), 0, 0, 0)
}

// watch sets the events to report of a connection.
func (p *poller) watch(operation int, c *conn, events uint32) error {
	event := unix.EpollEvent{Events: events | unix.EPOLLET, Fd: c.slot, Pad: c.generation}
	if err := unix.EpollCtl(p.epoll, operation, c.fd, &event); err != nil {
		return fmt.Errorf("watch connection: %w", err)
	}
	return nil
}

// monotonic returns the time of the timer's clock, in nanoseconds.
func monotonic() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return now.Nano(), nil
}
