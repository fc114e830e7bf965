package http2

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/oracle"
)

// frame is a frame that the client sent.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// peer is the server's side of a connection, played by a test.
type peer struct {
	t    *testing.T
	conn net.Conn
	sent chan frame // what the client sent; closed at the end of the connection
}

// connect opens a connection to a peer that begins with these settings and returns both. limit is the time
// limit of an exchange.
func connect(t *testing.T, limit time.Duration, first ...setting) (*Conn, *peer) {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &peer{t: t, conn: theirs, sent: make(chan frame, 1000)}
	go p.listen()
	go p.send(appendFrame(nil, frameSettings, 0, 0, settings(first...)))
	c, err := Open(t.Context(), ours, limit)
	testset.Must(t, err)
	t.Cleanup(c.Close)
	return c, p
}

// listen reads the frames of the client until the end.
func (p *peer) listen() {
	defer close(p.sent)
	in := bufio.NewReader(p.conn)
	if _, err := in.Discard(len(preface)); err != nil {
		return
	}
	for {
		var head [frameHead]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		payload := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
		if _, err := io.ReadFull(in, payload); err != nil {
			return
		}
		p.sent <- frame{head[3], head[4], binary.BigEndian.Uint32(head[5:]), payload}
	}
}

// send sends frames. It ignores errors: the client may have closed the connection.
func (p *peer) send(frames ...[]byte) { _, _ = p.conn.Write(bytes.Join(frames, nil)) }

// receive returns the client's next frame of a kind. It skips all others, and acknowledgements of settings.
func (p *peer) receive(kind byte) frame {
	p.t.Helper()
	for f := range p.sent {
		if f.kind == kind && (kind != frameSettings || f.flags&flagAck == 0) {
			return f
		}
	}
	p.t.Fatalf("the client hung up and sent no frame of kind %d", kind)
	return frame{}
}

// await waits until a condition holds; what describes it for the message.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute until %s", what)
		}
	}
}

// fields returns a header block of names and values.
func fields(pairs ...string) []byte {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	for i := 0; i < len(pairs); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // into memory
	}
	return out.Bytes()
}

// answer returns a whole answer without a body.
func answer(stream uint32) []byte {
	return appendFrame(nil, frameHeaders, flagEndHeaders|flagEndStream, stream, fields(":status", "204"))
}

// start begins an exchange and returns a channel for the error with which it ends.
func start(c *Conn, x *Exchange, body string) <-chan error {
	begin := time.Now()
	x.Clock = func() time.Duration { return time.Since(begin) }
	x.KeepBody = oracle.MaxBody
	x.KeepHeader = true
	x.Request("POST", "http", "shop.test", "/")
	x.SetBody([]byte(body), true)
	ended := make(chan error, 1)
	go func() { ended <- c.RoundTrip(x) }()
	return ended
}

// TestAgainstNetHTTP sends and receives bodies far above every window, several at a time.
func TestAgainstNetHTTP(t *testing.T) {
	const size = 24 << 20
	server := &http.Server{Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sum := sha256.New()
			n, err := io.Copy(sum, r.Body)
			w.Header().Set("X-Sum", fmt.Sprintf("%x %d %v %s", sum.Sum(nil), n, err, r.Header.Get("X-Name")))
			for range size / 4096 {
				_, _ = w.Write(make([]byte, 4096))
			}
		})}
	server.Protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	below, err := net.Dial("tcp", listener.Addr().String())
	testset.Must(t, err)
	c, err := Open(t.Context(), below, time.Minute)
	testset.Must(t, err)
	defer c.Close()
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			x := &Exchange{Clock: func() time.Duration { return 1 }, KeepHeader: true, KeepBody: oracle.MaxBody}
			body := bytes.Repeat([]byte{byte(i)}, 3<<20)
			for range 2 { // its memory is used again
				name := strings.Repeat("n", 20_000) // more than a frame holds
				x.Request("PUT", "http", "shop.test", "/a?b=c")
				x.Field("X-Name", name)
				x.SetBody(body, true)
				want := fmt.Sprintf("x-sum: %x %d <nil> %s\r\n", sha256.Sum256(body), len(body), name)
				if err := c.RoundTrip(x); err != nil || x.Status != 200 || !strings.Contains(string(x.Header), want) {
					t.Errorf("error %v, status %d", err, x.Status)
				}
				if x.Written != int64(len(x.request)+len(body)) {
					t.Errorf("%d bytes written", x.Written)
				}
				if x.Received != size || len(x.Body) != oracle.MaxBody || !x.Truncated {
					t.Errorf("%d bytes, of which %d were kept, truncated: %v", x.Received, len(x.Body), x.Truncated)
				}
			}
		})
	}
	all.Wait()
}

// TestAnswersAreRead reads right answers in different framings, and wrong ones. Long because it is a
// table.
func TestAnswersAreRead(t *testing.T) {
	const end, headers = flagEndStream, flagEndHeaders
	head := func(flags byte, pairs ...string) []byte {
		return appendFrame(nil, frameHeaders, flags, 1, fields(pairs...))
	}
	data := func(flags byte, text string) []byte { return appendFrame(nil, frameData, flags, 1, []byte(text)) }
	block := fields(":status", "200", "x-long", "value")
	for _, c := range []struct {
		name   string
		frames [][]byte
		want   error
		header string
		body   string
	}{
		{"plain", [][]byte{head(headers, ":status", "200", "a", "b"), data(0, "te"), data(end, "a")}, nil,
			"a: b\r\n", "tea"},
		{"interim", [][]byte{head(headers, ":status", "103", "a", "b"), head(headers, ":status", "200"),
			data(end, "tea")}, nil, "", "tea"},
		{"trailers", [][]byte{head(headers, ":status", "200"), data(0, "tea"), head(headers|end, "c", "d")}, nil,
			"c: d\r\n", "tea"},
		{"in pieces", [][]byte{
			appendFrame(nil, frameHeaders, end, 1, block[:3]), appendFrame(nil, frameContinuation, 0, 1, block[3:5]),
			appendFrame(nil, frameContinuation, headers, 1, block[5:]),
		}, nil, "x-long: value\r\n", ""},
		{"padded", [][]byte{
			appendFrame(nil, frameHeaders, headers|flagPadded|flagPriority, 1,
				append(append([]byte{2, 0, 0, 0, 0, 1}, block...), 0, 0)),
			appendFrame(nil, frameData, end|flagPadded, 1, []byte("\x03tea\x00\x00\x00")),
		}, nil, "x-long: value\r\n", "tea"},
		{"the right length", [][]byte{head(headers, ":status", "200", "content-length", "3"), data(end, "tea")},
			nil, "content-length: 3\r\n", "tea"},
		{"unknown frames", [][]byte{appendFrame(nil, 99, 0, 1, nil), answer(1)}, nil, "", ""},
		{"too short", [][]byte{head(headers, ":status", "200", "content-length", "4"), data(end, "tea")},
			ErrMalformed, "", ""},
		{"two lengths", [][]byte{head(headers|end, ":status", "200", "content-length", "0", "content-length", "1")},
			ErrMalformed, "", ""},
		{"no status", [][]byte{head(headers|end, "a", "b")}, ErrMalformed, "", ""},
		{"two statuses", [][]byte{head(headers|end, ":status", "200", ":status", "200")}, ErrMalformed, "", ""},
		{"a status of two digits", [][]byte{head(headers|end, ":status", "20")}, ErrMalformed, "", ""},
		{"switching", [][]byte{head(headers, ":status", "101")}, ErrMalformed, "", ""},
		{"a field of two lines", [][]byte{head(headers|end, ":status", "200", "a", "b\r\nc: d")}, ErrMalformed, "",
			""},
		{"upper case", [][]byte{head(headers|end, ":status", "200", "A", "b")}, ErrMalformed, "", ""},
		{"trailers that go on", [][]byte{head(headers, ":status", "200"), head(headers, "c", "d")}, ErrMalformed,
			"", ""},
		{"interim and over", [][]byte{head(headers|end, ":status", "100")}, ErrMalformed, "", ""},
		{"too many fields", [][]byte{head(headers|end,
			append([]string{":status", "200"}, slices.Repeat([]string{"a", strings.Repeat("x", 2000)}, 40)...)...)},
			ErrTooLarge, "", ""},
		{"a block interrupted", [][]byte{head(0, ":status", "200"), data(end, "tea")}, ErrMalformed, "", ""},
		{"a stream of the server's", [][]byte{appendFrame(nil, frameHeaders, headers, 2, block)}, ErrMalformed, "",
			""},
		{"a stream to come", [][]byte{answer(3)}, ErrMalformed, "", ""},
		{"a push", [][]byte{appendFrame(nil, framePush, headers, 1, block)}, ErrMalformed, "", ""},
		{"a window without end", [][]byte{appendFrame(nil, frameWindow, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff})},
			ErrMalformed, "", ""},
		{"a window not greater", [][]byte{appendFrame(nil, frameWindow, 0, 1, make([]byte, 4))}, ErrMalformed, "",
			""},
		{"a long frame", [][]byte{{0, 0x40, 1, frameData, 0, 0, 0, 0, 1}}, ErrMalformed, "", ""},
		{"a block that cannot be decoded", [][]byte{appendFrame(nil, frameHeaders, headers, 1,
			[]byte{0xff, 0xff, 0xff, 0xff, 0xff})}, ErrMalformed, "", ""},
		{"reset", [][]byte{appendFrame(nil, frameReset, 0, 1, []byte{0, 0, 0, 7})}, ResetError{RefusedStream}, "",
			""},
		{"away", [][]byte{appendFrame(nil, frameGoAway, 0, 0, make([]byte, 8))}, ErrUnseen, "", ""},
		{"away, calm down", [][]byte{appendFrame(nil, frameGoAway, 0, 0, []byte{0, 0, 0, 0, 0, 0, 0, 11})},
			GoAwayError{EnhanceYourCalm}, "", ""},
		{"away after this one", [][]byte{appendFrame(nil, frameGoAway, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 0}),
			answer(1)}, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn, p := connect(t, time.Minute)
			x := &Exchange{}
			ended := start(conn, x, "")
			p.receive(frameHeaders)
			p.send(c.frames...)
			if err := <-ended; !errors.Is(err, c.want) ||
				err == nil && (string(x.Header) != c.header || string(x.Body) != c.body) {
				t.Errorf("error %v, header %q, body %q; want %v, %q, %q", err, x.Header, x.Body, c.want, c.header, c.body)
			}
		})
	}
}

// TestEncodingIsOfTheHeader: interim answers and trailers do not set the encoding of the body.
func TestEncodingIsOfTheHeader(t *testing.T) {
	interim := []string{":status", "103", "content-encoding", "br"}
	header := []string{":status", "200"}
	trailer := []string{"content-encoding", "gzip"}
	x := &Exchange{}
	x.begin()
	for i, block := range [][]string{interim, header, trailer} {
		for j := 0; j < len(block); j += 2 {
			x.field(block[j], block[j+1])
		}
		testset.Must(t, x.endOfBlock(i == 2))
	}
	if len(x.Encoding) > 0 {
		t.Errorf("encoding %q", x.Encoding)
	}
}

// TestTheServersWindowsAreKept: the client sends no more bytes than the server permits, on the stream and
// on the connection, also after the server has changed its windows.
func TestTheServersWindowsAreKept(t *testing.T) {
	c, p := connect(t, time.Minute, setting{settingWindow, 10})
	x := &Exchange{}
	ended := start(c, x, strings.Repeat("x", 30))
	p.receive(frameHeaders)
	expect := func(n int, flags byte) {
		t.Helper()
		if f := p.receive(frameData); len(f.payload) != n || f.flags != flags || f.stream != 1 {
			t.Errorf("%d bytes with flags %d on stream %d, want %d and %d", len(f.payload), f.flags, f.stream, n,
				flags)
		}
	}
	expect(10, 0)
	p.send(appendFrame(nil, frameSettings, 0, 0, settings(setting{settingWindow, 4}))) // 10 have been sent
	p.send(appendFrame(nil, frameWindow, 0, 1, []byte{0, 0, 0, 7}))
	expect(1, 0)
	p.send(appendFrame(nil, frameSettings, 0, 0, settings(setting{settingWindow, 6})))
	expect(2, 0)
	p.send(appendFrame(nil, frameWindow, 0, 1, []byte{0, 0, 0, 100}))
	expect(17, flagEndStream)
	p.send(answer(1))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// The connection's own window has 30 bytes less than at its beginning.
	p.send(appendFrame(nil, frameSettings, 0, 0, settings(setting{settingWindow, 1 << 20})))
	p.send(appendFrame(nil, framePing, 0, 0, []byte("followed")))
	if f := p.receive(framePing); f.flags != flagAck || string(f.payload) != "followed" {
		t.Errorf("a ping was answered by %q with flags %d", f.payload, f.flags)
	}
	ended = start(c, x, strings.Repeat("y", usualWindow))
	got := 0
	for got < usualWindow-30 {
		got += len(p.receive(frameData).payload)
	}
	// The answer comes before the rest of the request was permitted: the client resets the stream.
	p.send(answer(3))
	if f := p.receive(frameReset); got != usualWindow-30 || f.stream != 3 {
		t.Errorf("%d bytes left before the window was greater, want %d; then stream %d was reset", got,
			usualWindow-30, f.stream)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStreamsWait: streams wait in their order until the server permits another.
func TestStreamsWait(t *testing.T) {
	c, p := connect(t, time.Minute, setting{settingStreams, 1})
	var all [3]Exchange
	var ended [3]<-chan error
	for i := range all {
		ended[i] = start(c, &all[i], "")
		await(t, "the connection has the request", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.exchanges)+len(c.waiting) == i+1
		})
	}
	for i := range all {
		if f := p.receive(frameHeaders); f.stream != uint32(2*i+1) {
			t.Errorf("stream %d, want %d", f.stream, 2*i+1)
		}
		p.send(answer(uint32(2*i + 1)))
		if err := <-ended[i]; err != nil || all[i].Waited != (i > 0) {
			t.Errorf("exchange %d: error %v, it waited: %v", i, err, all[i].Waited)
		}
	}
}

// TestTimeLimits: a late stream is reset and its connection stays. If nothing comes at all, the client
// sends a ping, and then closes the connection.
func TestTimeLimits(t *testing.T) {
	const limit = 50 * time.Millisecond
	c, p := connect(t, limit)
	x := &Exchange{}
	ended := start(c, x, "")
	if f := p.receive(frameReset); f.stream != 1 || f.payload[3] != byte(cancel) {
		t.Errorf("stream %d was reset with %d", f.stream, f.payload)
	}
	if err := <-ended; !errors.Is(err, ErrTimeout) {
		t.Errorf("error %v", err)
	}
	f := p.receive(framePing)
	p.send(appendFrame(nil, framePing, flagAck, 0, f.payload), answer(1)) // late: its exchange has ended
	ended = start(c, x, "")
	p.receive(frameHeaders)
	p.send(answer(3))
	if err := <-ended; err != nil || !c.Usable() {
		t.Errorf("error %v of an exchange after one that was late", err)
	}
	if err := <-start(c, x, ""); !errors.Is(err, ErrTimeout) {
		t.Errorf("error %v", err)
	}
	for range p.sent { // until it hangs up
	}
	if !c.Ended() {
		t.Error("a connection without a sign of life goes on")
	}
}

// TestAnExchangeInPlaceOfALateOneHasATimeLimit: the server permits one stream, gives a sign of life and
// answers neither the first request nor the second, which waits for the stream of the first.
func TestAnExchangeInPlaceOfALateOneHasATimeLimit(t *testing.T) {
	const limit = 200 * time.Millisecond
	c, p := connect(t, limit, setting{settingStreams, 1})
	first := start(c, &Exchange{}, "")
	p.receive(frameHeaders)
	second := start(c, &Exchange{}, "")
	time.Sleep(limit / 2)
	p.send(appendFrame(nil, framePing, 0, 0, make([]byte, 8)))
	for i, ended := range []<-chan error{first, second} {
		select {
		case err := <-ended:
			if !errors.Is(err, ErrTimeout) {
				t.Errorf("exchange %d: error %v", i, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("exchange %d goes on after its time limit", i)
		}
	}
}

// TestTheRestOfALateHeaderIsDropped: an exchange runs out of time within its header block and is used
// again. The rest of the block still belongs to the old stream.
func TestTheRestOfALateHeaderIsDropped(t *testing.T) {
	c, p := connect(t, 200*time.Millisecond)
	x := &Exchange{}
	ended := start(c, x, "")
	p.receive(frameHeaders)
	block := fields(":status", "500", "old", "yes")
	p.send(appendFrame(nil, frameHeaders, flagEndStream, 1, block[:len(block)-2]))
	p.receive(frameReset)
	if err := <-ended; !errors.Is(err, ErrTimeout) {
		t.Errorf("error %v", err)
	}
	ended = start(c, x, "")
	p.receive(frameHeaders)
	p.send(appendFrame(nil, frameContinuation, flagEndHeaders, 1, block[len(block)-2:]), answer(3))
	if err := <-ended; err != nil || x.Status != 204 || len(x.Header) > 0 {
		t.Errorf("error %v, status %d, header %q", err, x.Status, x.Header)
	}
}

// TestNoHTTP2 opens connections to servers that speak something else, or send a setting with a wrong value.
func TestNoHTTP2(t *testing.T) {
	for name, text := range map[string]string{
		"HTTP/1.1":          "HTTP/1.1 400 Bad Request\r\n\r\n",
		"no settings first": string(appendFrame(nil, framePing, 0, 0, make([]byte, 8))),
		"a push":            string(appendFrame(nil, frameSettings, 0, 0, settings(setting{settingPush, 1}))),
		"frames":            string(appendFrame(nil, frameSettings, 0, 0, settings(setting{settingFrame, 1}))),
		"window": string(appendFrame(nil, frameSettings, 0, 0,
			settings(setting{settingWindow, 1 << 31}))),
	} {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		go func() { _, _ = io.WriteString(theirs, text) }()
		if _, err := Open(t.Context(), ours, time.Minute); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
