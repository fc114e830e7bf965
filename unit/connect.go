package unit

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/lab"
)

// Lease is how long a unit goes on without a sign of its conductor: before the first
// connection, and over one on which the other host does not answer.
const Lease = 30 * time.Second

const (
	// helloPatience is how long a caller may take to prove that it is the conductor.
	helloPatience = 5 * time.Second
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

// Streams are those between the unit and its conductor: the standard ones, or a connection
// over TCP where the deployer has given the unit an address for that. Before that it takes over the
// environment that the deployer has left in a file, where it has: what stands there
// can be seen neither in arguments nor in the description of a container.
func Streams() (io.Reader, io.Writer, error) {
	if path := os.Getenv(lab.EnvironmentVariable); path != "" {
		if err := readEnvironment(path); err != nil {
			return nil, nil, err
		}
	}
	address := os.Getenv(lab.ControlVariable)
	if address == "" {
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

// readEnvironment sets the variables of a file: one JSON object of texts.
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

// accept returns the first connection that begins with the token.
func accept(listener net.Listener, token string) (net.Conn, error) {
	if err := listener.(*net.TCPListener).SetDeadline(time.Now().Add(Lease)); err != nil {
		return nil, err
	}
	for {
		connection, err := listener.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, ErrGone
		}
		if err != nil {
			return nil, fmt.Errorf("wait for the conductor: %w", err)
		}
		if proves(connection, token) {
			// The conductor may be behind something that takes connections before we do: an
			// empty line, which is no event, tells it that it has reached us.
			_, err := connection.Write([]byte("\n"))
			return connection, errors.Join(err, watch(connection.(*net.TCPConn)))
		}
		_ = connection.Close() // it was somebody else's
	}
}

// proves reports whether a caller knows the token: the first line that it sends. The
// line is read byte by byte, since what follows is a command.
func proves(connection net.Conn, token string) bool {
	if connection.SetReadDeadline(time.Now().Add(helloPatience)) != nil {
		return false
	}
	var line []byte
	for one := make([]byte, 1); len(line) <= maxToken; line = append(line, one[0]) {
		if _, err := io.ReadFull(connection, one); err != nil {
			return false
		}
		if one[0] == '\n' {
			break
		}
	}
	return subtle.ConstantTimeCompare(line, []byte(token)) == 1 && connection.SetReadDeadline(time.Time{}) == nil
}

// watch has the kernel end a connection whose other host does not answer for the
// length of the lease, whether anything is sent or not.
func watch(connection *net.TCPConn) error {
	probes := net.KeepAliveConfig{Enable: true, Idle: Lease / 3, Interval: Lease / 6, Count: 4}
	if err := connection.SetKeepAliveConfig(probes); err != nil {
		return err
	}
	raw, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	var refused error
	err = raw.Control(func(descriptor uintptr) {
		refused = unix.SetsockoptInt(int(descriptor), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
			int(Lease.Milliseconds()))
	})
	return errors.Join(err, refused)
}
