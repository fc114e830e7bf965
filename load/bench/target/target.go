//go:build linux

// Package target is the server that load generators are compared on: one thread, one epoll instance,
// HTTP/1.1 keep-alive, the same small JSON answer to every request, and a count of all requests. It can
// stall once, it can note when the kernel received each request, and it can be a queue of known capacity.
// It parses as little as possible; it is no example of a good server.
//
// Entry point: Serve.
package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const answerHTTP11 = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n" +
	`{"ok":true,"text":"hello, load engine."}`

// answerHTTP10 is the answer for clients of HTTP/1.0. Without the header Connection they would wait for the
// end of the connection. A server with a queue (Config.Service) never sends answerHTTP10.
const answerHTTP10 = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\nConnection: " +
	"keep-alive\r\nContent-Length: 40\r\n\r\n" +
	`{"ok":true,"text":"hello, load engine."}`

// Config says what the server does in addition to answering.
type Config struct {
	Port int // on 127.0.0.1; 0 lets the kernel choose
	// StallAt is the time from the first request until the server stops for StallFor.
	StallAt, StallFor time.Duration
	// Stamps keeps the kernel's receive time of every request.
	Stamps bool
	// Service is a queue in front of the answers; the zero value is none.
	Service Service
}

// Count holds what the server has counted.
type Count struct {
	Requests int64
	// Stamps holds receive times in nanoseconds since 1970, in the order of reading.
	Stamps []int64
}

// server is the state of the one thread.
type server struct {
	config  Config
	epoll   int
	listen  int
	first   time.Time
	stalled bool
	events  [256]unix.EpollEvent
	input   [4096]byte
	control [64]byte
	// connections holds the beginning of the next request of each connection, by its descriptor.
	connections map[int32][]byte
	queue       *queue // nil: answers leave at once
	count       Count
}

// Serve answers until the context ends. It calls ready with the port.
func Serve(ctx context.Context, config Config, ready func(port int)) (Count, error) {
	if runtime.GOMAXPROCS(0) < 2 { // RawSyscall keeps one processor of Go's even while it waits
		runtime.GOMAXPROCS(2)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &server{config: config, epoll: -1, listen: -1, connections: make(map[int32][]byte)}
	defer s.close()
	if config.Stamps {
		s.count.Stamps = make([]int64, 0, 1<<20)
	}
	if config.Service.Mean > 0 {
		s.queue = newQueue(config.Service)
		// The kernel adds up to 50 us to waits by default, to wake less often.
		if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
			return Count{}, err
		}
	}
	port, err := s.open()
	if err != nil {
		return Count{}, err
	}
	ready(port)
	for ctx.Err() == nil {
		if err := s.turn(); err != nil {
			return s.count, err
		}
	}
	return s.count, nil
}

// close closes all descriptors. Nobody needs its errors.
func (s *server) close() {
	for fd := range s.connections {
		_ = unix.Close(int(fd))
	}
	_ = unix.Close(s.listen)
	_ = unix.Close(s.epoll)
}

// turn waits once, handles the events and sends the answers that are due.
func (s *server) turn() error {
	milliseconds := int(patience / time.Millisecond)
	if s.queue != nil && len(s.queue.line) > 0 {
		s.queue.wait()
		milliseconds = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT,
		uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events)), uintptr(len(s.events)), uintptr(milliseconds), 0, 0)
	if errno == unix.EINTR {
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("wait: %w", errno)
	}
	s.stall()
	for i := range n {
		s.handle(s.events[i].Fd)
	}
	if s.queue != nil {
		s.queue.admit()
		for _, w := range s.queue.due() {
			answer(w.fd, false)
		}
	}
	return nil
}

// answer sends the answer, in the version of HTTP of the client. It ignores errors: the next read shows that
// the peer is gone.
func answer(fd int32, http10 bool) {
	text := []byte(answerHTTP11)
	if http10 {
		text = []byte(answerHTTP10)
	}
	_, _ = unix.Write(int(fd), text)
}

// open listens and returns the port.
func (s *server) open() (port int, err error) {
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return 0, err
	}
	if s.listen, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		0); err != nil {
		return 0, err
	}
	address := &unix.SockaddrInet4{Port: s.config.Port, Addr: [4]byte{127, 0, 0, 1}}
	const backlog = 4096
	err = errors.Join(unix.SetsockoptInt(s.listen, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(s.listen, address), unix.Listen(s.listen, backlog))
	if err != nil {
		return 0, fmt.Errorf("listen on port %d: %w", s.config.Port, err)
	}
	name, err := unix.Getsockname(s.listen)
	if err != nil {
		return 0, err
	}
	return name.(*unix.SockaddrInet4).Port, s.watch(s.listen)
}

// watch makes epoll report new data, or a new connection, on a descriptor.
func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// stall stops the whole server for StallFor, once, when StallAt has passed.
func (s *server) stall() {
	if s.config.StallFor == 0 || s.stalled || s.first.IsZero() || time.Since(s.first) < s.config.StallAt {
		return
	}
	s.stalled = true
	time.Sleep(s.config.StallFor)
}

// handle accepts a connection, or answers the requests that have come.
func (s *server) handle(fd int32) {
	if int(fd) == s.listen {
		s.accept()
		return
	}
	n, stamp, err := s.read(int(fd))
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if err != nil || n == 0 {
		s.forget(fd)
		return
	}
	requests := s.requests(fd, s.input[:n])
	http10 := bytes.Contains(s.input[:n], []byte(" HTTP/1.0\r\n"))
	for range requests {
		if s.queue != nil {
			s.queue.add(fd, stamp)
		} else {
			answer(fd, http10)
		}
		if s.config.Stamps {
			s.count.Stamps = append(s.count.Stamps, stamp)
		}
	}
	if s.count.Requests == 0 && requests > 0 {
		s.first = time.Now()
	}
	s.count.Requests += int64(requests)
}

// forget closes a connection whose peer is gone.
func (s *server) forget(fd int32) {
	delete(s.connections, fd)
	if s.queue != nil {
		s.queue.forget(fd)
	}
	_ = unix.Close(int(fd))
}

// requests returns the number of whole requests in the received data, and keeps the beginning of the next
// one. Requests have no bodies.
func (s *server) requests(fd int32, data []byte) int {
	end := []byte("\r\n\r\n")
	kept := s.connections[fd]
	if len(kept) > 0 {
		data = append(kept, data...)
	}
	n := bytes.Count(data, end)
	switch isWhole := bytes.HasSuffix(data, end); {
	case !isWhole:
		// The kept part lacks the first byte of the last end, so that this end does not count again.
		s.connections[fd] = bytes.Clone(data[bytes.LastIndex(data, end)+1:])
	case len(kept) > 0:
		s.connections[fd] = nil
	}
	return n
}

// accept accepts all connections that wait.
func (s *server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listen, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), s.watch(fd))
		if err == nil && s.stamped() {
			err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		}
		if err != nil {
			_ = unix.Close(fd) // the generator sees the closed connection
			continue
		}
		s.connections[int32(fd)] = nil
	}
}

// stamped reports whether the server needs the kernel's receive times.
func (s *server) stamped() bool { return s.config.Stamps || s.queue != nil }

// read reads into input. It returns the number of bytes and the kernel's receive time, in nanoseconds since
// 1970. The time is zero if the server does not need it, and the current time if the kernel gave none.
func (s *server) read(fd int) (int, int64, error) {
	if !s.stamped() {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&s.input)),
			uintptr(len(s.input)), 0, 0, 0)
		if errno != 0 {
			return 0, 0, errno
		}
		return int(n), 0, nil
	}
	n, length, _, _, err := unix.Recvmsg(fd, s.input[:], s.control[:], 0)
	if err != nil || n == 0 {
		return n, 0, err
	}
	messages, err := unix.ParseSocketControlMessage(s.control[:length])
	if err != nil || len(messages) == 0 || len(messages[0].Data) < int(unsafe.Sizeof(unix.Timespec{})) {
		return n, time.Now().UnixNano(), err
	}
	return n, (*unix.Timespec)(unsafe.Pointer(&messages[0].Data[0])).Nano(), nil
}
