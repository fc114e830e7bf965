//go:build linux

package leanhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// sampleHandler returns a handler that uses much of net/http: path values, queries, bodies, statuses, fields.
func sampleHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /plain/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s", r.PathValue("id"), r.URL.Query().Get("q"), r.Host, r.Header.Get("X-Asked"))
	})
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 100))
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		w.Header().Set("Location", "/made")
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	})
	mux.HandleFunc("DELETE /gone", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /last", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
	})
	mux.HandleFunc("GET /split", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Value", "one\r\nX-Two: two")
	})
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "page.html", time.Unix(1e9, 0), strings.NewReader("<html></html>"))
	})
	return mux
}

// TestAPanicEndsOnlyItsConnection: as with net/http, the client gets no answer, the stack is logged, and the
// server answers other requests.
func TestAPanicEndsOnlyItsConnection(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	address := serveFront(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a mistake")
		}
	}), Patience{})
	if _, err := http.Get("http://" + address + "/panic"); !errors.Is(err, io.EOF) {
		t.Errorf("a handler that panics: %v, want no answer", err)
	}
	log.SetOutput(os.Stderr) // waits until the logger, which has the same lock, has written
	if text := logged.String(); !strings.Contains(text, "a mistake") ||
		!strings.Contains(text, "TestAPanicEndsOnlyItsConnection") {
		t.Errorf("logged %q, want the panic and its stack", text)
	}
	response, err := http.Get("http://" + address + "/")
	testset.Must(t, err)
	_ = response.Body.Close() // it is empty
}

// serveFront serves a handler on a free address until the test ends, and returns the address.
func serveFront(t *testing.T, handler http.Handler, patience Patience) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	server, err := NewServer(Limits{}, patience, Front(handler),
		func(e *Error) (string, []byte) { return "text/plain", []byte(e.Reason) })
	testset.Must(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// TestAFrontAnswersAsNetHTTP compares every answer with that of net/http.
func TestAFrontAnswersAsNetHTTP(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	stock := &http.Server{Handler: sampleHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = stock.Serve(listener) }()
	defer func() { _ = stock.Close() }()
	address := serveFront(t, sampleHandler(), Patience{})
	for _, sent := range []string{
		"GET /plain/7?q=a%20b HTTP/1.1\r\nHost: shop\r\nx-asked:  well \r\n\r\n",
		"HEAD /plain/7 HTTP/1.1\r\nHost: shop\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: shop\r\nContent-Type: text/x\r\nContent-Length: 5\r\n\r\nflour",
		// net/http closes the connection after an unread body; here the request asks for that, so that both do.
		"POST /echo HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nContent-Type: text/x\r\nContent-Length: " +
			"101\r\n\r\n" + strings.Repeat("x", 101),
		"GET /echo HTTP/1.1\r\nHost: shop\r\n\r\n",
		"GET /nowhere HTTP/1.1\r\nHost: shop\r\n\r\n",
		"DELETE /gone HTTP/1.1\r\nHost: shop\r\n\r\n",
		"GET /last HTTP/1.1\r\nHost: shop\r\n\r\n",
		"GET /split HTTP/1.1\r\nHost: shop\r\n\r\n",
		"GET /file HTTP/1.1\r\nHost: shop\r\n\r\n",
		"HEAD /file HTTP/1.1\r\nHost: shop\r\n\r\n",
		"GET /file HTTP/1.1\r\nHost: shop\r\nIf-Modified-Since: " +
			time.Unix(2e9, 0).UTC().Format(http.TimeFormat) + "\r\n\r\n",
		"GET /plain/1 HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n",
	} {
		want := answerText(t, listener.Addr().String(), sent)
		got := answerText(t, address, sent)
		if got != want {
			t.Errorf("%q\ngot  %s\nwant %s", sent, got, want)
		}
	}
}

// answerText sends a request twice over one connection, unless the server closes it, and returns the answers
// as text, without their dates.
func answerText(t *testing.T, address, sent string) string {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	testset.Must(t, err)
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
	method, _, _ := strings.Cut(sent, " ")
	from := bufio.NewReader(connection)
	var text strings.Builder
	for range 2 {
		if _, err := io.WriteString(connection, sent); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(from, &http.Request{Method: method})
		testset.Must(t, err)
		body, err := io.ReadAll(answer.Body)
		testset.Must(t, err)
		if answer.Header.Get("Date") == "" {
			t.Errorf("%q: no date", sent)
		}
		answer.Header.Del("Date")
		fmt.Fprintf(&text, "%d length %d close %t %q\n", answer.StatusCode, answer.ContentLength, answer.Close,
			body)
		for _, key := range slices.Sorted(maps.Keys(answer.Header)) {
			fmt.Fprintf(&text, "%s: %q\n", key, answer.Header[key])
		}
		if answer.Close {
			break
		}
	}
	return text.String()
}

// TestAFrontEndsIncompleteRequests: a request that stops, or continues byte by byte, times out.
func TestAFrontEndsIncompleteRequests(t *testing.T) {
	for _, more := range []string{"", "x"} {
		address := serveFront(t, sampleHandler(), Patience{Request: 50 * time.Millisecond, Idle: time.Minute})
		connection, err := net.Dial("tcp", address)
		testset.Must(t, err)
		defer func() { _ = connection.Close() }()
		_, err = io.WriteString(connection, "POST /echo HTTP/1.1\r\nHost: shop\r\nContent-Length: 9000\r\n\r\nfl")
		testset.Must(t, err)
		_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
		go func() {
			for err := error(nil); more != "" && err == nil; time.Sleep(10 * time.Millisecond) {
				_, err = io.WriteString(connection, more) // fails once the server has closed the connection
			}
		}()
		text, err := io.ReadAll(connection)
		if errors.Is(err, os.ErrDeadlineExceeded) || len(text) > 0 {
			t.Errorf("with more %q: the connection ends with %q, %v", more, text, err)
		}
	}
}

// TestTheContextOfARequestEndsWithItsClient: the context ends when the client hangs up.
func TestTheContextOfARequestEndsWithItsClient(t *testing.T) {
	began := make(chan bool)
	ended := make(chan bool, 1)
	address := serveFront(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		select {
		case <-r.Context().Done():
			ended <- true
		case <-time.After(10 * time.Second):
			ended <- false
		}
	}), Patience{})
	connection, err := net.Dial("tcp", address)
	testset.Must(t, err)
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	_ = connection.Close()
	if !<-ended {
		t.Error("the context did not end when the client hung up")
	}
}

// TestAFrontEndsUnreadAnswers: a client that does not read its answer loses its connection,
// and does not delay Shutdown.
func TestAFrontEndsUnreadAnswers(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 32<<20) // more than the sockets hold
	writes := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })
	address := serveFront(t, writes, Patience{Answer: 50 * time.Millisecond})
	connection, err := net.Dial("tcp", address)
	testset.Must(t, err)
	defer func() { _ = connection.Close() }()
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(connection, make([]byte, 1)); err != nil { // the server has begun to write
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if n, _ := io.Copy(io.Discard, connection); n >= int64(len(large))-1 {
		t.Errorf("a client that had stopped reading for longer than the timeout got all %d bytes", n)
	}
}
