// Package compose is the component that joins the parts of a post and enters the post into
// timelines.
//
// Entry point: New.
package compose

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// FanOut enters a post into the home timelines of followers, now or later.
type FanOut interface {
	Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error)
}

// Composer is the component compose.
type Composer struct {
	others *parts.All
	fanOut FanOut
}

var _ pb.Composer = (*Composer)(nil)

// New returns the component, which calls others and fanOut.
func New(others *parts.All, fanOut FanOut) *Composer { return &Composer{others, fanOut} }

// Compose makes a post. It is stored before any timeline names it, and acknowledged when
// the timeline of its author has it, and those of followers have or will have.
func (c *Composer) Compose(ctx context.Context, in *pb.ComposeRequest) (*pb.Post, error) {
	var author *pb.FoundUsers
	var id *pb.PostID
	var text *pb.PreparedText
	var media *pb.MediaList
	group, grouped := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		author, err = c.others.Users.Find(grouped, &pb.FindRequest{Names: []string{in.GetAuthor()}, All: true})
		return err
	})
	group.Go(func() (err error) {
		id, err = c.others.UniqueIDs.Next(grouped, &pb.Empty{})
		return err
	})
	group.Go(func() (err error) {
		text, err = c.others.Texts.Prepare(grouped, &pb.Text{Text: in.GetText()})
		return err
	})
	group.Go(func() (err error) {
		media, err = c.others.Media.Attach(grouped, &pb.MediaList{Media: in.GetMedia()})
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	post := &pb.Post{
		Id: id.GetId(), Author: author.GetUsers()[0], // Find with All has returned one
		Text: text.GetText(), Mentions: text.GetMentions(), Links: text.GetLinks(), Media: media.GetMedia(),
	}
	if _, err := c.others.Posts.Store(ctx, post); err != nil {
		return nil, err
	}
	entry := &pb.Entry{User: post.GetAuthor().GetId(), Post: post.GetId()}
	group, grouped = errgroup.WithContext(ctx)
	group.Go(func() error {
		_, err := c.others.UserTimelines.Add(grouped, entry)
		return err
	})
	group.Go(func() error {
		_, err := c.fanOut.Add(grouped, entry)
		return err
	})
	return post, group.Wait()
}
