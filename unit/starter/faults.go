package starter

import (
	"bufio"
	"bytes"
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

// request is a request of the conductor that concerns the unit's processes.
type request struct {
	what string
	done chan<- outcome
}

// outcome is the result of a request, or its error.
type outcome struct {
	seen string
	err  error
}

// listen listens for the conductor and returns its requests.
func listen(faults lab.StarterFaults) (<-chan request, error) {
	if own := os.Getpid(); own != 1 { // its signals would reach processes that are no part of the unit
		return nil, fmt.Errorf("the starter is process %d, and has to be the first of its container: let that "+
			"have no other init", own)
	}
	listener, err := net.Listen("tcp", faults.Address)
	if err != nil {
		return nil, err
	}
	wanted := make(chan request)
	go func() { // it ends with the process
		_ = serveEach(listener, func(caller net.Conn) error { return serveRequest(caller, faults.Token, wanted) })
	}()
	return wanted, nil
}

// serveRequest has the request of one caller carried out and sends the result.
func serveRequest(caller net.Conn, token string, wanted chan<- request) error {
	what, err := readRequest(caller, token)
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

// readRequest returns the request of a caller that knows the token.
func readRequest(caller net.Conn, token string) (wanted string, err error) {
	if err := caller.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return "", err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	said, err := readLine(from)
	if err != nil || subtle.ConstantTimeCompare([]byte(said), []byte(token)) != 1 {
		return "", errors.New("that is not the token")
	}
	return readLine(from)
}

// carryOut does what the conductor wants with all processes of the container but this one, and returns the
// proof.
func (c *container) carryOut(what string) (seen string, err error) {
	switch {
	case what == lab.StarterStart && c.program == 0:
		return "its program runs again", c.start(c.orders.Run)
	case what == lab.StarterStart:
		return "", errors.New("the unit's program runs, and was not ended")
	case c.program == 0:
		return "", errors.New("the unit's processes were ended before")
	case what == lab.StarterEnd:
		c.program = 0 // its end is not that of the container
		return c.signalAll(unix.SIGKILL, "have ended, with none left", func(rune) bool { return false })
	case what == lab.StarterStop:
		seen, err = c.signalAll(unix.SIGSTOP, "are stopped, with all their threads", stopped)
		if err != nil {
			_ = unix.Kill(-1, unix.SIGCONT) // nobody continues what was not stopped
		}
		return seen, err
	case what == lab.StarterContinue:
		return c.signalAll(unix.SIGCONT, "go on", func(state rune) bool { return state != 'T' })
	}
	return "", fmt.Errorf("%.20q is nothing that a starter does", what)
}

// stopped reports whether a thread in a state does not run and will not: it is stopped, traced or dead.
func stopped(state rune) bool { return strings.ContainsRune("TtZX", state) }

const (
	// signalPatience is how long processes may take to follow a signal.
	signalPatience = 5 * time.Second
	// lookAgain is the pause before the kernel is asked again.
	lookAgain = 2 * time.Millisecond
)

// signalAll sends a signal to all processes until the state of every thread of those left is right. It
// returns how many they were; are says what they are now. No fork escapes: the kernel signals all at once.
func (c *container) signalAll(
	told unix.Signal, are string, right func(state rune) bool,
) (seen string, err error) {
	before, _ := others(right)
	for deadline := time.Now().Add(signalPatience); ; time.Sleep(lookAgain) {
		if err := unix.Kill(-1, told); err != nil && !errors.Is(err, unix.ESRCH) {
			return "", fmt.Errorf("signal %d to all processes of the container: %w", told, err)
		}
		if c.program == 0 { // else play has to see the program's end
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

// others counts the processes of the container but this one, and returns the states of those of their threads
// that are not right.
func others(right func(state rune) bool) (processes int, wrong string) {
	all, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat") // the pattern is right
	seen := map[string]bool{}
	for _, path := range all {
		process := strings.Split(path, "/")[2]
		text, err := os.ReadFile(path)
		// Its state follows its name. Without them it has just ended.
		_, fields, found := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if process == "1" || err != nil || !found {
			continue
		}
		seen[process] = true
		if state := rune(fields[0]); !right(state) {
			wrong += string(state)
		}
	}
	return len(seen), wrong
}

// awaitListening waits until something listens at a port. It asks the kernel: a connection would disturb the
// unit.
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

// listens reports whether a socket listens at an address that ends so.
func listens(end string) bool {
	const address, state, listening = 1, 3, "0A" // see proc_net(5)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) // without IPv6 there is no second one
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) > state && words[state] == listening && strings.HasSuffix(words[address], end) {
				return true
			}
		}
	}
	return false
}
