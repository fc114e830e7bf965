package content

import (
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// open returns a fresh store with a collection, until the test ends.
func open(t *testing.T, collection document.Collection) document.Store {
	t.Helper()
	store, err := document.Open(t.Context(), "sqlite://"+t.TempDir(), "content")
	testset.Must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	testset.Must(t, store.Declare(t.Context(), collection))
	return store
}

// TestNoTwoMakersMakeTheSameID: each IDs over one store, as after a restart, has a number of its own. The ids
// of one maker increase.
func TestNoTwoMakersMakeTheSameID(t *testing.T) {
	store := open(t, MakersCollection)
	seen := map[string]bool{}
	for maker := range 4 {
		ids, err := OpenIDs(t.Context(), store)
		if err != nil {
			t.Fatalf("maker %d: %v", maker, err)
		}
		last := ""
		for range 3 << countBits { // more than a millisecond can have
			id, err := ids.Next(t.Context(), &pb.Empty{})
			testset.Must(t, err)
			if seen[id.GetId()] || id.GetId() <= last {
				t.Fatalf("maker %d made %s after %s", maker, id.GetId(), last)
			}
			seen[id.GetId()] = true
			last = id.GetId()
		}
	}
}
