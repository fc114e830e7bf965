package udsservice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

// CoreAddress returns the path of the core's socket.
func CoreAddress() (string, error) { return inDir("core.sock") }

// WorkerAddress returns the path of a worker's socket. The paths sort like worker numbers.
func WorkerAddress(number int) (string, error) {
	return inDir(big.WorkerName(number) + ".sock")
}

// inDir returns the path of a name in the unit's folder, which all units of the trial share.
func inDir(name string) (string, error) {
	dir, err := unit.Dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// receive waits for the next connection and returns its message.
func receive(listener net.Listener) (Message, error) {
	conn, err := listener.Accept()
	if err != nil {
		return Message{}, fmt.Errorf("accept connection: %w", err)
	}
	data, err := io.ReadAll(conn)
	if err := errors.Join(err, conn.Close()); err != nil {
		return Message{}, fmt.Errorf("read message: %w", err)
	}
	var message Message
	if err := json.Unmarshal(data, &message); err != nil {
		return Message{}, fmt.Errorf("decode message %.60q: %w", data, err)
	}
	return message, nil
}

// send opens a connection, writes one message and closes the connection.
func send(address, op string, content any) error {
	data, err := Encode(op, content)
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", address)
	if err != nil {
		return fmt.Errorf("send %s: %w", op, err)
	}
	_, err = conn.Write(data)
	if err := errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("send %s to %s: %w", op, address, err)
	}
	return nil
}
