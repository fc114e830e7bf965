package unit

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/binding/accept"
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
		// An empty line tells the conductor that the program runs, as in awaitConductor. Nothing is written if a
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
	connection, err := awaitConductor(listener, token)
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

// awaitConductor returns the first connection that begins with the token. It reads from all callers at the
// same time: a silent one must not keep the conductor out.
func awaitConductor(listener net.Listener, token string) (net.Conn, error) {
	authenticated := make(chan net.Conn)
	ctx, end := context.WithTimeout(context.Background(), Lease)
	defer end()
	go func() {
		_ = accept.Each(listener, func(caller net.Conn) { // until it is closed
			go authenticate(ctx, caller, token, authenticated)
		})
	}()
	select {
	case conductor := <-authenticated:
		// A forwarder may have accepted the connection earlier. An empty line, which is no event, tells the
		// conductor that it is connected to the unit itself.
		_, err := conductor.Write([]byte("\n"))
		return conductor, errors.Join(err, conductor.SetReadDeadline(time.Time{}),
			setKeepAlive(conductor.(*net.TCPConn)))
	case <-ctx.Done():
		return nil, ErrGone
	}
}

// authenticate sends a caller that knows the token to authenticated. It closes any other one, and those that
// are left when ctx ends.
func authenticate(ctx context.Context, caller net.Conn, token string, authenticated chan<- net.Conn) {
	_ = caller.SetReadDeadline(time.Now().Add(tokenTimeout)) // if this fails, so does sendsToken
	stop := context.AfterFunc(ctx, func() { _ = caller.Close() })
	if sendsToken(caller, token) && stop() {
		select {
		case authenticated <- caller:
			return
		case <-ctx.Done(): // another one was earlier
		}
	}
	_ = caller.Close() // it is not the conductor
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
