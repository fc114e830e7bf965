package content

import (
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// TestNoTwoMakersMakeTheSameID: each has a number of its own, also where it was started anew. What one
// makes grows.
func TestNoTwoMakersMakeTheSameID(t *testing.T) {
	store, err := document.OpenAt(t.Context(), "sqlite://"+t.TempDir(), "ids")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Declare(t.Context(), MakersCollection); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for maker := range 4 {
		ids, err := OpenIDs(t.Context(), store)
		if err != nil {
			t.Fatalf("maker %d: %v", maker, err)
		}
		last := ""
		for range 3 << countBits { // more than a millisecond has
			id, err := ids.Next(t.Context(), &pb.Empty{})
			if err != nil {
				t.Fatal(err)
			}
			if seen[id.GetId()] || id.GetId() <= last {
				t.Fatalf("maker %d made %s after %s", maker, id.GetId(), last)
			}
			seen[id.GetId()], last = true, id.GetId()
		}
	}
}
