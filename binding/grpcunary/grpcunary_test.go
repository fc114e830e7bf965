package grpcunary

import (
	"crypto/tls"
	"testing"

	"github.com/cleave-lab/cleave/binding/bindingtest"
	"github.com/cleave-lab/cleave/binding/rpc"
)

func TestContract(t *testing.T) {
	bindingtest.Run(t, bindingtest.Binding{
		NewServer: func(serving rpc.Serving) (bindingtest.Server, error) { return NewServer(serving), nil },
		NewClient: func(address string, secured *tls.Config, codec rpc.Codec) (rpc.Client, error) {
			return NewClient(address, secured, codec)
		}})
}
