package stream

import (
	"bytes"
	"encoding/json"
	"math"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
)

// addSeeds adds frames that a server may send in answer to the first request: right,
// nearly right and wrong.
func addSeeds(f *testing.F, body []byte, last ...hpack.HeaderField) {
	head := fields(append([]hpack.HeaderField{{Name: ":status", Value: "200"},
		{Name: "content-type", Value: "application/grpc"}}, last...)...)
	whole := slices.Concat(frame(headersFrame, endHeaders, 1, head...), frame(dataFrame, endStream, 1, body...))
	trailers := fields(hpack.HeaderField{Name: "grpc-status", Value: "0"})
	for _, frames := range [][]byte{
		nil, whole, whole[:len(whole)-1],
		slices.Concat(frame(headersFrame, endHeaders, 1, head...), frame(dataFrame, 0, 1, body...),
			frame(headersFrame, endHeaders|endStream, 1, trailers...)),
		slices.Concat(frame(headersFrame, 0, 1, head...), frame(dataFrame, 0, 1)), // interrupted
		frame(headersFrame, endHeaders|endStream, 1, 0x3f, 0xff, 0xff, 0xff, 0xff, 0x7f),
		frame(headersFrame, endHeaders, 1, 0x40, 0x7f, 0xff, 0xff, 0xff, 0x7f, 'x'),
		frame(headersFrame, endHeaders, 3, head...), frame(headersFrame, endHeaders, 0, head...),
		frame(dataFrame, endStream, 1, body...), frame(resetFrame, 0, 1, code(8)...),
		frame(goAwayFrame, 0, 0, make([]byte, 8)...),
		frame(settingsFrame, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff), frame(settingsFrame, 0, 0, 0, 3, 0, 0, 0, 0),
		frame(settingsFrame, 1, 0, 1),
		frame(9, 0, 1), frame(5, endHeaders, 1, 0, 0, 0, 2), frame(8, 0, 1, 0, 0, 0, 0),
		{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1},
	} {
		f.Add(frames)
	}
}

// fields returns a header block.
func fields(all ...hpack.HeaderField) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, one := range all {
		_ = encoder.WriteField(one) // into memory
	}
	return block.Bytes()
}

// serveBytes returns a server of HTTP/2 at a Unix socket that sends these frames in answer to the first
// request on a connection, and then no more.
func serveBytes(f *testing.F, frames *atomic.Pointer[[]byte]) net.Addr {
	f.Helper()
	listener, err := net.Listen("unix", filepath.Join(f.TempDir(), "socket"))
	testset.Must(f, err)
	f.Cleanup(func() { _ = listener.Close() })
	return accept(listener, func(conn net.Conn) {
		speakFrames(conn, func(conn net.Conn, _ uint32) error {
			_, _ = conn.Write(*frames.Load())
			return errDone
		})
	})
}

// What may be allocated, in bytes: for a load of one operation, for a message by
// itself, and for each byte that comes.
const memoryOfLoad, memoryOfMessage, memoryPerByte = 64 << 20, 1 << 20, 4096

// fuzz checks what must be true for every answer of a server: the operation ends, with the
// connection and not by its time limit, is recorded once, and takes bounded memory.
func fuzz(f *testing.F, load func(t *testing.T, address net.Addr) *rig) {
	var answer atomic.Pointer[[]byte]
	address := serveBytes(f, &answer)
	f.Fuzz(func(t *testing.T, frames []byte) {
		answer.Store(&frames)
		r := load(t, address)
		r.open(1)
		r.config.Connections = 1
		r.config.Timeout = time.Minute
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		results, _ := r.run()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(memoryOfLoad+memoryPerByte*len(frames)) {
			t.Errorf("%d bytes made it allocate %d", len(frames), used)
		}
		ended := int64(0)
		for _, outcome := range record.Outcomes() {
			ended += results.Count(record.All, outcome)
		}
		if late := results.Count(record.All, record.Timeout) +
			results.Count(record.All, record.Unfinished); ended != 1 || late > 0 {
			t.Errorf("of one operation %d ended, %d of them by the clock", ended, late)
		}
	})
}

// FuzzHTTP2 answers a request of HTTP/2 with any frames.
func FuzzHTTP2(f *testing.F) {
	addSeeds(f, []byte(`{"ok":true}`), hpack.HeaderField{Name: "content-length", Value: "11"})
	fuzz(f, func(t *testing.T, address net.Addr) *rig {
		r := newRig(t, HTTP2, "http://shop.test", address)
		r.step().Expect.Body = []string{"ok"}
		return r
	})
}

// FuzzGRPC answers a call of gRPC with any frames, and so with any messages.
func FuzzGRPC(f *testing.F) {
	addSeeds(f, []byte{0, 0, 0, 0, 2, 8, 1})
	f.Add(slices.Concat(frame(headersFrame, endHeaders, 1,
		fields(hpack.HeaderField{Name: ":status", Value: "200"},
			hpack.HeaderField{Name: "content-type", Value: "application/grpc"})...),
		frame(dataFrame, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 8, 1))) // a message of 4 GiB
	fuzz(f, func(t *testing.T, address net.Addr) *rig {
		r := newCall(t, "http://shop.test", address)
		r.config.ProtoSet = protoSet(t)
		return r
	})
}

// FuzzMessage decodes any message to JSON, for a method with a plain
// answer and one whose answer nests: the result is JSON, or an error that names the method.
func FuzzMessage(f *testing.F) {
	nested, err := proto.Marshal(structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{
		structpb.NewNumberValue(math.Inf(1)), structpb.NewStringValue("\u2028</script>"), structpb.NewNullValue(),
	}}))
	testset.Must(f, err)
	for _, message := range [][]byte{nil, {8, 1}, {8, 0xff}, {0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}, nested,
		{0x1a, 2, 0xff, 0xfe}, {0x0b, 0x0b, 0x0b}} {
		f.Add(message)
	}
	f.Add(bytes.Repeat([]byte{0x32, 0x7f, 0x0a, 0x7d}, 4000))
	types := dynamicpb.NewTypes(protoregistry.GlobalFiles)
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, out := range []proto.Message{&grpc_health_v1.HealthCheckResponse{}, &structpb.Value{}} {
			m := method{path: "/a.B/C", out: out.ProtoReflect().Descriptor(), types: types}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, err := m.decode(message)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > uint64(memoryOfMessage+
				memoryPerByte*len(message)) {
				t.Errorf("%d bytes made it allocate %d", len(message), used)
			}
			switch {
			case err != nil && !strings.Contains(err.Error(), m.path):
				t.Errorf("%v does not name the method", err)
			case err == nil && !json.Valid(text):
				t.Errorf("%q is no JSON", text)
			}
		}
	})
}
