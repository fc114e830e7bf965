package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
)

// clusterPatience is how long a cluster may take to remove everything of a conductor.
const clusterPatience = time.Minute

// CleanCluster removes what dead conductors have left on a cluster of the user's. labels are the labels of
// all conductors that have something there, and called describes what one of them has. It returns what was
// removed, and what stays because nobody can tell from here whether its conductor still runs.
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
