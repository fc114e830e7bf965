//go:build linux

package target

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestTheEndClosesConnections: the server has answered two requests, one of which came in two parts.
func TestTheEndClosesConnections(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	ports := make(chan int, 1)
	type result struct {
		Count
		error
	}
	ended := make(chan result, 1)
	go func() {
		count, err := Serve(ctx, Config{}, func(port int) { ports <- port })
		ended <- result{count, err}
	}()
	var port int
	select {
	case port = <-ports:
	case r := <-ended:
		t.Fatal(r.error)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	testset.Must(t, err)
	defer func() { _ = conn.Close() }()
	testset.Must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	answer := make([]byte, len(answerHTTP11))
	for _, part := range []string{"GET / HTTP/1.1\r\n\r\nGET / HT", "TP/1.1\r\n\r\n"} {
		_, err := io.WriteString(conn, part)
		testset.Must(t, err)
		_, err = io.ReadFull(conn, answer)
		testset.Must(t, err)
	}
	end()
	if r := <-ended; r.error != nil || r.Requests != 2 {
		t.Errorf("%d requests, error %v, want 2", r.Requests, r.error)
	}
	if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil {
		t.Errorf("after the end: %q, error %v, want the end of the connection", rest, err)
	}
}

// TestAPortInUseLeavesNothingOpen: the server cannot listen.
func TestAPortInUseLeavesNothingOpen(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = other.Close() }()
	open := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		testset.Must(t, err)
		return len(all)
	}
	before := open()
	if _, err := Serve(t.Context(), Config{Port: other.Addr().(*net.TCPAddr).Port}, nil); err == nil {
		t.Error("no error")
	}
	if after := open(); after != before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
