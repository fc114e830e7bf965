// Package population makes users and links: a network whose degrees are skewed as those of
// the benchmark's data are (the friendships of a college, 962 users and 18,812 links, of
// which each is followed in both directions).
//
// Entry point: New.
package population

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// Population is a network of users, numbered from 1 on.
type Population struct {
	Users int
	// Friends holds, by user, the users with a link to that user, in rising order.
	Friends [][]int
}

// seed makes New return the same population for the same size.
const seed = 962_18812

const (
	// The weight of user n in the draw of links is (n-1+offset)^-decay. At the benchmark's size the greatest
	// degree is then near 300 and the mean 39, as in its data.
	decay, offset = 0.6, 10
)

// MostLinks returns the greatest number of links that New makes for a number of users: half of all possible
// links, so that drawing them at random comes to an end.
func MostLinks(users int) int { return max(0, users*(users-1)/4) }

// New returns a population. Both ends of a link are drawn by weight (Chung and Lu 2002); no link is drawn
// twice.
func New(users, links int) (*Population, error) {
	if users < 2 || links < 0 || links > MostLinks(users) {
		return nil, fmt.Errorf("a population of %d users can have up to %d links, not %d", users, MostLinks(users),
			links)
	}
	p := &Population{Users: users, Friends: make([][]int, users+1)}
	sums := make([]float64, users) // cumulative weights
	total := 0.0
	for i := range sums {
		total += math.Pow(float64(i+offset), -decay)
		sums[i] = total
	}
	random := rand.New(rand.NewPCG(seed, uint64(users)))
	draw := func() int {
		i, _ := slices.BinarySearchFunc(sums, random.Float64()*total,
			func(sum, x float64) int { return cmp.Compare(sum, x) })
		return min(i, users-1) + 1
	}
	drawn := make(map[[2]int]bool, links)
	for len(drawn) < links {
		a := draw()
		b := draw()
		link := [2]int{min(a, b), max(a, b)}
		if a == b || drawn[link] {
			continue
		}
		drawn[link] = true
		p.Friends[a] = append(p.Friends[a], b)
		p.Friends[b] = append(p.Friends[b], a)
	}
	for _, friends := range p.Friends {
		slices.Sort(friends)
	}
	return p, nil
}

// Follows reports whether a user follows another.
func (p *Population) Follows(user, other int) bool {
	if user < 1 || user > p.Users {
		return false
	}
	_, found := slices.BinarySearch(p.Friends[user], other)
	return found
}

// Password is the password of all users, and PasswordHash its bcrypt hash of cost 10. Users share one hash
// because hashing 962 passwords would take a minute.
const (
	Password     = "password"
	PasswordHash = "$2a$10$LKo3DVLLRVf4i77KTec8hOgoa/p/P3a8BBzAlF6qeCMVntQWhzFJK"
)

// User returns the user with a number.
func User(number int) *pb.User {
	return &pb.User{Id: strconv.Itoa(number), Name: "user_" + strconv.Itoa(number)}
}

// Degrees returns the least, the median and the greatest number of links of a user.
func (p *Population) Degrees() (least, median, greatest int) {
	var all []int
	for _, friends := range p.Friends[1:] {
		all = append(all, len(friends))
	}
	slices.Sort(all)
	return all[0], all[len(all)/2], all[len(all)-1]
}
