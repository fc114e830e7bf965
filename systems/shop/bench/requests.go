package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// The clients share the processors with what they measure, so they do next to
// nothing: requests are made beforehand, and of an answer they read the status,
// the length and the state of the order.

// requests encodes every order as HTTP/1.1.
func requests(jobs []*shoppb.CreateOrderRequest) [][]byte {
	made := make([][]byte, len(jobs))
	for n, job := range jobs {
		lines := make([]string, len(job.GetLines()))
		for i, line := range job.GetLines() {
			lines[i] = fmt.Sprintf(`{"productId":%d,"quantity":%d}`, line.GetProductId(), line.GetQuantity())
		}
		body := fmt.Sprintf(`{"customerId":%d,"lines":[%s]}`, job.GetCustomerId(), strings.Join(lines, ","))
		made[n] = fmt.Appendf(nil, "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Type: "+
			"application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
			job.GetIdempotencyKey(), len(body), body)
	}
	return made
}

// sendAll deals the requests out to clients, each of whom has a connection and waits for its answer.
func sendAll(address string, clients int, requests [][]byte, state shop.State) error {
	want := []byte(`"state":"` + string(state) + `"`)
	connections := make([]net.Conn, clients)
	answers := make([]*bufio.Reader, clients)
	defer func() {
		for _, connection := range connections {
			if connection != nil {
				_ = connection.Close() // all answers are here, or one is not as it should be
			}
		}
	}()
	return figures.InParallel(clients, len(requests), func(client, n int) (err error) {
		if connections[client] == nil {
			if connections[client], err = net.Dial("tcp", address); err != nil {
				return err
			}
			answers[client] = bufio.NewReader(connections[client])
		}
		if _, err = connections[client].Write(requests[n]); err == nil {
			err = accepted(answers[client], want)
		}
		if err != nil {
			return fmt.Errorf("order %d: %w", n, err)
		}
		return nil
	})
}

// accepted reads one answer, which must hold what is wanted.
func accepted(answers *bufio.Reader, want []byte) error {
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 || !bytes.Contains(body, want) {
		return fmt.Errorf("answer %d %s", response.StatusCode, body)
	}
	return nil
}
