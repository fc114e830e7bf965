package httpservice

import (
	"bytes"
	"encoding/json"
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

// Check tells what is wrong with a start message for the worker at a place of a
// neighbourhood, which is reached at address.
func (m StartMessage) Check(index int, address string, size, pings int) error {
	if len(m.Neighbourhood) != size || m.Neighbourhood[index] != address || m.PingLimit != pings {
		return fmt.Errorf("start message with limit %d and neighbourhood %v: want limit %d and %d addresses, %s "+
			"at place %d",
			m.PingLimit, m.Neighbourhood, pings, size, address, index)
	}
	return nil
}

// decode reads a JSON body and refuses fields that it does not know.
func decode(body io.Reader, message any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(message)
}

// post sends message, or nothing where it is nil, to a path of a service and expects
// status 200.
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

// readAll reads a response's body to its end, without which net/http does not
// use the connection again.
func readAll(response *http.Response) ([]byte, error) {
	data, err := io.ReadAll(response.Body)
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	return data, err
}

func url(address, path string) string { return "http://" + address + path }
