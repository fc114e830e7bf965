package unit

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// Lease is the time that a unit waits for its conductor: for the first connection, and for an answer of the
// conductor's host on an open one.
const Lease = 30 * time.Second

const (
	// tokenTimeout is the time for a caller to send the token.
	tokenTimeout = 5 * time.Second
	// maxToken is the longest token, in bytes.
	maxToken = 256
	// maxCallers limits the callers that may still send their token; one more displaces the oldest.
	maxCallers = 64
	// acceptPause is the pause after an accept that found no descriptor left.
	acceptPause = 10 * time.Millisecond
)

// Open connects the unit to its conductor; see Streams.
func Open() (*Channel, error) {
	in, out, err := Streams()
	if err != nil {
		return nil, err
	}
	return NewChannel(in, out), nil
}

// Streams returns the streams between the unit and its conductor: standard input and output, or a TCP
// connection if the deployer has set an address for that. Before that it sets the environment variables from
// a file, if the deployer has written one. So secrets are neither in arguments nor in the description of a
// container.
func Streams() (io.Reader, io.Writer, error) {
	if path := os.Getenv(lab.EnvironmentVariable); path != "" {
		if err := readEnvironment(path); err != nil {
			return nil, nil, err
		}
	}
	address := os.Getenv(lab.ControlVariable)
	if address == "" {
		// An empty line tells the conductor that the program runs, as in accept. Nothing is written if a
		// keeper (deploy/process) has started the unit: then the input is /dev/null, and the output a log.
		if in, err := os.Stdin.Stat(); err == nil && in.Mode()&os.ModeCharDevice == 0 {
			_, err = io.WriteString(os.Stdout, "\n")
			return os.Stdin, os.Stdout, err
		}
		return os.Stdin, os.Stdout, nil
	}
	token, err := variable(lab.TokenVariable)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the conductor: %w", err)
	}
	connection, err := accept(listener, token)
	if err = errors.Join(err, listener.Close()); err != nil {
		return nil, nil, err
	}
	return connection, connection, nil
}

// readEnvironment sets the environment variables from a file, a JSON object of strings.
func readEnvironment(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the unit's environment: %w", err)
	}
	var variables map[string]string
	if err := json.Unmarshal(text, &variables); err != nil {
		return fmt.Errorf("read the unit's environment %s: %w", path, err)
	}
	for name, value := range variables {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}

// accept returns the first connection that begins with the token. It reads from all callers at the same time:
// a silent one must not keep the conductor out.
func accept(listener net.Listener, token string) (net.Conn, error) {
	end := time.Now().Add(Lease)
	if err := listener.(*net.TCPListener).SetDeadline(end); err != nil {
		return nil, err
	}
	authenticated := make(chan net.Conn, 1)
	var callers []net.Conn
	defer func() {
		for _, caller := range callers {
			_ = caller.Close() // it is not the conductor
		}
	}()
	for {
		caller, err := listener.Accept()
		if err == nil {
			_ = caller.SetReadDeadline(time.Now().Add(tokenTimeout)) // if this fails, so does authenticate
			callers = append(callers, caller)
			go authenticate(listener, caller, token, authenticated)
		}
		select {
		case conductor := <-authenticated:
			callers = slices.DeleteFunc(callers, func(caller net.Conn) bool { return caller == conductor })
			// A forwarder may have accepted the connection earlier. An empty line, which is no event, tells the
			// conductor that it is connected to the unit itself.
			_, err := conductor.Write([]byte("\n"))
			return conductor, errors.Join(err, conductor.SetReadDeadline(time.Time{}),
				setKeepAlive(conductor.(*net.TCPConn)))
		default:
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrGone
		case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
			time.Sleep(acceptPause)
		case err != nil:
			return nil, fmt.Errorf("wait for the conductor: %w", err)
		case len(callers) > maxCallers:
			// authenticate closes the oldest one, unless that has just sent the token and is accepted.
			_ = callers[0].SetReadDeadline(time.Now())
			callers = callers[1:]
		}
	}
}

// authenticate sends a caller that knows the token to authenticated, and wakes accept. It closes a caller
// that does not know it.
func authenticate(listener net.Listener, caller net.Conn, token string, authenticated chan<- net.Conn) {
	if !sendsToken(caller, token) {
		_ = caller.Close() // it is not the conductor
		return
	}
	select {
	case authenticated <- caller:
		_ = listener.(*net.TCPListener).SetDeadline(time.Now()) // it may be closed
	default:
		_ = caller.Close() // another one was earlier
	}
}

// sendsToken reports whether the first line of a caller is the token. It reads single bytes, and so leaves
// what follows to Channel.Await.
func sendsToken(connection net.Conn, token string) bool {
	var line []byte
	for one := make([]byte, 1); len(line) <= maxToken; line = append(line, one[0]) {
		if _, err := io.ReadFull(connection, one); err != nil {
			return false
		}
		if one[0] == '\n' {
			break
		}
	}
	return subtle.ConstantTimeCompare(line, []byte(token)) == 1
}

// setKeepAlive makes the kernel close the connection if its other host does not answer for Lease, even if
// nothing is sent.
func setKeepAlive(connection *net.TCPConn) error {
	probes := net.KeepAliveConfig{Enable: true, Idle: Lease / 3, Interval: Lease / 6, Count: 4}
	if err := connection.SetKeepAliveConfig(probes); err != nil {
		return err
	}
	raw, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	var optionErr error
	err = raw.Control(func(descriptor uintptr) {
		optionErr = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(Lease.Milliseconds()))
	})
	return errors.Join(err, optionErr)
}
