package meter

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// scratch is the buffer of one reader. Every file is read into it, so that a sampling round allocates next
// to nothing. What a method returns is valid until the next call.
type scratch struct {
	buffer []byte
	time   unix.Timespec
}

// newScratch returns a buffer that is large enough for most files. It grows for long ones, such as the list
// of the processes of a large container.
func newScratch() *scratch { return &scratch{buffer: make([]byte, 16<<10)} }

// file reads a whole file below an open directory.
func (s *scratch) file(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	n, err := s.fill(fd)
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	return s.buffer[:n], err
}

// fill reads from fd until its end.
func (s *scratch) fill(fd int) (int, error) {
	n := 0
	for {
		if n == len(s.buffer) {
			s.buffer = append(s.buffer, make([]byte, n)...)
		}
		got, err := unix.Read(fd, s.buffer[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return n, err
		}
		if got == 0 {
			return n, nil
		}
		n += got
	}
}

// clock reads a CPU clock in nanoseconds.
func (s *scratch) clock(id int32) (int64, error) {
	if err := unix.ClockGettime(id, &s.time); err != nil {
		return 0, err
	}
	return s.time.Nano(), nil
}

// processClock returns the id of the CPU clock of a process with all its threads. Its layout is the kernel's
// (clock_getcpuclockid(3) builds the same): the complement of the pid above three bits, whose value 2
// selects the scheduler's nanosecond account.
func processClock(pid int) int32 {
	const schedulerAccount = 2
	return int32(^pid<<3 | schedulerAccount)
}

// stat holds the fields of /proc/<pid>/stat for the meter (proc_pid_stat(5)).
type stat struct {
	state            byte
	parent           int64
	userTicks        int64
	systemTicks      int64
	childUserTicks   int64 // of children that have ended and were waited for, with their children
	childSystemTicks int64
	threads          int64
}

// Positions in /proc/<pid>/stat, counted from the state, which follows the
// command name and is field 3 of the manual page.
const (
	statParent      = 4 - 3
	statUser        = 14 - 3
	statSystem      = 15 - 3
	statChildUser   = 16 - 3
	statChildSystem = 17 - 3
	statThreads     = 20 - 3
)

// parseStat reads the fields behind the command name. The name stands in
// brackets and may itself contain brackets and blanks, so its end is the last
// closing bracket.
func parseStat(text []byte) (stat, error) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 || end+2 >= len(text) {
		return stat{}, fmt.Errorf("stat file %q has no command name", text)
	}
	rest, more := text[end+2:], true
	var fields [statThreads + 1][]byte
	for i := range fields {
		if !more {
			return stat{}, fmt.Errorf("stat file %q ends at field %d", text, i+2)
		}
		fields[i], rest, more = bytes.Cut(rest, []byte{' '})
	}
	if _, ok := digits(fields[statThreads]); !ok {
		return stat{}, fmt.Errorf("stat file %q: field %d is no number", text, statThreads+3)
	}
	number := func(position int) int64 { value, _ := digits(fields[position]); return value }
	return stat{state: text[end+2], parent: number(statParent), userTicks: number(statUser),
		systemTicks: number(statSystem), childUserTicks: number(statChildUser),
		childSystemTicks: number(statChildSystem), threads: number(statThreads)}, nil
}

// lineValue finds "<key> <blanks> <number>" at the start of a line. The key includes the
// sign behind it, a colon or a blank.
func lineValue(text []byte, key string) (int64, bool) {
	for len(text) > 0 {
		line, tail, _ := bytes.Cut(text, []byte{'\n'})
		if len(line) > len(key) && string(line[:len(key)]) == key {
			return digits(bytes.TrimLeft(line[len(key):], " \t"))
		}
		text = tail
	}
	return 0, false
}

// digits reads the number at the start of text.
func digits(text []byte) (int64, bool) {
	var value int64
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		value = value*10 + int64(text[n]-'0')
		n++
	}
	return value, n > 0
}
