package udspersistent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

// maxControlLine is the size limit of a control message, in bytes: the largest neighbourhood with the longest
// paths.
const maxControlLine = 1 << 20

// readLine decodes a control message at the beginning of data. n is its length with the line end; 0 if data
// does not have all of it yet.
func readLine(data []byte) (message udsservice.Message, n int, err error) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		if len(data) > maxControlLine {
			return message, 0, fmt.Errorf("message %.40q...: longer than %d bytes", data, maxControlLine)
		}
		return message, 0, nil
	}
	if err := json.Unmarshal(data[:end], &message); err != nil {
		return message, 0, fmt.Errorf("message %.120q: %w", data[:end], err)
	}
	return message, end + 1, nil
}

// eachLine calls handle for each complete control message in data, and returns their length.
func eachLine(data []byte, handle func(udsservice.Message) error) (consumed int, err error) {
	for {
		message, n, err := readLine(data[consumed:])
		if n == 0 || err != nil {
			return consumed, err
		}
		consumed += n
		if err := handle(message); err != nil {
			return consumed, err
		}
	}
}

// sendLine sends a control message.
func sendLine(conn *eventloop.Conn, op string, content any) error {
	data, err := udsservice.Encode(op, content)
	if err != nil {
		return err
	}
	if err := conn.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("send %s: %w", op, err)
	}
	return nil
}
