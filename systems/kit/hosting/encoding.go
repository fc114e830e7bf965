package hosting

import (
	"github.com/cleave-lab/cleave/binding/msgpack"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit"
)

// Encoding returns the encoding of calls for a value of kit.KnobEncoding; nil: that of the binding.
func Encoding(value string) rpc.Codec {
	switch value {
	case kit.JSON:
		return rpc.JSON{}
	case kit.Protobuf:
		return rpc.Protobuf{}
	case kit.MessagePack:
		return msgpack.Codec{}
	}
	return nil
}
