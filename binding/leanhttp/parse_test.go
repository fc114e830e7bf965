package leanhttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for _, test := range []struct {
		name, data string
		want       Request
		taken      int // 0 means all
	}{
		{"get", "GET /ping HTTP/1.1\r\nHost: a\r\n\r\n",
			Request{Method: []byte("GET"), Target: []byte("/ping"), KeepAlive: true}, 0},
		{"post",
			"POST /start?x=%20 HTTP/1.1\r\nHost:a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
			Request{Method: []byte("POST"), Target: []byte("/start?x=%20"), ContentType: []byte("application/json"),
				Body: []byte("{}"), KeepAlive: true}, 0},
		{"names in any case", "POST / HTTP/1.1\r\nhOsT: \t a\t \r\ncontent-LENGTH: 1\r\n\r\nx",
			Request{Method: []byte("POST"), Target: []byte("/"), Body: []byte("x"), KeepAlive: true}, 0},
		{"close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\n\r\n",
			Request{Method: []byte("GET"), Target: []byte("/")}, 0},
		{"old version", "GET / HTTP/1.0\r\n\r\n", Request{Method: []byte("GET"), Target: []byte("/")}, 0},
		{"old version kept", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			Request{Method: []byte("GET"), Target: []byte("/"), KeepAlive: true}, 0},
		{"two in a row", "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
			Request{Method: []byte("GET"), Target: []byte("/1"), KeepAlive: true}, 28},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.taken == 0 {
				test.taken = len(test.data)
			}
			var r Request
			for cut := range test.taken {
				if n, err := ParseRequest([]byte(test.data[:cut]), Limits{}, &r); n != 0 || err != nil {
					t.Fatalf("first %d bytes: took %d, error %v", cut, n, err)
				}
			}
			n, err := ParseRequest([]byte(test.data), Limits{}, &r)
			if n != test.taken || err != nil || show(r) != show(test.want) {
				t.Errorf("took %d, error %v, request %s; want %d and %s", n, err, show(r), test.taken, show(test.want))
			}
		})
	}
}

func show(r Request) string {
	kept := "close"
	if r.KeepAlive {
		kept = "keep"
	}
	return strings.Join([]string{string(r.Method), string(r.Target), string(r.ContentType), string(r.Body),
		kept}, "|")
}

func TestParseRequestRefuses(t *testing.T) {
	const host = "Host: a\r\n"
	for _, test := range []struct {
		name, data string
		status     int
	}{
		{"empty line first", "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"greeting of TLS", "\x16\x03\x01", 400},
		{"no target", "GET HTTP/1.1\r\n" + host + "\r\n", 400},
		{"two blanks", "GET  / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"blank in target", "GET /a b HTTP/1.1\r\n" + host + "\r\n", 505},
		{"whole URL as target", "GET http://a/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"letter beyond ASCII in target", "GET /\xc3\xa4 HTTP/1.1\r\n" + host + "\r\n", 400},
		{"method with a colon", "GE:T / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"version 2", "GET / HTTP/2.0\r\n" + host + "\r\n", 505},
		{"version in small letters", "GET / http/1.1\r\n" + host + "\r\n", 505},
		{"bare line feed", "GET / HTTP/1.1\n" + host + "\r\n\r\n", 400},
		{"bare carriage return", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
		{"zero byte", "GET / HTTP/1.1\r\nHost: a\x00\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", 400},
		{"two hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
		{"blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
		{"folded line", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
		{"no colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", 400},
		{"no name", "GET / HTTP/1.1\r\n: a\r\n\r\n", 400},
		{"two lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400},
		{"list of lengths", "POST / HTTP/1.1\r\n" + host + "Content-Length: 1, 1\r\n\r\nx", 400},
		{"negative length", "POST / HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 400},
		{"length with sign", "POST / HTTP/1.1\r\n" + host + "Content-Length: +1\r\n\r\nx", 400},
		{"empty length", "POST / HTTP/1.1\r\n" + host + "Content-Length:\r\n\r\n", 400},
		{"huge length", "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999999\r\n\r\n", 413},
		{"body beyond the limit", "POST / HTTP/1.1\r\n" + host + "Content-Length: 101\r\n\r\n", 413},
		{"two types", "POST / HTTP/1.1\r\n" + host + "Content-Type: a\r\nContent-Type: b\r\n\r\n", 400},
		{"chunks", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
		{"chunks and length", "POST / HTTP/1.1\r\n" + host +
			"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501},
		{"expectation", "POST / HTTP/1.1\r\n" + host + "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n", 417},
		{"head beyond the limit", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 300), 431},
		{"complete head beyond the limit", "GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 300) +
			"\r\n\r\n", 431},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Request
			_, err := ParseRequest([]byte(test.data), Limits{Head: 200, Body: 100}, &r)
			var refused *Error
			if !errors.As(err, &refused) || refused.Status != test.status {
				t.Errorf("error %v, want status %d", err, test.status)
			}
		})
	}
}

func TestParseResponse(t *testing.T) {
	for _, test := range []struct {
		name, data string
		status     int
		body       string
		keepAlive  bool
		fails      bool
	}{
		{"ok", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong", 200, "pong", true, false},
		{"no reason", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, "", true, false},
		{"closing", "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 404, "x", false,
			false},
		{"old version", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false, false},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true, false},
		{"not modified, with the length of what is not sent",
			"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, "", true, false},
		{"no length", "HTTP/1.1 200 OK\r\n\r\n", 0, "", false, true},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0, "", false, true},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\n", 0, "", false, true},
		{"status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", 0, "", false, true},
		{"status of letters", "HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n", 0, "", false, true},
		{"status 600", "HTTP/1.1 600 No\r\nContent-Length: 0\r\n\r\n", 0, "", false, true},
		{"something else", "SSH-2.0-x\r\n\r\n", 0, "", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Response
			n, err := ParseResponse([]byte(test.data), Limits{}, &r)
			if test.fails {
				if err == nil {
					t.Errorf("accepted as %+v", r)
				}
				return
			}
			if err != nil || n != len(test.data) || r.Status != test.status || string(r.Body) != test.body ||
				r.KeepAlive != test.keepAlive {
				t.Errorf("took %d of %d, error %v, response %+v", n, len(test.data), err, r)
			}
			for cut := range len(test.data) {
				if n, err := ParseResponse([]byte(test.data[:cut]), Limits{}, &r); n != 0 || err != nil {
					t.Fatalf("first %d bytes: took %d, error %v", cut, n, err)
				}
			}
		})
	}
}

// FuzzParseRequest checks that net/http reads the same from each request that ParseRequest accepts, or
// refuses the request, and that no prefix of a request is taken for a whole one.
func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /ping HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /start HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}GET",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "\r\n\r\n", "GET /\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		n, err := ParseRequest(data, Limits{}, &r)
		if n < 0 || n > len(data) || err != nil && n != 0 {
			t.Fatalf("took %d of %d bytes, error %v", n, len(data), err)
		}
		if n == 0 {
			return
		}
		for cut := range n {
			var part Request
			if taken, err := ParseRequest(data[:cut], Limits{}, &part); taken != 0 || err != nil {
				t.Fatalf("first %d bytes of %q: took %d, error %v", cut, data[:n], taken, err)
			}
		}
		standard, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data[:n])))
		if err != nil {
			t.Skip(err) // net/http checks more: the values of more fields, and the target
		}
		body, err := io.ReadAll(standard.Body)
		if err != nil || !bytes.Equal(body, r.Body) || standard.Method != string(r.Method) ||
			standard.RequestURI != string(r.Target) || standard.Close == r.KeepAlive {
			t.Errorf("%q: read as %s, net/http reads %s %s %q, closes: %t", data[:n], show(r), standard.Method,
				standard.RequestURI, body, standard.Close)
		}
	})
}

// FuzzParseResponse checks that net/http reads the same from each response that ParseResponse accepts, or
// refuses the response.
func FuzzParseResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npong", "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\nx",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Response
		n, err := ParseResponse(data, Limits{}, &r)
		if n < 0 || n > len(data) || err != nil && n != 0 {
			t.Fatalf("took %d of %d bytes, error %v", n, len(data), err)
		}
		if n == 0 {
			return
		}
		standard, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data[:n])), nil)
		if err != nil {
			t.Skip(err)
		}
		body, err := io.ReadAll(standard.Body)
		if err != nil || !bytes.Equal(body, r.Body) || standard.StatusCode != r.Status ||
			standard.Close == r.KeepAlive {
			t.Errorf("%q: read as %+v, net/http reads %d %q, closes: %t", data[:n], r, standard.StatusCode, body,
				standard.Close)
		}
	})
}

func TestParsersReadWhatIsAppended(t *testing.T) {
	data := AppendRequest(nil, "POST", "127.0.0.1:80", "/start", "application/json", []byte("{}"))
	var request Request
	if n, err := ParseRequest(data, Limits{}, &request); n != len(data) || err != nil ||
		show(request) != "POST|/start|application/json|{}|keep" {
		t.Errorf("%q: took %d, error %v, %s", data, n, err, show(request))
	}
	data = AppendResponse(nil, 200, "now", "text/plain", []byte("pong"), true)
	var response Response
	if n, err := ParseResponse(data, Limits{}, &response); n != len(data) || err != nil ||
		response.Status != 200 ||
		string(response.Body) != "pong" || string(response.ContentType) != "text/plain" || response.KeepAlive {
		t.Errorf("%q: took %d, error %v, %+v", data, n, err, response)
	}
	data = AppendResponse(nil, 204, "", "", nil, false)
	if n, err := ParseResponse(data, Limits{}, &response); n != len(data) || err != nil ||
		bytes.Contains(data, []byte("Content-Length")) {
		t.Errorf("%q: took %d, error %v", data, n, err)
	}
}

func BenchmarkParseRequest(b *testing.B) {
	data := AppendRequest(nil, "GET", "127.0.0.1:12345", "/ping", "", nil)
	b.ReportAllocs()
	var r Request
	for b.Loop() {
		if n, err := ParseRequest(data, Limits{}, &r); n == 0 || err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseResponse(b *testing.B) {
	data := AppendResponse(nil, 200, http.TimeFormat, "text/plain; charset=utf-8", []byte("pong"), false)
	b.ReportAllocs()
	var r Response
	for b.Loop() {
		if n, err := ParseResponse(data, Limits{}, &r); n == 0 || err != nil {
			b.Fatal(err)
		}
	}
}
