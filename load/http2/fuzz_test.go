package http2

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// outcome is the result of an exchange, errors by their kind.
type outcome struct {
	kind         string
	status       int
	header, body string
	received     int64
}

// FuzzFrames answers a request with any bytes: the exchange ends with the connection
// or before, takes bounded memory, and ends the same way whether the bytes come at
// once or one by one.
func FuzzFrames(f *testing.F) {
	block := fields(":status", "200", "content-length", "3", "a", "b")
	for _, frames := range [][][]byte{
		{answer(1)},
		{appendFrame(nil, frameHeaders, flagEndHeaders, 1, block),
			appendFrame(nil, frameData, flagEndStream, 1, []byte("tea"))},
		{appendFrame(nil, frameHeaders, 0, 1, block[:4]),
			appendFrame(nil, frameContinuation, flagEndHeaders|flagEndStream, 1, block[4:])},
		{appendFrame(nil, framePing, 0, 0, make([]byte, 8)),
			appendFrame(nil, frameWindow, 0, 1, []byte{0, 0, 1, 0}), answer(1)},
		{appendFrame(nil, frameSettings, 0, 0, settings(setting{settingStreams, 0}, setting{settingWindow, 0})),
			answer(1)},
		{appendFrame(nil, frameGoAway, 0, 0, make([]byte, 8)), answer(1)},
		{appendFrame(nil, frameData, flagPadded|flagEndStream, 1, []byte{9, 'x'})},
		{appendFrame(nil, frameReset, 0, 1, []byte{0, 0, 0, 8})},
	} {
		f.Add(bytes.Join(frames, nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const perConnection, perByte = 8 << 20, 8 << 10
		if len(text) > 4<<10 {
			return // one by one they would take long
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		whole := exchangeWith(t, text, len(text))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(perConnection+perByte*len(text)) {
			t.Errorf("%d bytes made it allocate %d", len(text), used)
		}
		if single := exchangeWith(t, text, 1); single != whole {
			t.Errorf("at once %+v, one by one %+v", whole, single)
		}
	})
}

// exchangeWith sends a request to a server that sends some bytes, in pieces, and hangs up.
func exchangeWith(t *testing.T, text []byte, piece int) outcome {
	ours, theirs := net.Pipe()
	go func() { _, _ = theirs.Write(appendFrame(nil, frameSettings, 0, 0, nil)) }()
	p := &peer{t: t, conn: theirs, sent: make(chan frame, 1000)}
	go p.listen()
	c, err := Open(t.Context(), ours, time.Minute)
	testset.Must(t, err)
	defer c.Close()
	x := &Exchange{}
	ended := start(c, x, "tea")
	for f := range p.sent {
		if f.kind == frameData {
			break
		}
	}
	go func() {
		for range p.sent { // read on: what is not read stops the client
		}
	}()
	for rest := text; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
		if _, err := theirs.Write(rest[:min(piece, len(rest))]); err != nil {
			break // the client has hung up
		}
	}
	_ = theirs.Close()
	err = <-ended
	kind := "other"
	for name, known := range map[string]error{
		"malformed": ErrMalformed, "too large": ErrTooLarge, "unseen": ErrUnseen, "late": ErrTimeout, "end": io.EOF,
		"hung up": io.ErrClosedPipe,
	} {
		if errors.Is(err, known) {
			kind = name
		}
	}
	switch {
	case kind == "late":
		t.Error("it ended by its time limit")
	case err == nil:
		return outcome{"ok", x.Status, string(x.Header), string(x.Body), x.Received}
	}
	return outcome{kind: kind}
}
