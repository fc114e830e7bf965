package udspersistent

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The addresses have characters that JSON must escape.
const ownAddress, peerAddress = `/tmp/a "b"/w1.sock`, `/tmp/a "b"/w2.sock`

// codecs returns the codecs of both ends of a link, by encoding.
func codecs() map[string][2]codec {
	return map[string][2]codec{
		"binary": {&binaryCodec{own: 3, peer: 499}, &binaryCodec{own: 499, peer: 3}},
		"json":   {newJSONCodec(ownAddress, peerAddress), newJSONCodec(peerAddress, ownAddress)},
	}
}

func TestCodecsReadWhatTheyWrite(t *testing.T) {
	for name, pair := range codecs() {
		var stream []byte
		for _, o := range []op{ping, pong, ping} {
			stream = append(stream, pair[0].encode(o)...)
		}
		for _, want := range []op{ping, pong, ping} {
			length := len(pair[0].encode(want))
			for cut := range length {
				if _, n, err := pair[1].decode(stream[:cut]); n != 0 || err != nil {
					t.Errorf("%s: %d of %d bytes: took %d, error %v", name, cut, length, n, err)
				}
			}
			o, n, err := pair[1].decode(stream)
			if o != want || n != length || err != nil {
				t.Fatalf("%s: op %d, %d bytes, error %v; want op %d, %d bytes", name, o, n, err, want, length)
			}
			stream = stream[n:]
		}
	}
}

// FuzzJSONCodec checks that an accepted line is exactly what the peer encodes.
func FuzzJSONCodec(f *testing.F) {
	for _, seed := range []string{
		`{"op":"ping","content":"/w"}`, `{"op":"pong","content":"/w"}`, `{"op":"pong","content":"/x"}`,
		`{"op":"ping","content":"\/w"}`, `{"op":"ping","content":"/w"}}`, `{ "op":"ping","content":"/w"}`,
		`{"op":"ping","content":"/w","op":"pong"}`, `{"op":"ping","content":"/w"`, `{"op":"ping"}`, `{"op":"pi`, "",
		`","content":"/w"}`,
	} {
		f.Add([]byte(seed + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, n, err := newJSONCodec("/own", "/w").decode(data)
		if err != nil || n == 0 {
			return
		}
		want := newJSONCodec("/w", "/own").encode(o)
		if !bytes.Equal(data[:n], want) || !json.Valid(want) {
			t.Errorf("accepted %q, the peer writes %q", data[:n], want)
		}
	})
}

// FuzzBinaryCodec checks that an accepted frame is exactly what the peer encodes.
func FuzzBinaryCodec(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00"))
	f.Add([]byte("\x02\x00\x00\x00\x05\x00\x00\x00\x01"))
	f.Add([]byte("\x01\x01\x00\x00\x05\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, n, err := (&binaryCodec{own: 1, peer: 5}).decode(data)
		if err != nil || n == 0 {
			return
		}
		if want := (&binaryCodec{own: 5, peer: 1}).encode(o); !bytes.Equal(data[:n], want) {
			t.Errorf("accepted % x, the peer writes % x", data[:n], want)
		}
	})
}
