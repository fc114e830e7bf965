package rehearsalunit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Waits shorter than exactBelow use timers of the kernel. Those of the runtime may be a millisecond late on
	// an idle host.
	exactBelow = 50 * time.Millisecond
	// Waits shorter than spinBelow are busy loops: a timer would take more CPU time than they last,
	// and be late by as much.
	spinBelow = 20 * time.Microsecond
)

// sleeper waits with timers of the kernel, which it reuses.
type sleeper struct {
	mu   sync.Mutex
	free []*timer
}

// timer is a timer of the kernel.
type timer struct {
	descriptor int
	file       *os.File // of the descriptor: reading it does not block a thread
}

// sleep waits for a time. No context cuts it short. If it is not positive, sleep returns at once.
func (s *sleeper) sleep(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	if wait >= exactBelow {
		time.Sleep(wait)
		return nil
	}
	if wait < spinBelow {
		for began := time.Now(); time.Since(began) < wait; {
		}
		return nil
	}
	t, err := s.take()
	if err != nil {
		return err
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
	if err = unix.TimerfdSettime(t.descriptor, 0, &once, nil); err == nil {
		var expirations [8]byte
		_, err = t.file.Read(expirations[:])
	}
	if err != nil {
		return errors.Join(fmt.Errorf("wait for %v: %w", wait, err), t.file.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, t)
	return nil
}

// take returns a free timer, or a new one.
func (s *sleeper) take() (*timer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		t := s.free[last]
		s.free = s.free[:last]
		return t, nil
	}
	descriptor, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	return &timer{descriptor, os.NewFile(uintptr(descriptor), "timer")}, nil
}

// Close closes the free timers.
func (s *sleeper) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, t := range s.free {
		err = errors.Join(err, t.file.Close())
	}
	return err
}
