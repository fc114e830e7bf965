package graph

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// openUsers returns the component users over a fresh store.
func openUsers(t *testing.T) *Users {
	t.Helper()
	store, err := document.Open(t.Context(), "sqlite://"+t.TempDir(), usersName)
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	testset.Must(t, store.Declare(t.Context(), UsersCollection))
	return NewUsers(store, nil)
}

// countMade calls add n times concurrently and returns the number of calls that made a user.
func countMade(t *testing.T, n int, add func(i int) (made bool, err error)) int {
	t.Helper()
	var made atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ok, err := add(i)
			if err != nil {
				t.Error(err)
			}
			if ok {
				made.Add(1)
			}
		})
	}
	all.Wait()
	return int(made.Load())
}

// TestTwoRegistrationsShareNoNumber, although both find the number free before either has hashed its
// password.
func TestTwoRegistrationsShareNoNumber(t *testing.T) {
	users := openUsers(t)
	made := countMade(t, 2, func(i int) (bool, error) {
		_, err := users.Register(t.Context(),
			&pb.RegisterRequest{Id: "7", Name: fmt.Sprintf("ann_%d", i), Password: "open sesame"})
		if err != nil && social.ProblemOf(err).Kind == social.Exists {
			return false, nil
		}
		return err == nil, err
	})
	if made != 1 {
		t.Errorf("%d users have the number 7, want one", made)
	}
}

// TestANumberIsClaimedOnce by many concurrent registrations. One that loses the race for a name gives its
// number back.
func TestANumberIsClaimedOnce(t *testing.T) {
	users := openUsers(t)
	const many = 16
	add := func(number, name string) (bool, error) {
		return users.add(t.Context(), UserDocument(&pb.User{Id: number, Name: name}, "hash"), number)
	}
	for round := range 5 {
		number := fmt.Sprint(round)
		if made := countMade(t, many, func(i int) (bool, error) {
			return add(number, fmt.Sprintf("ann_%d_%d", round, i))
		}); made != 1 {
			t.Errorf("%d users have the number %s, want one", made, number)
		}
	}
	numberOf := func(i int) string { return fmt.Sprint(100 + i) }
	if made := countMade(t, many, func(i int) (bool, error) { return add(numberOf(i), "bob") }); made != 1 {
		t.Errorf("%d users have the name bob, want one", made)
	}
	if made := countMade(t, many, func(i int) (bool, error) {
		return add(numberOf(i), fmt.Sprintf("eve_%d", i))
	}); made != many-1 {
		t.Errorf("%d numbers of the registrations that did not get the name bob are free, want %d", made, many-1)
	}
}

// TestAnAbandonedClaimIsResumed: a registration ended after it had claimed its number and before it wrote its
// user. Another registration of the same name goes on with the claim; those of other names are refused.
func TestAnAbandonedClaimIsResumed(t *testing.T) {
	users := openUsers(t)
	claim := document.Document{ID: claimPrefix + "7", Version: 1, Body: []byte(`{"by":"ann"}`)}
	if _, err := users.store.Upsert(t.Context(), usersName, claim); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		made bool
	}{{"bob", false}, {"ann", true}, {"ann", false}, {"bob", false}} {
		user := UserDocument(&pb.User{Id: "7", Name: c.name}, "hash")
		if made, err := users.add(t.Context(), user, "7"); err != nil || made != c.made {
			t.Errorf("%s is registered: %t (%v), want %t", c.name, made, err, c.made)
		}
	}
	found, err := users.Find(t.Context(), &pb.FindRequest{Names: []string{claimPrefix + "7"}})
	if err != nil || len(found.GetUsers()) > 0 {
		t.Errorf("a claim is found as %v (%v)", found, err)
	}
}
