//go:build linux

package leanhttp

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// watch notices peers that hang up during a request. One thread waits for all
// connections, at no cost per request; reading ahead would need a second goroutine per
// connection.
type watch struct {
	epoll, wake int           // descriptors; close writes to wake
	ended       chan struct{} // closed when the thread ends
	mu          sync.Mutex
	last        int32                        // number of the last watched connection
	cancels     map[int32]context.CancelFunc // by number
}

func newWatch() (*watch, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		_ = unix.Close(epoll) // nothing was in it
		return nil, err
	}
	w := &watch{epoll: epoll, wake: wake, ended: make(chan struct{}),
		cancels: make(map[int32]context.CancelFunc)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, wake,
		&unix.EpollEvent{Events: unix.EPOLLIN, Fd: 0}); err != nil {
		_ = unix.Close(epoll)
		_ = unix.Close(wake) // nothing was in them
		return nil, err
	}
	go w.run()
	return w, nil
}

// add calls cancel when the peer of a connection hangs up, until forget is called. The
// connection leaves the epoll instance when it is closed. add ignores errors: a connection
// that cannot be watched is served nevertheless.
func (w *watch) add(connection net.Conn, cancel context.CancelFunc) (forget func()) {
	if protected, is := connection.(*tls.Conn); is {
		connection = protected.NetConn()
	}
	raw, ok := connection.(syscall.Conn)
	if !ok {
		return func() {}
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return func() {}
	}
	w.mu.Lock()
	w.last = w.last%(1<<30) + 1 // zero is the wake-up
	number := w.last
	w.cancels[number] = cancel
	w.mu.Unlock()
	// The event carries a number of our own, because the kernel reuses descriptors.
	event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: number}
	// After an error the connection is not watched.
	_ = control.Control(func(fd uintptr) { _ = unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, int(fd), &event) })
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.cancels, number)
	}
}

// run waits for hang-ups until close.
func (w *watch) run() {
	defer close(w.ended)
	events := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err != nil && err != unix.EINTR {
			return
		}
		for _, event := range events[:max(n, 0)] {
			if event.Fd == 0 {
				return
			}
			w.hungUp(event.Fd)
		}
	}
}

// hungUp cancels the request of a connection, unless it has been forgotten.
func (w *watch) hungUp(number int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel, known := w.cancels[number]; known {
		cancel()
	}
}

// close ends the thread.
func (w *watch) close() error {
	if _, err := unix.Write(w.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	<-w.ended
	if err := unix.Close(w.epoll); err != nil {
		return err
	}
	return unix.Close(w.wake)
}
