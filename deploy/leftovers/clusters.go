package leftovers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/deploy/launch"
)

// clusterPatience bounds how long a cluster may take to remove everything of a conductor.
const clusterPatience = time.Minute

// CleanCluster removes the leftovers of dead conductors on a user's cluster. labels are those of all
// conductors with objects there, describe returns a name for the objects of one of them, and remove removes
// these. It returns what it has removed, and what it has spared because this host cannot know whether the
// conductor still runs. It sorts labels.
func CleanCluster(
	ctx context.Context, labels []string, describe func(label string) string,
	remove func(ctx context.Context, label string) error,
) (removed, unclear []string, err error) {
	slices.Sort(labels)
	for _, label := range slices.Compact(labels) {
		owner, ours := launch.ParseID(label)
		if !ours {
			continue // not a label of ours
		}
		switch owner.Fate() {
		case launch.Unknown:
			unclear = append(unclear, describe(label)+": whether the cleave that made it still runs cannot be told "+
				"from here: it belongs to another host or container, or to a time before the last start of this host")
		case launch.Ended:
			ctx, cancel := context.WithTimeoutCause(ctx, clusterPatience,
				fmt.Errorf("not gone after %v", clusterPatience))
			if failed := remove(ctx, label); failed != nil {
				err = errors.Join(err, fmt.Errorf("remove %s: %w", describe(label), failed))
			} else {
				removed = append(removed, describe(label))
			}
			cancel()
		}
	}
	return removed, unclear, err
}
