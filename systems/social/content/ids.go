package content

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/backing/document"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// MakersCollection holds the numbers that replicas of unique-ids have taken.
var MakersCollection = document.Collection{Name: "makers"}

// IDs is the component unique-ids. An id consists of the time, a count and the number of the replica: it is
// greater than all ids that this replica made before, and no other replica makes it.
type IDs struct {
	maker uint64
	mu    sync.Mutex
	last  uint64
}

var _ pb.UniqueIDs = (*IDs)(nil)

const (
	// The bits of an id, the last ones last; what is left before them are milliseconds, for 139 years.
	countBits, makerBits = 10, 12
	// epoch is the beginning of the ids' time: 2020, in milliseconds.
	epoch = 1_577_836_800_000
)

// OpenIDs takes a number that no replica has had, in a store that has their collection, and makes
// ids with it. A replica that starts again takes another number, so that it repeats no id even if the
// clock was set back. The deployer cannot assign numbers: all replicas that a platform adds get the same job.
func OpenIDs(ctx context.Context, store document.Store) (*IDs, error) {
	for maker := range uint64(1 << makerBits) {
		taken, err := store.Upsert(ctx, MakersCollection.Name, document.Document{
			ID: strconv.FormatUint(maker, 10), Version: 1, Body: json.RawMessage("{}")})
		if err != nil {
			return nil, fmt.Errorf("take a number as a maker of ids: %w", err)
		}
		if taken == 1 {
			return &IDs{maker: maker}, nil
		}
	}
	return nil, errors.New("take a number as a maker of ids: all are taken")
}

// Next makes an id. Milliseconds come first, then the count within one, then the maker. The
// 1025th id of a millisecond is of the next one.
func (u *IDs) Next(context.Context, *pb.Empty) (*pb.PostID, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = max(u.last+1, uint64(time.Now().UnixMilli()-epoch)<<countBits)
	return &pb.PostID{Id: fmt.Sprintf("%016x", u.last<<makerBits|u.maker)}, nil
}
