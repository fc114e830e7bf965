package graph_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/graph"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// TestANumberBelongsToOneUser registers users of other names with the same number at once. Whoever loses the
// name gives the number back.
func TestANumberBelongsToOneUser(t *testing.T) {
	store, err := document.OpenAt(t.Context(), "sqlite://"+t.TempDir(), "users")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Declare(t.Context(), graph.UsersCollection); err != nil {
		t.Fatal(err)
	}
	users := graph.NewUsers(store, nil)
	const atOnce = 2 // hashes of passwords take time
	register := func(number, name string) error {
		_, err := users.Register(t.Context(), &pb.RegisterRequest{Id: number, Name: name, Password: "open sesame"})
		if err != nil && social.ProblemOf(err).Kind != social.Exists {
			t.Errorf("register %s as %s: %v", name, number, err)
		}
		return err
	}
	together := func(number, name func(i int) string) (made int) {
		errs := make([]error, atOnce)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = register(number(i), name(i)) })
		}
		all.Wait()
		return len(slices.DeleteFunc(errs, func(err error) bool { return err != nil }))
	}
	of := func(format string) func(i int) string { return func(i int) string { return fmt.Sprintf(format, i) } }
	same := func(text string) func(int) string { return func(int) string { return text } }
	if made := together(same("7"), of("ann_%d")); made != 1 {
		t.Errorf("%d users have the number 7, want one", made)
	}
	if made := together(of("10%d"), same("bob")); made != 1 {
		t.Errorf("%d users have the name bob, want one", made)
	}
	free := 0
	for i := range atOnce {
		if register(fmt.Sprintf("10%d", i), fmt.Sprintf("eve_%d", i)) == nil {
			free++
		}
	}
	if free != atOnce-1 {
		t.Errorf("%d numbers of those who did not become bob are free, want %d", free, atOnce-1)
	}
}
