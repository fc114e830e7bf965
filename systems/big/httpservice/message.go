package httpservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// RegisterMessage is the body of POST /register at the core.
type RegisterMessage struct {
	Port int `json:"port"` // where the worker listens
}

// StartMessage is the body of POST /start at a worker.
type StartMessage struct {
	PingLimit     int   `json:"pingLimit"`
	Neighbourhood []int `json:"neighbourhood"` // ports, by index; the worker's own among them
}

// Check tells what is wrong with a start message for the worker at a place of a
// neighbourhood, which listens on port.
func (m StartMessage) Check(index, port, size, pings int) error {
	if len(m.Neighbourhood) != size || m.Neighbourhood[index] != port || m.PingLimit != pings {
		return fmt.Errorf("start message with limit %d and neighbourhood %v: want limit %d and %d ports, %d at place %d",
			m.PingLimit, m.Neighbourhood, pings, size, port, index)
	}
	return nil
}

// decode reads a JSON body and refuses fields that it does not know.
func decode(body io.Reader, message any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(message)
}

// post sends message, or nothing where it is nil, to a path of a service on this
// host and expects status 200.
func post(client *http.Client, port int, path string, message any) error {
	var body bytes.Buffer
	if message != nil {
		if err := json.NewEncoder(&body).Encode(message); err != nil {
			return fmt.Errorf("encode body of %s: %w", path, err)
		}
	}
	response, err := client.Post(url(port, path), "application/json", &body)
	if err != nil {
		return err // it names the URL
	}
	answer, err := readAll(response)
	if err != nil {
		return fmt.Errorf("post %s to port %d: %w", path, port, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("post %s to port %d: status %d: %.200s", path, port, response.StatusCode, answer)
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

func url(port int, path string) string {
	return "http://127.0.0.1:" + strconv.Itoa(port) + path
}
