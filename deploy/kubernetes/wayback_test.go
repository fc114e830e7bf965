package kubernetes

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// podSaying returns the address of a pod that says something to who calls, until the test ends.
func podSaying(t *testing.T, text string) string {
	t.Helper()
	pod, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pod.Close() })
	go func() {
		for {
			caller, err := pod.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(caller, text)
			_ = caller.(*net.TCPConn).CloseWrite()
		}
	}()
	return pod.Addr().String()
}

// TestWhyNoSpanCouldComeBackIsSaid in the log and in the end, unless a unit has come since.
func TestWhyNoSpanCouldComeBackIsSaid(t *testing.T) {
	wayTo := func(at string) *wayBack {
		return newWayBack(t.Context(), "pod", func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", at)
		})
	}
	for text, says := range map[string]string{"": "send their spans: EOF", "wrong key\n": "it says: wrong key"} {
		way := wayTo(podSaying(t, text))
		said := way.log.Expect(says)
		go func() { _, _ = way.Accept() }() // until it is closed
		select {
		case <-said:
		case <-time.After(time.Minute):
			t.Errorf("the log says %q, want %q", &way.log, says)
		}
		if err := way.Close(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("it ends with %v, want %q", err, says)
		}
	}
	way := wayTo(podSaying(t, lab.StarterCalled))
	way.note(errors.New("not yet"))
	if _, err := way.Accept(); err != nil {
		t.Error(err)
	}
	if err := way.Close(); err != nil {
		t.Errorf("after a unit has come it ends with %v", err)
	}
}
