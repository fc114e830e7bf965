package population

import (
	"reflect"
	"slices"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/social/graph"
)

// TestThePasswordHasItsHash: PasswordHash is of Password, with the cost that registered users have.
func TestThePasswordHasItsHash(t *testing.T) {
	if err := bcrypt.CompareHashAndPassword([]byte(PasswordHash), []byte(Password)); err != nil {
		t.Error(err)
	}
	if cost, err := bcrypt.Cost([]byte(PasswordHash)); err != nil || cost != graph.PasswordCost {
		t.Errorf("the cost is %d (%v), want %d", cost, err, graph.PasswordCost)
	}
}

// TestDegreesAreThoseOfTheBenchmark: links go in both directions and are unique, degrees are as skewed as in
// the benchmark's data (a mean of 39, and a greatest degree near 300), and New repeats itself.
func TestDegreesAreThoseOfTheBenchmark(t *testing.T) {
	p, err := New(962, 18_812)
	testset.Must(t, err)
	links := 0
	for user, friends := range p.Friends {
		links += len(friends)
		for _, friend := range friends {
			if friend == user || !p.Follows(friend, user) || !p.Follows(user, friend) {
				t.Fatalf("users %d and %d follow each other in one direction", user, friend)
			}
		}
		if !slices.IsSorted(friends) || len(slices.Compact(slices.Clone(friends))) != len(friends) {
			t.Fatalf("the friends of user %d are unsorted or repeated: %v", user, friends)
		}
	}
	least, median, greatest := p.Degrees()
	t.Logf("degrees: %d, %d, %d", least, median, greatest)
	if links != 2*18_812 || least < 1 || median < 20 || median > 40 || greatest < 200 || greatest > 400 {
		t.Errorf("%d ends of links, degrees from %d over %d to %d", links, least, median, greatest)
	}
	again, err := New(962, 18_812)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("the second population differs (%v)", err)
	}
	for _, c := range [][2]int{{1, 0}, {10, 100}, {10, -1}} {
		if _, err := New(c[0], c[1]); err == nil {
			t.Errorf("a population of %d users and %d links is made", c[0], c[1])
		}
	}
}
