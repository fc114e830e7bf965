// Package timelines holds the components with the timelines of users. A user timeline has
// the user's own posts; a home timeline has the posts of everybody the user follows, and is
// either filled when they post or gathered when it is read. The ids of posts are in a
// store, with or without a cache in front of it.
//
// Entry points: NewUser, NewHome, with NewCache; UserCollection and HomeCollection for their stores.
package timelines

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// owner is the indexed field of an entry: the user whose timeline it is in.
const owner = "owner"

// UserCollection and HomeCollection hold the entries of timelines.
var (
	UserCollection = document.Collection{Name: "user_timelines", Indexed: []string{owner}}
	HomeCollection = document.Collection{Name: "home_timelines", Indexed: []string{owner}}
)

// entry returns the document of a post in a user's timeline. Its id begins with the id of the post, so that
// entries are in the order of time.
func entry(post, user string) document.Document {
	body, _ := json.Marshal(map[string]string{owner: user}) // strings cannot fail
	return document.Document{ID: post + "." + user, Version: 1, Body: body}
}

// PostOf returns the id of the post of an entry, given the id of the entry.
func PostOf(id string) string {
	post, _, _ := strings.Cut(id, ".")
	return post
}

// entries holds the entries of all timelines of one kind.
type entries struct {
	store      document.Store
	collection string
	cache      *Cache // nil: none
}

// enter adds a post to the timelines of users. A repetition changes nothing.
func (e entries) enter(ctx context.Context, post string, users ...string) error {
	all := make([]document.Document, len(users))
	for i, user := range users {
		all[i] = entry(post, user)
	}
	_, err := e.store.Upsert(ctx, e.collection, all...)
	switch {
	case e.cache == nil:
	case err != nil:
		e.cache.forget(users...)
	default:
		e.cache.add(post, users...)
	}
	return err
}

// latest returns the ids of the latest posts in a user's timeline, the latest first: those older than the
// post before, or from the latest on if before is empty.
func (e entries) latest(ctx context.Context, user, before string, limit int) ([]string, error) {
	if e.cache == nil || before != "" { // older pages are rarely read twice
		return e.stored(ctx, user, before, limit)
	}
	return e.cache.latest(user, limit, func() ([]string, error) {
		return e.stored(ctx, user, "", social.MaxPage)
	})
}

// stored is latest without the cache.
func (e entries) stored(ctx context.Context, user, before string, limit int) ([]string, error) {
	found, err := e.store.Find(ctx, e.collection, document.Query{Field: owner, Value: user, After: before,
		Descending: true, Limit: limit})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found))
	for i, d := range found {
		ids[i] = PostOf(d.ID)
	}
	return ids, nil
}

// check returns an InvalidArgument for a request with a malformed id or an impossible range.
func check(in *pb.TimelineRequest) error {
	if err := social.CheckUser(in.GetUser()); err != nil {
		return err
	}
	if in.GetBefore() != "" {
		if err := social.CheckPost(in.GetBefore()); err != nil {
			return err
		}
	}
	if in.GetStart() < 0 || in.GetStop() <= in.GetStart() || in.GetStop() > social.MaxPage {
		return rpc.Problemf(rpc.InvalidArgument,
			"from %d to %d is no part of a timeline: use 0 <= start < stop <= %d, and before= for what lies beyond",
			in.GetStart(), in.GetStop(), social.MaxPage)
	}
	return nil
}

// reader returns the posts of a timeline, given their ids.
type reader struct {
	posts pb.Posts
	users pb.Users
}

// read returns the posts of ids from position start on. If ids is empty it checks that the user exists:
// NotFound if not.
func (r reader) read(ctx context.Context, in *pb.TimelineRequest, ids []string) (*pb.PostList, error) {
	if len(ids) == 0 {
		if _, err := r.users.Find(ctx, &pb.FindRequest{Names: []string{in.GetUser()}, All: true}); err != nil {
			return nil, err
		}
	}
	if len(ids) <= int(in.GetStart()) {
		return &pb.PostList{}, nil
	}
	return r.posts.Read(ctx, &pb.PostIDs{Ids: ids[in.GetStart():]})
}

// User is the component user-timelines.
type User struct {
	entries
	reader
}

var _ pb.UserTimelines = (*User)(nil)

// NewUser returns the component. The store has declared UserCollection; cache may be nil.
func NewUser(store document.Store, cache *Cache, posts pb.Posts, users pb.Users) *User {
	return &User{entries{store, UserCollection.Name, cache}, reader{posts, users}}
}

// Add enters a post of the user. A repetition changes nothing.
func (t *User) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	return &pb.Empty{}, t.enter(ctx, in.GetPost(), in.GetUser())
}

// Read returns a part of the timeline, the latest first.
func (t *User) Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error) {
	if err := check(in); err != nil {
		return nil, err
	}
	ids, err := t.latest(ctx, in.GetUser(), in.GetBefore(), int(in.GetStop()))
	if err != nil {
		return nil, err
	}
	return t.read(ctx, in, ids)
}

// Latest returns the ids of the latest posts of several users, merged, the latest first.
func (t *User) Latest(ctx context.Context, in *pb.LatestRequest) (*pb.PostIDs, error) {
	limit := int(in.GetLimit())
	if limit < 1 || limit > social.MaxPage {
		return nil, rpc.Problemf(rpc.InvalidArgument, "%d posts are asked for: use 1 to %d", limit,
			social.MaxPage)
	}
	var all []string
	for _, user := range in.GetUsers() {
		ids, err := t.latest(ctx, user, in.GetBefore(), limit)
		if err != nil {
			return nil, err
		}
		all = newest(append(all, ids...), limit)
	}
	return &pb.PostIDs{Ids: all}, nil
}

// newest sorts ids in falling order and returns the first limit of them.
func newest(ids []string, limit int) []string {
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	return ids[:min(len(ids), limit)]
}

// Home is the component home-timelines.
type Home struct {
	entries // store is nil if timelines are gathered when they are read
	graph   pb.SocialGraph
	users   pb.UserTimelines
	reader
}

var _ pb.HomeTimelines = (*Home)(nil)

// NewHome returns the component. The store has declared HomeCollection; cache may be nil. If the store is
// nil, home timelines are gathered from user timelines when they are read.
func NewHome(
	store document.Store, cache *Cache, graph pb.SocialGraph, userTimelines pb.UserTimelines, posts pb.Posts,
	users pb.Users,
) *Home {
	return &Home{entries{store, HomeCollection.Name, cache}, graph, userTimelines, reader{posts, users}}
}

// Add enters a post into the home timelines of all followers of the author, page by page. After an error some
// may have it; a repetition changes nothing.
func (t *Home) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	if t.store == nil {
		return &pb.Empty{}, nil
	}
	for after := ""; ; {
		page, err := t.graph.Followers(ctx, &pb.EdgeRequest{User: in.GetUser(), After: after})
		if err != nil {
			return nil, err
		}
		if followers := page.GetIds(); len(followers) > 0 {
			if err := t.enter(ctx, in.GetPost(), followers...); err != nil {
				return nil, err
			}
		}
		if after = page.GetNext(); after == "" {
			return &pb.Empty{}, nil
		}
	}
}

// Read returns a part of the timeline, the latest first.
func (t *Home) Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error) {
	if err := check(in); err != nil {
		return nil, err
	}
	var ids []string
	var err error
	if t.store == nil {
		ids, err = t.gather(ctx, in)
	} else {
		ids, err = t.latest(ctx, in.GetUser(), in.GetBefore(), int(in.GetStop()))
	}
	if err != nil {
		return nil, err
	}
	return t.read(ctx, in, ids)
}

// gather merges the ids of the latest posts of everybody a user follows.
func (t *Home) gather(ctx context.Context, in *pb.TimelineRequest) (all []string, err error) {
	for after := ""; ; {
		page, err := t.graph.Following(ctx, &pb.EdgeRequest{User: in.GetUser(), After: after})
		if err != nil {
			return nil, err
		}
		if len(page.GetIds()) > 0 {
			ids, err := t.users.Latest(ctx, &pb.LatestRequest{Users: page.GetIds(), Limit: in.GetStop(),
				Before: in.GetBefore()})
			if err != nil {
				return nil, err
			}
			all = newest(append(all, ids.GetIds()...), int(in.GetStop()))
		}
		if after = page.GetNext(); after == "" {
			return all, nil
		}
	}
}
