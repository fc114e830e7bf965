package bindingtest

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/msgpack"
	"github.com/cleave-lab/cleave/binding/rpc"
)

// encodings: calls have the same effect in every encoding, and a server refuses requests in another encoding.
func encodings(t *testing.T, b Binding) {
	all := []rpc.Codec{rpc.JSON{}, rpc.Protobuf{}, msgpack.Codec{}}
	for i, codec := range all {
		t.Run(codec.Name(), func(t *testing.T) {
			x := newFixture(t, b.encoded(codec, codec), "tcp", nil, nil)
			answersCome(t, x)
			largeMessages(t, x)
			problemsKeepTheirKind(t, x)
			tracing(t, x)
			if codec == rpc.Codec(rpc.Protobuf{}) { // only Protocol Buffers refuse invalid UTF-8
				unencodable(t, x)
			}
			other := all[(i+1)%len(all)]
			x = newFixture(t, b.encoded(codec, other), "tcp", nil, nil)
			_, err := x.check(within(t), "hello")
			if kind(err) != rpc.InvalidArgument || x.service.asked.Load() > 0 ||
				!strings.Contains(err.Error(), `the request is "application/`) {
				t.Errorf("a request in %s: %v, want %s", other.Name(), err, rpc.InvalidArgument)
			}
		})
	}
}

// encoded returns the binding with the given encodings of callee and caller.
func (b Binding) encoded(callee, caller rpc.Codec) Binding {
	return Binding{
		NewServer: func(serving rpc.Serving) (Server, error) {
			serving.Codec = callee
			return b.NewServer(serving)
		},
		NewClient: func(address string, secured *tls.Config, _ rpc.Codec) (rpc.Client, error) {
			return b.NewClient(address, secured, caller)
		},
	}
}
