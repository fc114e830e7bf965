//go:build linux

package leanhttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/eventloop"
	"github.com/cleave-lab/cleave/internal/testset"
)

// echo answers with method, target and body, and 404 to /missing; /stop ends the
// loop.
type echo struct{ loop *eventloop.Loop }

func (e echo) Handle(r *Request, a *Answer) {
	switch string(r.Target) {
	case "/missing":
		a.Status = http.StatusNotFound
	case "/stop":
		e.loop.Stop()
	default:
		a.ContentType = "text/plain"
		a.Body = fmt.Appendf(nil, "%s %s %s", r.Method, r.Target, r.Body)
	}
}

// whileServing runs the loop until f, which sends requests to it, returns.
func whileServing(t *testing.T, f func(address string)) {
	t.Helper()
	loop, err := eventloop.New(eventloop.Config{})
	testset.Must(t, err)
	listener, err := Serve(loop, "127.0.0.1:0", Limits{Head: 400, Body: 100}, echo{loop})
	testset.Must(t, err)
	address, err := listener.Address()
	testset.Must(t, err)
	go func() {
		f(address)
		if response, err := http.Get("http://" + address + "/stop"); err == nil {
			_ = response.Body.Close() // empty
		}
	}()
	if err := errors.Join(loop.Run(), loop.Close()); err != nil {
		t.Error(err)
	}
}

func TestServerAnswersNetHTTP(t *testing.T) {
	whileServing(t, func(address string) {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for _, test := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"GET", "/a", "", 200, "GET /a "},
			{"POST", "/b?c=d", "some json", 200, "POST /b?c=d some json"},
			{"GET", "/missing", "", 404, ""},
			{"HEAD", "/e", "", 200, ""},
			{"GET", "/after-head", "", 200, "GET /after-head "},
			{"POST", "/too-long", strings.Repeat("x", 101), 413,
				"body of 101 bytes is longer than 100 (status 413)\n"},
		} {
			request, err := http.NewRequest(test.method, "http://"+address+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := client.Do(request)
			if err != nil {
				t.Errorf("%s %s: %v", test.method, test.path, err)
				continue
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close() // read to its end
			if err != nil || response.StatusCode != test.status || string(body) != test.want ||
				response.Header.Get("Date") == "" {
				t.Errorf("%s %s: status %d, body %q, error %v", test.method, test.path, response.StatusCode, body, err)
			}
		}
	})
}

// TestServerOnTheWire sends bytes, valid and invalid, and checks all bytes that come back: which requests are
// answered, and that the server closes the connection when it must.
func TestServerOnTheWire(t *testing.T) {
	const get = "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, test := range []struct {
		name, send string
		want       []string // parts of all answers until the connection ends, in this order
		unwanted   string   // must not be in the answers; empty: anything may be
	}{
		{"several at once, the last closes", fmt.Sprintf(get, 1) + fmt.Sprintf(get, 2) +
			"GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + fmt.Sprintf(get, 4),
			[]string{"GET /1 ", "GET /2 ", "Connection: close", "GET /3 "}, "GET /4"},
		{"head", "HEAD /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.0\r\n\r\n",
			[]string{"Content-Length: 8", "200 OK", "GET /2 "}, "HEAD /1"},
		{"nonsense", "hello\r\n\r\n", []string{"HTTP/1.1 400 Bad Request", "Connection: close"}, ""},
		{"nonsense behind a request", fmt.Sprintf(get, 1) + "hello\r\n\r\n",
			[]string{"200 OK", "GET /1 ", "400 Bad Request"}, ""},
		{"much nonsense", strings.Repeat("x", 100_000), []string{"HTTP/1.1 431 "}, ""},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
			[]string{"HTTP/1.1 501 Not Implemented"}, ""},
		{"old version", "GET /1 HTTP/1.0\r\n\r\n", []string{"GET /1 "}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			whileServing(t, func(address string) {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }() // nothing is buffered
				if _, err := io.WriteString(conn, test.send); err != nil {
					t.Error(err)
				}
				data, err := io.ReadAll(conn)
				if err != nil {
					t.Error(err)
				}
				rest := string(data)
				for _, want := range test.want {
					_, after, found := strings.Cut(rest, want)
					if !found {
						t.Errorf("got %q, want %q in it", data, test.want)
						return
					}
					rest = after
				}
				if test.unwanted != "" && strings.Contains(string(data), test.unwanted) {
					t.Errorf("got %q, with %q in it", data, test.unwanted)
				}
			})
		})
	}
}

// collector is a receiver that stops the loop after a number of responses, or when
// the connection is lost.
type collector struct {
	loop *eventloop.Loop
	want int // responses; -1: only the loss of the connection stops the loop
	got  []string
	lost int
	err  error
}

func (c *collector) Response(_ *Client, r *Response) {
	c.got = append(c.got, fmt.Sprintf("%d %s", r.Status, r.Body))
	if len(c.got) == c.want {
		c.loop.Stop()
	}
}

func (c *collector) Lost(_ *Client, err error) {
	c.lost++
	c.err = err
	c.loop.Stop()
}

func TestClientOfNetHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an error shows in the comparison
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	}))
	defer server.Close()
	loop, err := eventloop.New(eventloop.Config{})
	testset.Must(t, err)
	c := &collector{loop: loop, want: 3}
	client, err := Dial(loop, server.Listener.Addr().String(), Limits{}, c)
	testset.Must(t, err)
	err = errors.Join(client.Send("GET", "/1", "", nil), client.Send("POST", "/2", "text/plain", []byte("two")),
		client.Send("GET", "/missing", "", nil), loop.Run(), loop.Close())
	testset.Must(t, err)
	if got := strings.Join(c.got, ", "); got != "200 GET /1 , 200 POST /2 two, 404 GET /missing " {
		t.Errorf("got %q", got)
	}
	if err := client.Send("HEAD", "/", "", nil); err == nil {
		t.Error("HEAD was sent")
	}
}

func TestClientLosesTheConnection(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	for _, test := range []struct {
		name, answer string
		want         string // a part of the error; "" means no error
	}{
		{"server closes afterwards", ok, ""},
		{"server announces it", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", ""},
		{"server closes before", "", "1 requests unanswered"},
		{"server closes in the middle", ok[:20], "unexpected EOF"},
		{"more than was asked for", ok + ok, "without a request"},
		{"something else", "HELO\r\n\r\n", "version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			testset.Must(t, err)
			defer func() { _ = listener.Close() }() // nothing is buffered
			go answerOnce(listener, test.answer)
			loop, err := eventloop.New(eventloop.Config{})
			testset.Must(t, err)
			c := &collector{loop: loop, want: -1}
			client, err := Dial(loop, listener.Addr().String(), Limits{}, c)
			testset.Must(t, err)
			testset.Must(t, errors.Join(client.Send("GET", "/", "", nil), loop.Run(), loop.Close()))
			if c.lost != 1 || (c.err == nil) != (test.want == "") ||
				c.err != nil && !strings.Contains(c.err.Error(), test.want) {
				t.Errorf("lost %d times, error %v; want once with %q", c.lost, c.err, test.want)
			}
		})
	}
}

// closer is a receiver that closes the connection at the first response.
type closer struct{ collector }

func (c *closer) Response(client *Client, r *Response) {
	c.collector.Response(client, r)
	client.Close()
}

// TestClientClosesInResponse: after Close there are no further responses, even if they are received already,
// and Lost is not called.
func TestClientClosesInResponse(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
	for answers, requests := range map[string]int{
		ok + "\r\n" + ok + "\r\n": 2, ok + "Connection: close\r\n\r\n": 1,
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		testset.Must(t, err)
		defer func() { _ = listener.Close() }() // nothing is buffered
		go answerOnce(listener, answers)
		loop, err := eventloop.New(eventloop.Config{})
		testset.Must(t, err)
		c := &closer{collector{loop: loop, want: 1}}
		client, err := Dial(loop, listener.Addr().String(), Limits{}, c)
		testset.Must(t, err)
		for range requests {
			testset.Must(t, client.Send("GET", "/", "", nil))
		}
		testset.Must(t, errors.Join(loop.Run(), loop.Close()))
		if len(c.got) != 1 || c.lost != 0 {
			t.Errorf("%q: %d responses, lost %d times (%v), want 1 and 0", answers, len(c.got), c.lost, c.err)
		}
	}
}

// answerOnce reads one request, answers with the bytes and closes the connection.
func answerOnce(listener net.Listener, answer string) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }() // nothing is buffered
	buffer := make([]byte, 1<<10)
	if _, err := conn.Read(buffer); err == nil {
		_, _ = io.WriteString(conn, answer) // an error shows in the client
	}
}
