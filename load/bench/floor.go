//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// floor measures the least that a closed loop over HTTP costs a program on this host: one wait, one
// receive and one send per answer. It parses, checks, times and records nothing, and makes its system
// calls without the Go scheduler. Whatever a tool costs beyond that is the tool's own cost.
func floor(address, seconds string) error {
	length, err := strconv.Atoi(seconds)
	if err != nil {
		return fmt.Errorf("seconds %q: %w", seconds, err)
	}
	request := []byte("GET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
	answer, err := sizeOfAnswer(address, request)
	if err != nil {
		return err
	}
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	missing := make([]int, 1<<16) // bytes of the answer that are still to come, by socket
	for range connections {
		socket, err := connect(epoll, address)
		if err != nil {
			return err
		}
		missing[socket] = answer
		if _, err := call(unix.SYS_SENDTO, socket, request); err != nil {
			return err
		}
	}
	buffer := make([]byte, 1<<16)
	came := new(events)
	end := time.Now().Add(time.Duration(length) * time.Second)
	for time.Now().Before(end) {
		for range 1000 { // so that reading the clock costs next to nothing
			ready, err := wait(epoll, came)
			if err != nil {
				return err
			}
			for _, event := range ready {
				socket := event.Fd
				n, err := call(unix.SYS_RECVFROM, int(socket), buffer)
				if err != nil {
					return err
				}
				if missing[socket] -= n; missing[socket] > 0 {
					continue
				}
				missing[socket] = answer
				if _, err := call(unix.SYS_SENDTO, int(socket), request); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// call sends or receives bytes with one system call.
func call(number uintptr, socket int, data []byte) (int, error) {
	n, _, errno := unix.RawSyscall6(number, uintptr(socket), uintptr(unsafe.Pointer(&data[0])),
		uintptr(len(data)), 0, 0, 0)
	if errno != 0 {
		return 0, fmt.Errorf("send or receive: %w", errno)
	}
	if n == 0 {
		return 0, errors.New("the target has closed a connection")
	}
	return int(n), nil
}

// events is room for the events of one wait.
type events [connections]unix.EpollEvent

// wait returns the events that have come, or nothing if none comes for a moment.
func wait(epoll int, into *events) ([]unix.EpollEvent, error) {
	const moment = 100 // milliseconds
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(into)),
		uintptr(len(into)), moment, 0, 0)
	switch errno {
	case 0:
		return into[:n], nil
	case unix.EINTR: // a signal of Go's runtime
		return nil, nil
	}
	return nil, fmt.Errorf("wait for answers: %w", errno)
}

// connect returns a socket that is connected to the target, and whose answers end a wait.
func connect(epoll int, address string) (int, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return 0, err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(socket)}
	return socket, errors.Join(
		unix.Connect(socket, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}),
		unix.SetsockoptInt(socket, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1),
		unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, socket, &event),
	)
}

// sizeOfAnswer sends a request and returns the number of bytes that come within a moment.
func sizeOfAnswer(address string, request []byte) (int, error) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = connection.Close() }() // it was only for the size
	if _, err := connection.Write(request); err != nil {
		return 0, err
	}
	const moment = 200 * time.Millisecond
	size := 0
	buffer := make([]byte, 1<<16)
	for connection.SetReadDeadline(time.Now().Add(moment)) == nil {
		n, err := connection.Read(buffer)
		if size += n; err != nil {
			break
		}
	}
	if size == 0 {
		return 0, fmt.Errorf("%s does not answer", address)
	}
	return size, nil
}
