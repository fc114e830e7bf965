package starter

import (
	"bufio"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// request is a request of the conductor for the unit's processes.
type request struct {
	what string
	done chan<- outcome
}

// outcome is the result of a request, or its error.
type outcome struct {
	seen string
	err  error
}

// hear listens for the conductor and passes on what it wants.
func hear(faults lab.StarterFaults) (<-chan request, error) {
	if own := os.Getpid(); own != 1 { // who is not would signal to processes that are no part of the unit
		return nil, fmt.Errorf("the starter is process %d, and has to be the first of its container: let that "+
			"have no other init", own)
	}
	listener, err := net.Listen("tcp", faults.Address)
	if err != nil {
		return nil, err
	}
	wanted := make(chan request)
	go func() { // the process ends with what it waits for here
		_ = answer(listener, func(caller net.Conn) error { return obey(caller, faults.Token, wanted) })
	}()
	return wanted, nil
}

// obey has done what one caller wants.
func obey(caller net.Conn, token string, wanted chan<- request) error {
	what, err := greet(caller, token)
	if err != nil {
		return err
	}
	done := make(chan outcome, 1)
	if port, is := strings.CutPrefix(what, lab.StarterListens); is {
		done <- outcome{"it listens", awaitListening(port)}
	} else {
		wanted <- request{what, done}
	}
	came := <-done
	if came.err != nil {
		return came.err
	}
	_, err = io.WriteString(caller, lab.StarterDone+came.seen+"\n")
	return err
}

// greet returns what a caller wants that knows the token.
func greet(caller net.Conn, token string) (wanted string, err error) {
	if err := caller.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return "", err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	said, err := line(from)
	if err != nil || subtle.ConstantTimeCompare([]byte(said), []byte(token)) != 1 {
		return "", errors.New("that is not the token")
	}
	return line(from)
}

// do does what the conductor wants of all processes of the container but this one.
func (c *container) do(what string) (seen string, err error) {
	switch {
	case what == lab.StarterStart && c.program == 0:
		return "its program runs again", c.start(c.orders.Run)
	case what == lab.StarterStart:
		return "", errors.New("the unit's program runs, and was not ended")
	case c.program == 0:
		return "", errors.New("the unit's processes were ended before")
	case what == lab.StarterEnd:
		c.program = 0 // its end is not that of the container
		return c.all(unix.SIGKILL, "have ended, with none left", func(rune) bool { return false })
	case what == lab.StarterStop:
		seen, err = c.all(unix.SIGSTOP, "are stopped, with all their threads", stopped)
		if err != nil {
			_ = unix.Kill(-1, unix.SIGCONT) // nobody continues what was not stopped
		}
		return seen, err
	case what == lab.StarterContinue:
		return c.all(unix.SIGCONT, "go on", func(state rune) bool { return state != 'T' })
	}
	return "", fmt.Errorf("%.20q is nothing that a starter does", what)
}

// stopped reports whether a thread in a state does not run and will not: it is stopped, traced, or
// dead and not waited for by its parent.
func stopped(state rune) bool { return strings.ContainsRune("TtZX", state) }

const (
	// signalPatience is how long processes may take to follow a signal.
	signalPatience = 5 * time.Second
	// lookAgain is when they, or the kernel's tables, are looked at again.
	lookAgain = 2 * time.Millisecond
)

// all sends a signal to all processes until every thread of those left is as it should be. Of what
// is forked meanwhile the kernel lets nothing escape: it sends the signal to all in one go.
func (c *container) all(told unix.Signal, are string, right func(state rune) bool) (seen string, err error) {
	before, _ := others(right)
	for deadline := time.Now().Add(signalPatience); ; time.Sleep(lookAgain) {
		if err := unix.Kill(-1, told); err != nil && !errors.Is(err, unix.ESRCH) {
			return "", fmt.Errorf("signal %d to all processes of the container: %w", told, err)
		}
		if c.program == 0 { // else its end is to be told
			c.reap()
		}
		left, wrong := others(right)
		if len(wrong) == 0 {
			return fmt.Sprintf("processes of its container that %s: %d", are, max(before, left)), nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%v after signal %d threads of its container are in the states %q", signalPatience,
				told, wrong)
		}
	}
}

// others counts the processes of the container but this one, and has the states of those of their
// threads that are not right.
func others(right func(state rune) bool) (processes int, wrong string) {
	all, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat") // the pattern is right
	seen := map[string]bool{"1": true}
	for _, path := range all {
		process := strings.Split(path, "/")[2]
		text, err := os.ReadFile(path)
		_, after, found := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
		if process == "1" || err != nil || !found { // it has ended just now
			continue
		}
		if !seen[process] {
			processes++
		}
		seen[process] = true
		if state := rune(after[0]); !right(state) {
			wrong += string(state)
		}
	}
	return processes, wrong
}

// awaitListening waits until something listens at a port: the kernel's tables say so, without a
// connection that the unit would have to deal with.
func awaitListening(port string) error {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%.20q is no port", port)
	}
	end, deadline := fmt.Sprintf(":%04X", number), time.Now().Add(signalPatience)
	for ; !listens(end); time.Sleep(lookAgain) {
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing listens at port %d for %v", number, signalPatience)
		}
	}
	return nil
}

// listens reports whether the kernel has a socket that listens at an address with an end.
func listens(end string) bool {
	const address, state, listening = 1, 3, "0A" // in the tables
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) // where there is none of a kind, nobody listens there
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) > state && words[state] == listening && strings.HasSuffix(words[address], end) {
				return true
			}
		}
	}
	return false
}
