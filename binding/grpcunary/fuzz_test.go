package grpcunary

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
)

// block returns a header block.
func block(pairs ...string) []byte {
	var b bytes.Buffer
	encoder := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return b.Bytes()
}

// framed returns a frame.
func framed(kind, flags byte, stream uint32, payload []byte) []byte {
	return append(appendPrefix(nil, len(payload), kind, flags, stream), payload...)
}

// request returns the frames of a whole request, as our client sends them.
func request(stream uint32) []byte {
	fields := block(":method", "POST", ":scheme", "http", ":authority", "a", ":path", echoMethod, "content-type",
		rpc.GRPCType, "te", "trailers", "grpc-timeout", "5S")
	message := []byte{0, 0, 0, 0, 3, 10, 1, 'x'}
	return append(framed(frameHeaders, flagEndHeaders, stream, fields),
		framed(frameData, flagEndStream, stream, message)...)
}

// answer returns the frames of a whole answer.
func answer(stream uint32) []byte {
	all := framed(frameHeaders, flagEndHeaders, stream, block(":status", "200", "content-type", rpc.GRPCType))
	all = append(all, framed(frameData, 0, stream, []byte{0, 0, 0, 0, 3, 10, 1, 'x'})...)
	return append(all, framed(frameHeaders, flagEndHeaders|flagEndStream, stream, block("grpc-status", "0"))...)
}

// seeds adds valid, nearly valid and invalid frames to the corpus. call holds the valid frames that
// one side sends for a call.
func seeds(f *testing.F, call []byte) {
	settings := appendSettings(nil, settingStreams, 10, settingWindow, 100, settingFrameSize, defaultFrameSize,
		settingTableSize, 0)
	for _, frames := range [][]byte{
		nil, call, append(settings, call...), call[:len(call)-3],
		append(framed(frameHeaders, 0, 1, block(":method", "POST")),
			framed(frameContinuation, flagEndHeaders, 1, block(":path", "/"))...),
		append(framed(frameHeaders, 0, 1, nil), framed(frameData, 0, 1, nil)...), // interrupted
		framed(frameContinuation, flagEndHeaders, 1, nil),
		framed(frameHeaders, flagEndHeaders|flagPadded|flagPriority, 1, []byte{1, 0, 0, 0, 0, 1, 0x83, 0}),
		framed(frameData, flagPadded, 1, []byte{200, 1}), framed(frameData, flagPadded, 1, nil),
		framed(frameHeaders, flagEndHeaders, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
		framed(frameHeaders, flagEndHeaders, 1, append([]byte{0x40, 0x7f, 0xff, 0xff, 0xff, 0x7f}, "long"...)),
		framed(frameSettings, 0, 0, []byte{0, 4, 0xff, 0xff, 0xff, 0xff}), framed(frameSettings, 0, 0, []byte{1}),
		framed(framePing, 0, 0, make([]byte, 8)), framed(framePing, 0, 0, nil),
		appendNumber(nil, frameWindow, 0, windowLimit), appendNumber(nil, frameWindow, 1, 0),
		framed(frameWindow, 0, 0, nil),
		append(bytes.Clone(call), appendNumber(nil, frameReset, 1, codeCancel)...), framed(frameReset, 0, 1, nil),
		appendGoAway(nil, 0, codeNone), framed(frameGoAway, 0, 0, nil), appendPrefix(nil, 1<<24-1, frameData, 0, 1),
		framed(0xee, 0xff, 9, []byte("unknown")),
	} {
		f.Add(frames)
	}
}

// overPipe passes one side of a connection to end, sends data over the other, and discards the answers. It
// returns when all data is read, or end's side is closed.
func overPipe(t *testing.T, data []byte, end func(net.Conn)) {
	t.Helper()
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, ours)
	}()
	end(theirs)
	_ = ours.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = ours.Write(data) // the other end may close the connection meanwhile
	_ = ours.Close()
	<-ended
}

// memoryPerByte and memoryOfConnection limit the memory that an end may allocate: per received
// byte, and in addition to that. So a peer cannot make it use much more memory than it sends.
const memoryPerByte, memoryOfConnection = 4096, 8 << 20

// checkMemory fails the test if play, which receives data, allocates more than these limits.
func checkMemory(t *testing.T, data []byte, play func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	play()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(data)*memoryPerByte+memoryOfConnection) {
		t.Errorf("%d bytes made it allocate %d", len(data), used)
	}
}

// FuzzServer sends arbitrary bytes to a server.
func FuzzServer(f *testing.F) {
	seeds(f, append(request(1), request(3)...))
	f.Fuzz(func(t *testing.T, frames []byte) {
		server := NewServer(echoServing(1 << 10))
		server.RegisterService(&echoDesc, nil)
		data := append([]byte(preface), frames...)
		checkMemory(t, data, func() {
			overPipe(t, data, server.enter)
			server.Stop()
		})
	})
}

// FuzzClient answers a call with arbitrary bytes. The call must end.
func FuzzClient(f *testing.F) {
	seeds(f, answer(1))
	f.Fuzz(func(t *testing.T, data []byte) {
		client, err := NewClient("127.0.0.1:1", nil, nil)
		testset.Must(t, err)
		ended := make(chan struct{})
		checkMemory(t, data, func() {
			overPipe(t, data, func(raw net.Conn) {
				if _, err := client.start(raw); err != nil {
					t.Error(err)
				}
				go func() {
					defer close(ended)
					_ = client.Invoke(context.Background(), echoMethod, wrapperspb.String("x"), &wrapperspb.StringValue{})
				}()
			})
			<-ended
		})
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzFields parses arbitrary values of header fields.
func FuzzFields(f *testing.F) {
	f.Add("5S", "0", "fine%20", "")
	f.Add("99999999H", "9", "100%", "CAUSBGZhaWw")
	f.Add("123456789u", "-1", "%zz%", "====")
	f.Add("", "99999999999999999999", "%", "\x00")
	f.Fuzz(func(t *testing.T, timeout, code, message, details string) {
		if left, ok := parseTimeout(timeout); ok && (left < 0 || left > rpc.MaxTimeout) {
			t.Errorf("timeout %q is %v", timeout, left)
		}
		read := (&fields{code: code, message: message, details: details}).status()
		if read == nil {
			t.Error("no status")
		}
		if short := message[:min(len(message), 1000)]; unescape(escape(short)) != short {
			t.Errorf("%q became %q", short, unescape(escape(short)))
		}
	})
}

// TestTimeouts: an encoded timeout has at most eight digits, and is decoded to the same
// or a longer time, but none below 0 or beyond rpc.MaxTimeout.
func TestTimeouts(t *testing.T) {
	for _, left := range []time.Duration{
		0, time.Nanosecond, time.Microsecond, time.Second - 1, time.Second, 99 * time.Second,
		100*time.Second - 1, 100 * time.Second, 101*time.Second + 1, 2 * time.Hour, 20*time.Hour - 1,
		rpc.MaxTimeout, rpc.MaxTimeout + 1, -1, math.MinInt64, math.MaxInt64,
	} {
		text := string(appendTimeout(nil, left))
		want := min(max(left, 0), rpc.MaxTimeout)
		if got, ok := parseTimeout(text); !ok || got < want || got-want > max(want/1000, time.Microsecond) ||
			len(text) > 9 {
			t.Errorf("%v is %q is %v", left, text, got)
		}
	}
	for text, want := range map[string]time.Duration{"1H": time.Hour, "2M": 2 * time.Minute, "7n": 7,
		"99999999H": rpc.MaxTimeout} {
		if got, ok := parseTimeout(text); !ok || got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// TestFramesAreParsedWhole: a frame is parsed only once all of it has arrived.
func TestFramesAreParsedWhole(t *testing.T) {
	whole := framed(framePing, flagAck, 5, []byte("12345678"))
	for n := range whole {
		if _, taken, err := parseFrame(whole[:n]); taken != 0 || err != nil {
			t.Errorf("of %d bytes %d were taken (%v)", n, taken, err)
		}
	}
	f, taken, err := parseFrame(append(whole, 1, 2, 3))
	if err != nil || taken != len(whole) || f.kind != framePing || f.stream != 5 || !f.has(flagAck) ||
		string(f.payload) != "12345678" {
		t.Errorf("frame %+v, taken %d, error %v", f, taken, err)
	}
	if _, _, err := parseFrame(binary.BigEndian.AppendUint32(nil, (defaultFrameSize+1)<<8)); err != nil {
		t.Errorf("a prefix that is not whole: %v", err)
	}
	if _, _, err := parseFrame(appendPrefix(nil, defaultFrameSize+1, frameData, 0, 1)); err == nil {
		t.Error("a frame that is too long was taken")
	}
}
