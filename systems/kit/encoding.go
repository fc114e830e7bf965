package kit

import "github.com/cleave-lab/cleave/lab"

// KnobEncoding is the knob for how messages between units are encoded.
const KnobEncoding = "encoding"

// The values of KnobEncoding.
const (
	OwnEncoding = "default" // that of the binding
	JSON        = "json"
	Protobuf    = "protobuf"
	MessagePack = "msgpack"
)

// Encoding returns the knob.
func Encoding() lab.Knob {
	return lab.Knob{Name: KnobEncoding, Values: []string{OwnEncoding, JSON, Protobuf, MessagePack},
		Summary: "encoding of calls between units, whatever carries them: the default of that (JSON over HTTP, " +
			"Protocol Buffers over gRPC), or one of the three",
		Means: map[string]string{OwnEncoding: "calls in the default encoding", JSON: "calls in JSON",
			Protobuf: "calls in Protocol Buffers", MessagePack: "calls in MessagePack"}}
}
