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

// request is a request of the conductor about the unit's processes.
type request struct {
	text string // one of the constants lab.Starter...
	done chan<- outcome
}

// outcome is the answer to a request.
type outcome struct {
	result string // a description of what has happened
	err    error
}

// listen listens for the conductor and returns its requests.
func listen(faults lab.StarterFaults) (<-chan request, error) {
	if own := os.Getpid(); own != 1 { // otherwise signals would reach processes outside of the unit
		return nil, fmt.Errorf("the starter is process %d, and has to be the first of its container: let that "+
			"have no other init", own)
	}
	listener, err := net.Listen("tcp", faults.Address)
	if err != nil {
		return nil, err
	}
	requests := make(chan request)
	go func() { // ends with the process
		_ = serveEach(listener, func(caller net.Conn) error { return serveRequest(caller, faults.Token, requests) })
	}()
	return requests, nil
}

// serveRequest reads the request of a caller, waits until it is carried out, and sends the result.
func serveRequest(caller net.Conn, token string, requests chan<- request) error {
	text, err := readRequest(caller, token)
	if err != nil {
		return err
	}
	done := make(chan outcome, 1)
	if port, ok := strings.CutPrefix(text, lab.StarterListens); ok {
		done <- outcome{"it listens", awaitListening(port)}
	} else {
		requests <- request{text, done}
	}
	answer := <-done
	if answer.err != nil {
		return answer.err
	}
	_, err = io.WriteString(caller, lab.StarterDone+answer.result+"\n")
	return err
}

// readRequest returns the request of a caller that knows the token.
func readRequest(caller net.Conn, token string) (request string, err error) {
	if err := caller.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return "", err
	}
	from := bufio.NewReaderSize(caller, longestLine)
	line, err := readLine(from)
	if err != nil || subtle.ConstantTimeCompare([]byte(line), []byte(token)) != 1 {
		return "", errors.New("that is not the token")
	}
	return readLine(from)
}

// carryOut carries out a request about all processes of the container except this one. It returns a
// description of what has happened.
func (c *container) carryOut(request string) (result string, err error) {
	switch {
	case request == lab.StarterStart && c.program == 0:
		return "its program runs again", c.start(c.orders.Run)
	case request == lab.StarterStart:
		return "", errors.New("the unit's program runs, and was not ended")
	case c.program == 0:
		return "", errors.New("the unit's processes were ended before")
	case request == lab.StarterEnd:
		// If this fails, the later end of the program ends the container, as the conductor expects.
		result, err = c.signalAll(unix.SIGKILL, "have ended, all of them", hasEnded)
		if err == nil {
			c.program = 0 // so that its end does not end the container
			c.reap()
		}
		return result, err
	case request == lab.StarterStop:
		result, err = c.signalAll(unix.SIGSTOP, "are stopped, with all their threads", isStopped)
		if err != nil {
			_ = unix.Kill(-1, unix.SIGCONT) // the conductor does not continue processes after this error
		}
		return result, err
	case request == lab.StarterContinue:
		return c.signalAll(unix.SIGCONT, "go on", func(state rune) bool { return state != 'T' })
	}
	return "", fmt.Errorf("%.20q is no request that a starter knows", request)
}

// hasEnded reports whether a thread in this state has ended: it is a zombie or dead.
func hasEnded(state rune) bool { return strings.ContainsRune("ZX", state) }

// isStopped reports whether a thread in this state does not run and will not run: it is stopped, traced, or
// has ended.
func isStopped(state rune) bool { return strings.ContainsRune("Tt", state) || hasEnded(state) }

const (
	// signalTimeout is the longest time that processes may take to follow a signal, or to listen at a port.
	signalTimeout = 5 * time.Second
	// checkInterval is the pause between checks.
	checkInterval = 2 * time.Millisecond
)

// signalAll sends a signal to all processes of the container except this one, until isRight holds for the
// state of every thread. It returns a text with effect, which says what the signal does, and with the number
// of processes. New processes cannot escape, because the kernel signals all processes at the same time.
func (c *container) signalAll(
	signal unix.Signal, effect string, isRight func(state rune) bool,
) (result string, err error) {
	before, _ := otherProcesses(isRight)
	for deadline := time.Now().Add(signalTimeout); ; time.Sleep(checkInterval) {
		if err := unix.Kill(-1, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return "", fmt.Errorf("signal %d to all processes of the container: %w", signal, err)
		}
		left, wrong := otherProcesses(isRight)
		if len(wrong) == 0 {
			// Killed processes are counted only in before, and new ones only in left.
			return fmt.Sprintf("processes of its container that %s: %d", effect, max(before, left)), nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%v after signal %d threads of its container are in the states %q", signalTimeout,
				signal, wrong)
		}
	}
}

// otherProcesses returns the number of the container's processes without this one. wrong holds one letter for
// each of their threads for which isRight returns false: its state.
func otherProcesses(isRight func(state rune) bool) (processes int, wrong string) {
	all, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/stat") // the pattern is valid
	seen := map[string]bool{}
	for _, path := range all {
		process := strings.Split(path, "/")[2]
		text, err := os.ReadFile(path)
		// The state of a thread follows its name. If they are missing, it has just ended.
		_, fields, found := strings.Cut(string(text[bytes.LastIndexByte(text, ')')+1:]), " ")
		if process == "1" || err != nil || !found {
			continue
		}
		seen[process] = true
		if state := rune(fields[0]); !isRight(state) {
			wrong += string(state)
		}
	}
	return len(seen), wrong
}

// awaitListening waits until something listens at a port. It asks the kernel, because a connection would
// disturb the unit.
func awaitListening(port string) error {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("%.20q is no port", port)
	}
	deadline := time.Now().Add(signalTimeout)
	for ; !listens(uint16(number)); time.Sleep(checkInterval) {
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing listens at port %d for %v", number, signalTimeout)
		}
	}
	return nil
}

// listens reports whether a socket listens at a port of any address.
func listens(port uint16) bool {
	const address, state, listening = 1, 3, "0A" // see proc_net(5)
	end := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table) // without IPv6 there is only the first one
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) <= state || fields[state] != listening {
				continue
			}
			if strings.HasSuffix(fields[address], end) {
				return true
			}
		}
	}
	return false
}
