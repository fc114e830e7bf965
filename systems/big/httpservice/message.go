package httpservice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// RegisterMessage is the body of POST /register at the core.
type RegisterMessage struct {
	Address string `json:"address"` // host:port at which others reach the worker
}

// StartMessage is the body of POST /start at a worker.
type StartMessage struct {
	PingLimit     int      `json:"pingLimit"`
	Neighbourhood []string `json:"neighbourhood"` // addresses, by index; the worker's own among them
}

// Check returns an error unless the message is right for the worker with this index and address, in a
// neighbourhood of this size, with this limit of pings.
func (m StartMessage) Check(index int, address string, size, pings int) error {
	if len(m.Neighbourhood) != size || m.Neighbourhood[index] != address || m.PingLimit != pings {
		return fmt.Errorf("start message with limit %d and neighbourhood %v: want limit %d and %d addresses, %s "+
			"at index %d",
			m.PingLimit, m.Neighbourhood, pings, size, address, index)
	}
	return nil
}

// decode decodes a JSON body into message. Unknown fields are an error.
func decode(body io.Reader, message any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(message)
}

// post posts message as JSON to a path of a service; nil stands for an empty body. Any status but 200 is an
// error.
func post(client *http.Client, address, path string, message any) error {
	var body bytes.Buffer
	if message != nil {
		if err := json.NewEncoder(&body).Encode(message); err != nil {
			return fmt.Errorf("encode body of %s: %w", path, err)
		}
	}
	response, err := client.Post(url(address, path), "application/json", &body)
	if err != nil {
		return err // it names the URL
	}
	answer, err := readAll(response)
	if err != nil {
		return fmt.Errorf("post %s to %s: %w", path, address, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("post %s to %s: status %d: %.200s", path, address, response.StatusCode, answer)
	}
	return nil
}

// readAll returns the body of a response, which it closes. net/http reuses a connection only if the body was
// read to its end.
func readAll(response *http.Response) ([]byte, error) {
	data, err := io.ReadAll(response.Body)
	return data, errors.Join(err, response.Body.Close())
}

// url returns the URL of a path at an address.
func url(address, path string) string { return "http://" + address + path }
