package udsservice

import (
	"encoding/json"
	"fmt"
)

// The operations of messages.
const (
	OpRegister      = "register"      // worker to core, content: its address
	OpNeighbourhood = "neighbourhood" // core to worker, content: all addresses of its neighbourhood, by index
	OpPing          = "ping"          // content: the sender's address
	OpPong          = "pong"          // content: the sender's address; from the core it is the kick-off
	OpFinish        = "finish"        // worker to core: the limit is reached
	OpStop          = "stop"          // core to worker: report and end
)

// Message is a message between core and workers, as JSON.
type Message struct {
	Op      string          `json:"op"`
	Content json.RawMessage `json:"content,omitempty"`
}

// Encode returns a message as JSON. It has no content if content is nil.
func Encode(op string, content any) (data []byte, err error) {
	message := Message{Op: op}
	if content != nil {
		message.Content, err = json.Marshal(content)
	}
	if err == nil {
		data, err = json.Marshal(message)
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s message: %w", op, err)
	}
	return data, nil
}

// Address returns the content of a message whose content is an address.
func (m Message) Address() (string, error) {
	var address string
	if err := json.Unmarshal(m.Content, &address); err != nil {
		return "", fmt.Errorf("%s message with content %.60q: want an address: %w", m.Op, m.Content, err)
	}
	return address, nil
}

// Addresses returns the content of a message whose content is a list of addresses.
func (m Message) Addresses() ([]string, error) {
	var addresses []string
	if err := json.Unmarshal(m.Content, &addresses); err != nil {
		return nil, fmt.Errorf("%s message with content %.60q: want addresses: %w", m.Op, m.Content, err)
	}
	return addresses, nil
}
