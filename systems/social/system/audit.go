package system

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

// The counts of an audit.
const (
	countPosted    = "posted"    // acknowledged posts
	countDelivered = "delivered" // entries of posts in home timelines
	countLost      = "lost"      // acknowledged posts that are not stored or not in a timeline; missing links
	countMisplaced = "misplaced" // posts in a timeline they do not belong to
	countMadeUp    = "made_up"   // stored posts, entries or links not asked for, or refused
	countWrong     = "wrong"     // reads with posts that cannot be in them, out of order, or too long
	countShort     = "short"     // reads that lack posts which were acknowledged before the read
	countStale     = "stale"     // the same for home timelines that events fill: no breach
	countRead      = "read"      // reads of timelines
	countLoggedIn  = "logged_in" // successful logins
)

// rules returns the counts that must be zero.
func rules() []string {
	return []string{countLost, countMisplaced, countMadeUp, countWrong, countShort}
}

// AuditLive implements lab.LiveAuditor: it compares the answers to clients with the
// stores, and every read of a timeline with the posts that had been acknowledged before it.
func (s System) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	return s.base().Judge("system", p, left, func() (lab.Audit, error) {
		j, err := readHistory(v, p, left.Dir)
		if err == nil {
			err = j.readStores(ctx, left.Addresses[socialunit.ServiceDocuments])
		}
		if err != nil {
			return lab.Audit{}, err
		}
		j.judgeReads()
		audit := j.Audit(rules(), countRead, "no timeline was read")
		switch only, _ := p.Level(Only); only { // with one of these nobody reads: other work must have been done
		case onlyPosts:
			audit = j.Audit(rules(), countPosted, "no post was acknowledged")
		case onlyLogins:
			audit = j.Audit(rules(), countLoggedIn, "nobody has logged in")
		}
		least, median, greatest := j.people.Degrees()
		audit.Figures = map[string]float64{"least_links": float64(least), "median_links": float64(median),
			"most_links": float64(greatest)}
		return audit, nil
	})
}

// noted holds the values that the scenario notes in a line of the history.
type noted struct {
	User  string `json:"user.id"`
	ID    string `json:"id"`
	Start string `json:"start"`
	IDs   string `json:"ids"` // a JSON array of strings
}

// post is a post that is stored, or was acknowledged.
type post struct {
	id               string
	author           int
	sent, finished   int64 // Unix time in nanoseconds, by the client's clock; 0: no client had an answer
	acknowledged     bool
	stored, ownEntry bool         // it is in the store, and in the timeline of its author
	home             map[int]bool // the users who have it in their home timelines
}

// read is a read of a timeline.
type read struct {
	home           bool // of a home timeline, not a user timeline
	user, start    int
	ids            []string
	sent, finished int64
	line           int64 // of the history
}

// judge holds the evidence and the findings.
type judge struct {
	loaded.Findings
	design architecture.Design
	people *population.Population
	posts  map[string]*post
	open   map[int]int // attempts to post of unknown outcome, by author
	links  int         // stored links
	reads  []read
	// behind holds, for each read of a home timeline, the least time by which it lagged behind the
	// acknowledged posts, in seconds.
	behind []float64
}

// readHistory returns a judge that has read the history of a trial.
func readHistory(v lab.Variant, p lab.Point, dir string) (*judge, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return nil, err
	}
	people, err := population.New(sizeOf(p))
	if err != nil {
		return nil, err
	}
	j := &judge{Findings: loaded.Findings{Counts: map[string]int64{}}, design: design, people: people,
		posts: map[string]*post{}, open: map[int]int{}}
	return j, loaded.EachAttempt(dir, j.addAttempt)
}

// addAttempt adds a line of the history.
func (j *judge) addAttempt(a loaded.Attempt[noted]) {
	if a.Operation == logIn && a.End == loaded.EndedOK {
		j.Counts[countLoggedIn]++
	}
	user, err := strconv.Atoi(a.Noted.User)
	if err != nil {
		return // a login notes nothing, nor does a step that was never started
	}
	sent, finished := a.Begun+a.Sent, a.Begun+a.Finished
	if a.Operation == compose {
		j.Ended(a.End, countPosted)
		switch a.End {
		case loaded.EndedOK:
			if j.posts[a.Noted.ID] != nil {
				j.Breach(countMadeUp, "line %d of the history: a second client got the post %s as its own", a.Line,
					a.Noted.ID)
			}
			j.posts[a.Noted.ID] = &post{id: a.Noted.ID, author: user, sent: sent, finished: finished,
				acknowledged: true, home: map[int]bool{}}
		case loaded.EndedInfo:
			j.open[user]++
		}
		return
	}
	if a.End != loaded.EndedOK {
		return
	}
	r := read{home: a.Operation == readHome, user: user, sent: sent, finished: finished, line: a.Line}
	r.start, err = strconv.Atoi(a.Noted.Start)
	if err = errors.Join(err, json.Unmarshal([]byte(a.Noted.IDs), &r.ids)); err != nil {
		j.Breach(countWrong, "line %d of the history: what was read is no list of ids", a.Line)
		return
	}
	j.Counts[countRead]++
	j.reads = append(j.reads, r)
}

// readStores reads all links, posts and timelines, and checks that nothing is missing.
func (j *judge) readStores(ctx context.Context, address string) error {
	for _, source := range []struct {
		part string
		add  func(document.Document) error
	}{{parts.SocialGraphName, j.addLink}, {parts.PostsName, j.addStored}, // posts before their entries
		{parts.UserTimelinesName, j.addUserEntry}, {parts.HomeTimelinesName, j.addHomeEntry}} {
		if !j.design.Keeps(source.part) {
			continue
		}
		if err := eachDocument(ctx, address, source.part, source.add); err != nil {
			return fmt.Errorf("read %s: %w", source.part, err)
		}
	}
	for id, p := range j.posts {
		j.checkComplete(id, p)
	}
	all := 0
	for _, friends := range j.people.Friends {
		all += len(friends)
	}
	if j.links < all {
		j.Breach(countLost, "%d of %d links are stored, and no client has ended one", j.links, all)
	}
	return nil
}

// addLink adds a stored link, which must be one of the population: no client makes or ends links.
func (j *judge) addLink(d document.Document) error {
	var body struct{ Follower, Followee string }
	if err := json.Unmarshal(d.Body, &body); err != nil || body.Follower == "" { // empty: the link was ended
		return err
	}
	follower, err := strconv.Atoi(body.Follower)
	followee, invalid := strconv.Atoi(body.Followee)
	if err = errors.Join(err, invalid); err != nil {
		return err
	}
	if j.links++; !j.people.Follows(follower, followee) {
		j.Breach(countMadeUp, "user %d follows user %d, and nobody asked for it", follower, followee)
	}
	return nil
}

// eachDocument calls do with every document of a component.
func eachDocument(ctx context.Context, address, part string, do func(document.Document) error) (err error) {
	store, err := socialunit.OpenStore(ctx, address, part)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return document.Each(ctx, store, socialunit.CollectionOf(part).Name, do)
}

// addStored adds a stored post. A post that no client got as an answer must belong to an attempt of unknown
// outcome.
func (j *judge) addStored(d document.Document) error {
	var body struct{ Author struct{ ID string } }
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return err
	}
	author, err := strconv.Atoi(body.Author.ID)
	if err != nil {
		return err
	}
	p := j.posts[d.ID]
	switch {
	case p != nil && p.author != author:
		j.Breach(countMisplaced, "the post %s of user %d is stored as one of user %d", d.ID, p.author, author)
	case p == nil && j.open[author] > 0:
		j.open[author]--
		j.Counts[loaded.CountRecovered]++
	case p == nil:
		j.Breach(countMadeUp, "no client asked for the post %s of user %d, or it was refused", d.ID, author)
	}
	if p == nil {
		p = &post{id: d.ID, author: author, home: map[int]bool{}}
		j.posts[d.ID] = p
	}
	p.stored = true
	return nil
}

// readEntry returns the post of an entry of a timeline, and the owner of the timeline. An entry of an unknown
// post is a breach and returns a nil post.
func (j *judge) readEntry(d document.Document) (*post, int, error) {
	var body struct{ Owner string }
	if err := json.Unmarshal(d.Body, &body); err != nil {
		return nil, 0, err
	}
	owner, err := strconv.Atoi(body.Owner)
	p := j.posts[timelines.PostOf(d.ID)]
	if err == nil && p == nil {
		j.Breach(countMadeUp, "a timeline of user %d has the post %s, which is not stored", owner,
			timelines.PostOf(d.ID))
	}
	return p, owner, err
}

// addUserEntry adds an entry of a user timeline.
func (j *judge) addUserEntry(d document.Document) error {
	p, owner, err := j.readEntry(d)
	if err != nil || p == nil {
		return err
	}
	if p.author != owner {
		j.Breach(countMisplaced, "the post %s of user %d is in the timeline of user %d", timelines.PostOf(d.ID),
			p.author, owner)
	}
	p.ownEntry = p.ownEntry || p.author == owner
	return nil
}

// addHomeEntry adds an entry of a home timeline.
func (j *judge) addHomeEntry(d document.Document) error {
	p, owner, err := j.readEntry(d)
	if err != nil || p == nil {
		return err
	}
	if !j.people.Follows(owner, p.author) {
		j.Breach(countMisplaced, "the post %s of user %d is in the home timeline of user %d, who does not follow",
			timelines.PostOf(d.ID), p.author, owner)
		return nil
	}
	p.home[owner] = true
	j.Counts[countDelivered]++
	return nil
}

// checkComplete checks that an acknowledged post is stored and in every timeline it belongs to.
func (j *judge) checkComplete(id string, p *post) {
	if !p.acknowledged {
		return
	}
	if !p.stored {
		j.Breach(countLost, "the post %s of user %d was acknowledged and is not stored", id, p.author)
	}
	if !p.ownEntry {
		j.Breach(countLost, "the post %s is not in the timeline of its author, user %d", id, p.author)
	}
	if !j.design.Keeps(parts.HomeTimelinesName) { // home timelines are gathered from user timelines
		return
	}
	for _, follower := range j.people.Friends[p.author] { // friends follow each other
		if !p.home[follower] {
			j.Breach(countLost, "the post %s of user %d is not in the home timeline of user %d, who follows", id,
				p.author, follower)
		}
	}
}

// judgeReads compares every read with the posts. A post that was acknowledged before the read was
// sent must be in it; a post that was sent after the read had ended cannot be.
func (j *judge) judgeReads() {
	byAuthor := map[int][]*post{} // acknowledged posts, sorted by their acknowledgement
	for _, p := range j.posts {
		if p.acknowledged {
			byAuthor[p.author] = append(byAuthor[p.author], p)
		}
	}
	for _, all := range byAuthor {
		slices.SortFunc(all, func(a, b *post) int { return int(a.finished - b.finished) })
	}
	for _, r := range j.reads {
		authors := []int{r.user}
		if r.home {
			authors = j.people.Friends[r.user] // friends follow each other
		}
		for i, id := range r.ids {
			p := j.posts[id]
			switch {
			case p == nil:
				j.Breach(countWrong, "line %d of the history: user %d read the post %s, which does not exist", r.line,
					r.user, id)
			case !slices.Contains(authors, p.author):
				j.Breach(countWrong, "line %d of the history: user %d read the post %s of user %d in the wrong timeline",
					r.line, r.user, id, p.author)
			case i > 0 && r.ids[i-1] <= id:
				j.Breach(countWrong, "line %d of the history: user %d read %s before %s", r.line, r.user, r.ids[i-1], id)
			case p.sent > r.finished:
				j.Breach(countWrong, "line %d of the history: user %d read the post %s before it was sent", r.line,
					r.user, id)
			}
		}
		j.checkFresh(r, authors, byAuthor)
		if len(r.ids) > pageSize {
			j.Breach(countWrong, "line %d of the history: user %d read %d posts, at most %d were asked for", r.line,
				r.user, len(r.ids), pageSize)
		}
	}
}

// checkFresh checks that a read has the posts that had been acknowledged when it was sent: the read skips the
// newest r.start posts, so at most that many acknowledged posts are newer than its first one. A home timeline
// that events fill may lack more: then the read is stale, which is no breach.
func (j *judge) checkFresh(r read, authors []int, byAuthor map[int][]*post) {
	var newer []int64 // times of acknowledgement of the posts that are newer than the first of the read
	known := 0        // posts that had been acknowledged
	var first *post   // of the read
	if len(r.ids) > 0 {
		first = j.posts[slices.Max(r.ids)]
	}
	for _, author := range authors {
		all := byAuthor[author]
		before, _ := slices.BinarySearchFunc(all, r.sent,
			func(p *post, sent int64) int { return cmp.Compare(p.finished, sent) })
		known += before
		if len(r.ids) == 0 {
			for _, p := range all[:before] {
				newer = append(newer, p.finished)
			}
			continue
		}
		if first == nil || !first.acknowledged {
			continue // no client knows when it was made
		}
		// A newer post can only have been acknowledged after the first was requested: search no further back.
		for i := before - 1; i >= 0 && all[i].finished > first.sent; i-- {
			if all[i].id > first.id {
				newer = append(newer, all[i].finished)
			}
		}
	}
	lacking := max(len(newer)-r.start, 0)
	short := len(r.ids) < min(pageSize, known-r.start)
	if j.design.Broker == "" || !r.home {
		if lacking > 0 || short {
			j.Breach(countShort, "line %d of the history: user %d read %d posts from %d on and lacks %d or more of "+
				"the %d that had been acknowledged",
				r.line, r.user, len(r.ids), r.start, max(lacking, 1), known)
		}
		return
	}
	behind := 0.0
	if lacking > 0 { // in the best case the latest ones are missing: the oldest of these gives the least lag
		slices.Sort(newer)
		behind = float64(r.sent-newer[len(newer)-lacking]) / 1e9
	}
	if lacking > 0 || short {
		j.Counts[countStale]++
	}
	j.behind = append(j.behind, behind)
}
