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

// MakersCollection holds the maker numbers that replicas of unique-ids have taken.
var MakersCollection = document.Collection{Name: "makers"}

// IDs is the component unique-ids. An id consists of the time, a count and the maker number of the replica:
// it is greater than all ids that this replica made before, and no other replica makes it.
type IDs struct {
	maker uint64
	mu    sync.Mutex
	last  uint64 // the last id without its maker
}

var _ pb.UniqueIDs = (*IDs)(nil)

const (
	// An id has 64 bits: 42 of milliseconds (enough for 139 years), then the count, then the maker.
	countBits, makerBits = 10, 12
	// epoch is the time 0 of ids: the beginning of 2020, in Unix milliseconds.
	epoch = 1_577_836_800_000
)

// OpenIDs returns the component with a maker number that no replica has had. The store has declared
// MakersCollection. A replica that restarts takes another number, so that it repeats no id even if the clock
// was set back. The deployer cannot assign numbers: all replicas that a platform adds get the same job.
func OpenIDs(ctx context.Context, store document.Store) (*IDs, error) {
	for maker := range uint64(1 << makerBits) {
		taken, err := store.Upsert(ctx, MakersCollection.Name, document.Document{
			ID: strconv.FormatUint(maker, 10), Version: 1, Body: json.RawMessage("{}")})
		if err != nil {
			return nil, fmt.Errorf("take a maker number for ids: %w", err)
		}
		if taken == 1 { // the document is new: no other replica has the number
			return &IDs{maker: maker}, nil
		}
	}
	return nil, errors.New("take a maker number for ids: all are taken")
}

// Next returns a new id, 16 hexadecimal digits. The 1025th id of a millisecond belongs to the next one.
func (u *IDs) Next(context.Context, *pb.Empty) (*pb.PostID, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := uint64(time.Now().UnixMilli() - epoch)
	u.last = max(u.last+1, now<<countBits)
	return &pb.PostID{Id: fmt.Sprintf("%016x", u.last<<makerBits|u.maker)}, nil
}
