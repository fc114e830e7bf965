package rpc

import (
	"context"
	"iter"
	"net"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Replicas yields the address of each replica of a peer, and whether the replica is on standby. addresses is
// the peer's address from the deployer, or those of its replicas.
func Replicas(addresses string) iter.Seq2[string, bool] {
	return func(yield func(address string, standby bool) bool) {
		for text := range strings.SplitSeq(addresses, lab.AddressSeparator) {
			if !yield(strings.CutPrefix(text, lab.StandbyMark)) {
				return
			}
		}
	}
}

// Dial connects to an address: host:port, or unix:PATH.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	network, address := lab.SplitAddress(address)
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// Reachable returns nil if a peer accepts connections, or the first error. All its replicas must accept;
// those on standby are skipped.
func Reachable(ctx context.Context, addresses string) error {
	for address, standby := range Replicas(addresses) {
		if standby {
			continue
		}
		connection, err := Dial(ctx, address)
		if err != nil {
			return err
		}
		if err := connection.Close(); err != nil {
			return err
		}
	}
	return nil
}
