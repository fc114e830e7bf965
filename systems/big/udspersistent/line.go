package udspersistent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/systems/big/udsservice"
)

// maxControlLine bounds a control message in bytes: a neighbourhood of the
// largest size with the longest paths.
const maxControlLine = 1 << 20

// readLine reads one control message from the front of data. n is its length
// with the line end, 0 where data does not hold the whole of it yet.
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

// eachLine hands the whole control messages in data to take, and returns their length.
func eachLine(data []byte, take func(udsservice.Message) error) (consumed int, err error) {
	for {
		message, n, err := readLine(data[consumed:])
		if n == 0 || err != nil {
			return consumed, err
		}
		consumed += n
		if err := take(message); err != nil {
			return consumed, err
		}
	}
}

// sendLine writes one control message.
func sendLine(conn *eventloop.Conn, op string, content any) error {
	message, err := udsservice.NewMessage(op, content)
	if err != nil {
		return err
	}
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode %s message: %w", op, err)
	}
	if err := conn.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("send %s: %w", op, err)
	}
	return nil
}
