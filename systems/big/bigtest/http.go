package bigtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// MalformedHTTP sends an invalid request to a worker that serves HTTP, before the trial begins. The worker
// must refuse the request, and the trial must be valid.
func MalformedHTTP(t *testing.T, architecture string) {
	for _, test := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"start without json", "POST", "/start", "go", http.StatusBadRequest},
		{"start without neighbourhood", "POST", "/start", `{"pingLimit":20}`, http.StatusBadRequest},
		{"start with numbers", "POST", "/start", `{"pingLimit":20,"neighbourhood":[1,2]}`, http.StatusBadRequest},
		{"start with strangers", "POST", "/start", `{"pingLimit":20,"neighbourhood":["127.0.0.1:2","127.0.0.1:1"]}`,
			http.StatusBadRequest},
		{"start with another limit", "POST", "/start", `{"pingLimit":21,"neighbourhood":[ADDRESSES]}`,
			http.StatusBadRequest},
		{"unknown path", "GET", "/pong", "", http.StatusNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := startReady(t, Trial{Architecture: architecture, Neighbourhoods: 2, Workers: 2, Pings: 20})
			neighbourhood := fmt.Sprintf("%q,%q", d.Address("worker-00002"), d.Address("worker-00003"))
			body := strings.ReplaceAll(test.body, "ADDRESSES", neighbourhood)
			status, err := request(d.Address("worker-00002"), test.method, test.path, body)
			if err != nil || status != test.status {
				t.Errorf("status %d, error %v; want %d", status, err, test.status)
			}
			audit, err := d.finish()
			if err != nil || audit.Verdict != lab.AuditValid {
				t.Errorf("trial after it: %v, audit %s %q", err, audit.Verdict, audit.Problems)
			}
		})
	}
}

// BrokenHTTP plays the core and the neighbour of one worker that serves HTTP. If the neighbour does anything
// but answer "pong", the worker must fail.
func BrokenHTTP(t *testing.T, architecture string) {
	for _, test := range []struct {
		name   string
		answer string // of the neighbour; "": it does not listen; "close": it sends nothing
		want   string // a part of the worker's failure
	}{
		{"neighbour does not listen", "", "refused"},
		{"neighbour closes", "close", "neighbour 1"},
		{"neighbour says something else", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npang", "pang"},
		{"neighbour is overloaded", "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\npong", "503"},
		{"neighbour does not speak HTTP", "pong\r\n\r\n", "neighbour 1"},
		{"neighbour ends in the middle", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npo", "neighbour 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial := Trial{Architecture: architecture, Neighbourhoods: 1, Workers: 2, Pings: 20}
			d := Start(t, trial, "worker-00000")
			worker := d.Address("worker-00000")
			neighbour := d.Address("worker-00001")
			if test.answer != "" {
				answerAll(t, neighbour, test.answer)
			}
			testset.Must(t, acceptRegistration(d.Address("core")))
			start := fmt.Sprintf(`{"pingLimit":20,"neighbourhood":[%q,%q]}`, worker, neighbour)
			if status, err := request(worker, "POST", "/start", start); err != nil || status != http.StatusOK {
				t.Logf("start: status %d, error %v", status, err) // the worker may have ended already
			}
			failure := d.AwaitFailure()
			if !strings.Contains(failure, test.want) || !strings.Contains(failure, "worker 0") {
				t.Errorf("failure %q, want one of worker 0 with %q", failure, test.want)
			}
		})
	}
}

// acceptRegistration plays the core until one worker has registered.
func acceptRegistration(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	registered := make(chan string, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 4<<10)) // the check below judges what has arrived
		registered <- r.Method + " " + r.URL.Path + " " + strings.TrimSpace(string(body))
	})}
	go func() { _ = server.Serve(listener) }() // until the test binary ends: the worker needs its core
	select {
	case got := <-registered:
		if !strings.HasPrefix(got, `POST /register {"address":`) {
			return fmt.Errorf("registration %q", got)
		}
		return nil
	case <-time.After(eventTimeout):
		return fmt.Errorf("no worker has registered for %s", eventTimeout)
	}
}

// answerAll answers every request at an address with the same bytes and closes the connection. If answer is
// "close", it sends nothing.
func answerAll(t *testing.T, address, answer string) {
	listener, err := net.Listen("tcp", address)
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // which ends the goroutine below
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil && answer != "close" {
				_, _ = io.WriteString(conn, answer) // the worker judges what arrives
			}
			_ = conn.Close()
		}
	}()
}

// request sends a request and returns the status of the answer.
func request(address, method, path, body string) (status int, err error) {
	r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: eventTimeout}
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
