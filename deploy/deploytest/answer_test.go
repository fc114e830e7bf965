package deploytest

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestAnAnswerIsReadToItsEnd checks that readAnswer returns a whole answer that arrives in pieces.
func TestAnAnswerIsReadToItsEnd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	defer func() { _ = listener.Close() }() // the answer has been read
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			return // the test has failed
		}
		for _, piece := range []string{"store:1", ", no space", " left on device"} {
			_, _ = io.WriteString(connection, piece) // the caller may have gone
			time.Sleep(20 * time.Millisecond)
		}
		_ = connection.Close()
	}()
	text, err := readAnswer(listener.Addr().String(), soon)
	if want := "store:1, no space left on device"; err != nil || text != want {
		t.Errorf("the answer is %q (%v), want %q", text, err, want)
	}
}

// TestAnUnansweredCallEnds checks that readAnswer returns an error when the time to wait is over.
func TestAnUnansweredCallEnds(t *testing.T) {
	if text, err := readAnswer(Silent(t), silence); err == nil || text != "" {
		t.Errorf("a silent daemon has answered %q (%v)", text, err)
	}
}
