package rpc

import (
	"context"
	"net"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Reachable is nil when a peer, or each of its replicas but those on standby, accepts
// connections: at the host:port that the deployer has given, or at "unix:" with a path.
func Reachable(ctx context.Context, addresses string) error {
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		if strings.HasPrefix(address, lab.StandbyMark) {
			continue
		}
		network := "tcp"
		if path, is := strings.CutPrefix(address, "unix:"); is {
			network, address = "unix", path
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		if err := connection.Close(); err != nil {
			return err
		}
	}
	return nil
}
