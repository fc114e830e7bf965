package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
)

// clusterPatience bounds the time that a cluster takes to remove all that a conductor has left there.
const clusterPatience = time.Minute

// CleanCluster removes what conductors that are gone have left on a cluster of the user's. labels are those
// of the conductors whose things were found there; called names the things of one for people. They
// stay, and are unclear, where it cannot be told from here whether their conductor still runs.
func CleanCluster(
	ctx context.Context, labels []string, called func(label string) string,
	remove func(ctx context.Context, label string) error,
) (removed, unclear []string, err error) {
	slices.Sort(labels)
	for _, label := range slices.Compact(labels) {
		owner, ours := launch.ParseID(label)
		if !ours {
			continue // somebody else's use of the word
		}
		switch owner.Fate() {
		case launch.Unknown:
			unclear = append(unclear, called(label)+": whether the cleave that made it still runs cannot be told "+
				"from here: it belongs to another host or container, or to a time before the last start of this host")
		case launch.Ended:
			ctx, cancel := context.WithTimeoutCause(ctx, clusterPatience,
				fmt.Errorf("not gone after %v", clusterPatience))
			if failed := remove(ctx, label); failed != nil {
				err = errors.Join(err, fmt.Errorf("remove %s: %w", called(label), failed))
			} else {
				removed = append(removed, called(label))
			}
			cancel()
		}
	}
	return removed, unclear, err
}
