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

// Population is a network. Users are numbered from 1 on.
type Population struct {
	Users int
	// Friends holds, by user, the users with a link to that user, in order.
	Friends [][]int
}

// seed makes populations of the same size the same.
const seed = 962_18812

const (
	// decay is how the expected number of links falls with the number of the user, and
	// offset keeps the first from having too many: with the benchmark's size the greatest
	// degree is near 300 at a mean of 39, as in its data.
	decay, offset = 0.6, 10
)

// MostLinks returns how many links a population of so many users can have: half of all that are possible, so
// that drawing them comes to an end.
func MostLinks(users int) int { return max(0, users*(users-1)/4) }

// New makes a population of so many users and links. Both ends of a link are drawn by
// weight (Chung and Lu 2002), and none twice.
func New(users, links int) (*Population, error) {
	if users < 2 || links < 0 || links > MostLinks(users) {
		return nil, fmt.Errorf("a population of %d users can have up to %d links, not %d", users, MostLinks(users),
			links)
	}
	p := &Population{Users: users, Friends: make([][]int, users+1)}
	sums := make([]float64, users) // of the weights of the users up to here
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
	known := make(map[[2]int]bool, links)
	for len(known) < links {
		a, b := draw(), draw()
		if a == b || known[[2]int{min(a, b), max(a, b)}] {
			continue
		}
		known[[2]int{min(a, b), max(a, b)}] = true
		p.Friends[a], p.Friends[b] = append(p.Friends[a], b), append(p.Friends[b], a)
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

// Password is that of all users, and PasswordHash its hash by bcrypt with cost 10. All have the same hash,
// since hashing the passwords of 962 users one by one would take a minute.
const (
	Password     = "password"
	PasswordHash = "$2a$10$LKo3DVLLRVf4i77KTec8hOgoa/p/P3a8BBzAlF6qeCMVntQWhzFJK"
)

// User returns one of the users.
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
