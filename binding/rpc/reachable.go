package rpc

import (
	"context"
	"net"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Reachable returns nil if a peer accepts connections, or the first error. addresses is the peer's
// address from the deployer (host:port or unix:PATH) or those of its replicas, which must all accept;
// replicas on standby are skipped.
func Reachable(ctx context.Context, addresses string) error {
	for address := range strings.SplitSeq(addresses, lab.AddressSeparator) {
		if strings.HasPrefix(address, lab.StandbyMark) {
			continue
		}
		network := "tcp"
		if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
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
