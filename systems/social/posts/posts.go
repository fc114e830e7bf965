// Package posts is the component that keeps posts, with or without a cache in front of its
// store. A post never changes.
//
// Entry points: New; Collection for its store.
package posts

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// Collection holds posts by their ids.
var Collection = document.Collection{Name: "posts"}

// cacheLifetime is the time that a post stays in the cache.
const cacheLifetime = time.Hour

// Posts is the component posts.
type Posts struct {
	store document.Store
	cache *cache.Cache // nil: none
}

var _ pb.Posts = (*Posts)(nil)

// New returns the component. The store has declared Collection; posts that were read are cached in c, unless
// c is nil.
func New(store document.Store, c *cache.Cache) *Posts { return &Posts{store, c} }

// Store keeps a post. A repetition changes nothing, since its version is not newer than the stored one.
func (p *Posts) Store(ctx context.Context, in *pb.Post) (*pb.Empty, error) {
	if err := social.CheckPost(in.GetId()); err != nil {
		return nil, err
	}
	body, err := protojson.Marshal(in)
	if err != nil {
		return nil, err
	}
	_, err = p.store.Upsert(ctx, Collection.Name,
		document.Document{ID: in.GetId(), Version: 1, Body: json.RawMessage(body)})
	return &pb.Empty{}, err
}

// Read returns posts in the order of the ids; unknown ids are left out. If the cache fails, all come from the
// store.
func (p *Posts) Read(ctx context.Context, in *pb.PostIDs) (*pb.PostList, error) {
	if len(in.GetIds()) > document.MaxPage {
		return nil, rpc.Problemf(rpc.InvalidArgument, "%d posts are asked for: use at most %d",
			len(in.GetIds()), document.MaxPage)
	}
	found := map[string]*pb.Post{}
	missing := p.fromCache(ctx, in.GetIds(), found)
	documents, err := p.store.GetMany(ctx, Collection.Name, missing...)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		post := &pb.Post{}
		if err := protojson.Unmarshal(d.Body, post); err != nil {
			return nil, err
		}
		found[d.ID] = post
		p.intoCache(ctx, post)
	}
	var answer pb.PostList
	for _, id := range in.GetIds() {
		if post := found[id]; post != nil {
			answer.Posts = append(answer.Posts, post)
		}
	}
	return &answer, nil
}

// fromCache adds the cached posts to found and returns the ids of the others.
func (p *Posts) fromCache(ctx context.Context, ids []string, found map[string]*pb.Post) (missing []string) {
	if p.cache == nil {
		return ids
	}
	values, err := p.cache.GetMany(ctx, ids...)
	if err != nil {
		return ids
	}
	for _, id := range ids {
		post := &pb.Post{}
		if value, has := values[id]; has && proto.Unmarshal(value, post) == nil {
			found[id] = post
			continue
		}
		missing = append(missing, id)
	}
	return missing
}

// intoCache caches a post, if there is a cache. A failure only means that the next read asks the store again.
func (p *Posts) intoCache(ctx context.Context, post *pb.Post) {
	if p.cache == nil {
		return
	}
	if value, err := proto.Marshal(post); err == nil {
		_ = p.cache.Set(ctx, post.GetId(), value, cacheLifetime)
	}
}
