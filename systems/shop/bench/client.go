package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

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

// sendAll deals the requests out to clients, each of whom waits for its answer.
func sendAll(address string, clients int, requests [][]byte, state shop.State) error {
	want := []byte(`"state":"` + string(state) + `"`)
	var next atomic.Int64
	failures := make([]error, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			failures[i] = sendSome(address, requests, &next, want)
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

func sendSome(address string, requests [][]byte, next *atomic.Int64, want []byte) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	answers := bufio.NewReader(connection)
	for {
		n := int(next.Add(1)) - 1
		if n >= len(requests) {
			return connection.Close()
		}
		if _, err := connection.Write(requests[n]); err != nil {
			return errors.Join(err, connection.Close())
		}
		if err := accepted(answers, want); err != nil {
			return errors.Join(fmt.Errorf("order %d: %w", n, err), connection.Close())
		}
	}
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
