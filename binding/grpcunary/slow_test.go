package grpcunary

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/internal/testset"
)

// connect connects a client to a server of echoDesc and sends a text. It returns the server and the client's
// end.
func connect(t *testing.T, text string) (*Server, net.Conn) {
	t.Helper()
	server := NewServer(echoServing(1 << 10))
	server.RegisterService(&echoDesc, nil)
	near, far := net.Pipe()
	server.enter(far)
	t.Cleanup(func() { _ = near.Close() })
	_, err := near.Write([]byte(text))
	testset.Must(t, err)
	return server, near
}

// connectWithPreface is connect for a client that has sent its preface and received that of the server.
func connectWithPreface(t *testing.T) (*Server, net.Conn) {
	t.Helper()
	server, near := connect(t, preface)
	greeting := len(appendSettings(nil, 0, 0, 0, 0)) + len(appendNumber(nil, frameWindow, 0, 0))
	_, err := io.ReadFull(near, make([]byte, greeting))
	testset.Must(t, err)
	return server, near
}

// TestAClientThatDoesNotGreetLosesItsConnection: the server closes the connection of a client that sends
// nothing or only a part of the preface, but not after the whole preface.
func TestAClientThatDoesNotGreetLosesItsConnection(t *testing.T) {
	for sent, stay := range map[string]int{"": 0, preface[:10]: 0, preface: 1} {
		synctest.Test(t, func(t *testing.T) {
			server, near := connect(t, sent)
			defer server.Stop()
			go func() { _, _ = io.Copy(io.Discard, near) }() // until the end
			time.Sleep(2 * greetingTimeout)
			synctest.Wait()
			if n := server.connections(); n != stay {
				t.Errorf("after the text %q the server has %d connections, want %d", sent, n, stay)
			}
		})
	}
}

// connections returns the number of connections of a server.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.served)
}

// TestAPeerThatReadsNoAnswerLosesItsConnection: so it cannot block a handler.
func TestAPeerThatReadsNoAnswerLosesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, near := connectWithPreface(t)
		defer server.Stop()
		if _, err := near.Write(request(1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*accept.AnswerTimeout + time.Second)
		synctest.Wait()
		if n := server.connections(); n != 0 {
			t.Errorf("the server has %d connections, want none", n)
		}
	})
}

// TestAPeerThatOpensNoWindowLosesItsCall: the server resets the stream of an answer that does not fit into
// the window. The connection still works.
func TestAPeerThatOpensNoWindowLosesItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, near := connectWithPreface(t)
		defer server.Stop()
		var came bytes.Buffer
		go func() { _, _ = io.Copy(&came, near) }() // until the end
		if _, err := near.Write(append(appendSettings(nil, settingWindow, 3), request(1)...)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(accept.AnswerTimeout + time.Second)
		synctest.Wait()
		var reset bool
		for in := came.Bytes(); len(in) > 0; {
			f, taken, err := parseFrame(in)
			if err != nil || taken == 0 {
				t.Fatalf("%d bytes are no frame: %v", len(in), err)
			}
			reset = reset || f.kind == frameReset && f.stream == 1 && binary.BigEndian.Uint32(f.payload) == codeCancel
			in = in[taken:]
		}
		if n := server.connections(); !reset || n != 1 {
			t.Errorf("stream 1 reset: %t, %d connections, want it reset and one", reset, n)
		}
	})
}

// TestAMessageThatIsTooLongFailsAtOnce: neither a request nor an answer that is longer than the window of its
// stream waits for more room, and the connection still works. See echoDesc for the answers to the texts.
func TestAMessageThatIsTooLongFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := NewServer(echoServing(4 * ourStreamWindow))
		server.RegisterService(&echoDesc, nil)
		defer server.Stop()
		near, far := net.Pipe()
		server.enter(far)
		client, err := NewClient("localhost:1", nil, nil)
		testset.Must(t, err)
		defer func() { _ = client.Close() }() // it always succeeds
		_, err = client.start(near)
		testset.Must(t, err)
		for _, c := range []struct {
			text string
			want codes.Code
		}{
			{strings.Repeat("x", ourStreamWindow), codes.InvalidArgument}, {"long", codes.Internal}, {"end", codes.OK},
		} {
			begun := time.Now()
			err := asStatus{client}.Invoke(t.Context(), echoMethod, wrapperspb.String(c.text),
				&wrapperspb.StringValue{})
			if took := time.Since(begun); status.Code(err) != c.want || took > 0 {
				t.Errorf("%.10s: %v after %v, want %v at once", c.text, err, took, c.want)
			}
		}
	})
}

// TestUnsentAnswersAreBounded: a peer that sends pings and reads no answers loses its connection.
func TestUnsentAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, near := connectWithPreface(t)
		defer server.Stop()
		pings := bytes.Repeat(framed(framePing, 0, 0, make([]byte, 8)), 1000)
		for sent := 0; ; sent += len(pings) {
			if _, err := near.Write(pings); err != nil {
				break
			}
			if sent > 2*maxQueued {
				t.Fatalf("after %d bytes of pings without a reader of the answers, the connection is still open", sent)
			}
		}
	})
}

// TestACallThatWaitsForAStreamLeavesAtOnce: if the server takes no new calls, a call that waits for a stream
// need not wait for the end of those that the server still answers.
func TestACallThatWaitsForAStreamLeavesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := NewClient("localhost:1", nil, nil)
		testset.Must(t, err)
		near, far := net.Pipe()
		connection, err := client.start(near)
		testset.Must(t, err)
		go func() { _, _ = io.Copy(io.Discard, far) }() // until the end
		_, err = far.Write(appendSettings(nil, settingStreams, 1))
		testset.Must(t, err)
		synctest.Wait()
		ended := make(chan error, 2)
		for range cap(ended) {
			go func() {
				ended <- client.exchange(t.Context(), connection, client.messages.stream(), echoMethod, nil, "")
			}()
		}
		synctest.Wait()
		_, err = far.Write(appendGoAway(nil, 1, codeNone))
		testset.Must(t, err)
		synctest.Wait()
		if len(ended) != 1 {
			t.Errorf("%d calls have ended, want the one that waited", len(ended))
		}
		testset.Must(t, far.Close())
		if one, other := <-ended, <-ended; !errors.Is(one, errGoingAway) || errors.Is(other, errGoingAway) {
			t.Errorf("the calls end with: %v; %v", one, other)
		}
	})
}
