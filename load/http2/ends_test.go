package http2

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// TestTheEndReachesEveryExchange: the one in flight, the one that waits, and one that begins afterwards.
func TestTheEndReachesEveryExchange(t *testing.T) {
	c, p := connect(t, time.Minute, setting{settingStreams, 1})
	var first, second Exchange
	one := start(c, &first, "")
	p.receive(frameHeaders)
	two := start(c, &second, "")
	await(t, "the second request waits", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) == 1
	})
	testset.Must(t, p.conn.Close())
	if err := <-one; !errors.Is(err, io.EOF) || errors.Is(err, ErrUnseen) {
		t.Errorf("error %v of the exchange in flight", err)
	}
	if err := <-two; !errors.Is(err, ErrUnseen) {
		t.Errorf("error %v of the exchange that waited", err)
	}
	if err := <-start(c, &first, ""); !errors.Is(err, ErrUnseen) || c.Usable() {
		t.Errorf("error %v of an exchange after the end", err)
	}
}

// TestARequestHasNoBodyOfAnother: the former request was refused, so its body was not sent.
func TestARequestHasNoBodyOfAnother(t *testing.T) {
	closed, _ := connect(t, time.Minute)
	closed.Close()
	var x Exchange
	if err := <-start(closed, &x, "body"); !errors.Is(err, ErrUnseen) {
		t.Fatalf("error %v of a request on a closed connection", err)
	}
	c, p := connect(t, time.Minute)
	x.Request("GET", "http", "shop.test", "/")
	ended := make(chan error, 1)
	go func() { ended <- c.RoundTrip(&x) }()
	head := p.receive(frameHeaders)
	if head.flags&flagEndStream == 0 {
		t.Error("the request does not end with its header")
	}
	p.send(answer(head.stream))
	if err := <-ended; err != nil || x.Written != int64(len(head.payload)) {
		t.Errorf("error %v, %d bytes written, want the header of %d", err, x.Written, len(head.payload))
	}
}

// TestTheLastStreamEndsTheConnection: an exchange that waits for a stream gets none that does not exist.
func TestTheLastStreamEndsTheConnection(t *testing.T) {
	c, p := connect(t, time.Minute, setting{settingStreams, 1})
	c.next = maxID
	var first, second Exchange
	one := start(c, &first, "")
	stream := p.receive(frameHeaders).stream
	two := start(c, &second, "")
	p.send(answer(stream))
	if err := <-one; err != nil || stream != maxID {
		t.Errorf("error %v on stream %d", err, stream)
	}
	if err := <-two; !errors.Is(err, ErrUnseen) || c.Usable() {
		t.Errorf("error %v of the exchange that waited; usable: %v", err, c.Usable())
	}
}

// TestAStreamIsResetOnce, also if its request was not sent whole when it ran out of time.
func TestAStreamIsResetOnce(t *testing.T) {
	c, p := connect(t, 50*time.Millisecond, setting{settingWindow, 10})
	ended := start(c, &Exchange{}, "more than ten bytes")
	p.receive(frameReset)
	if f := <-p.sent; f.kind != framePing {
		t.Errorf("a frame of kind %d follows the reset, want a ping", f.kind)
	}
	if err := <-ended; !errors.Is(err, ErrTimeout) {
		t.Errorf("error %v", err)
	}
}

// TestOpeningEndsWithItsContext: the peer reads nothing.
func TestOpeningEndsWithItsContext(t *testing.T) {
	ours, _ := net.Pipe()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := Open(ctx, ours, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// half is a connection whose writes fail once mute is set.
type half struct {
	net.Conn
	mute atomic.Bool
}

// Write fails when mute is set.
func (h *half) Write(p []byte) (int, error) {
	if h.mute.Load() {
		return 0, io.ErrClosedPipe
	}
	return h.Conn.Write(p)
}

// TestAnswersAreReadAfterAWriteFails: a server may answer and close the connection while we still write.
func TestAnswersAreReadAfterAWriteFails(t *testing.T) {
	ours, theirs := net.Pipe()
	p := &peer{t: t, conn: theirs, sent: make(chan frame, 1000)}
	go p.listen()
	go p.send(appendFrame(nil, frameSettings, 0, 0, nil))
	below := &half{Conn: ours}
	c, err := Open(t.Context(), below, time.Minute)
	testset.Must(t, err)
	defer c.Close()
	x := &Exchange{}
	ended := start(c, x, "")
	p.receive(frameHeaders)
	below.mute.Store(true)
	p.send(appendFrame(nil, framePing, 0, 0, make([]byte, 8)))
	await(t, "the connection is of no use any more", func() bool { return !c.Usable() })
	p.send(answer(1))
	if err := <-ended; err != nil {
		t.Errorf("error %v of an answer that came", err)
	}
	if !c.Ended() {
		t.Error("a connection that takes nothing goes on after its last answer")
	}
}
