package parts

import (
	"context"

	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// The clients of generated code take options, which components do not know.
type (
	usersClient         struct{ calls pb.UsersClient }
	socialGraphClient   struct{ calls pb.SocialGraphClient }
	uniqueIDsClient     struct{ calls pb.UniqueIDsClient }
	textsClient         struct{ calls pb.TextsClient }
	shortURLsClient     struct{ calls pb.ShortURLsClient }
	mediaClient         struct{ calls pb.MediaClient }
	postsClient         struct{ calls pb.PostsClient }
	userTimelinesClient struct{ calls pb.UserTimelinesClient }
	homeTimelinesClient struct{ calls pb.HomeTimelinesClient }
	composerClient      struct{ calls pb.ComposerClient }
)

func (c usersClient) Register(ctx context.Context, in *pb.RegisterRequest) (*pb.User, error) {
	return c.calls.Register(ctx, in)
}

func (c usersClient) Find(ctx context.Context, in *pb.FindRequest) (*pb.FoundUsers, error) {
	return c.calls.Find(ctx, in)
}

func (c socialGraphClient) Follow(ctx context.Context, in *pb.FollowRequest) (*pb.Empty, error) {
	return c.calls.Follow(ctx, in)
}

func (c socialGraphClient) Followers(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	return c.calls.Followers(ctx, in)
}

func (c socialGraphClient) Following(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	return c.calls.Following(ctx, in)
}

func (c uniqueIDsClient) Next(ctx context.Context, in *pb.Empty) (*pb.PostID, error) {
	return c.calls.Next(ctx, in)
}

func (c textsClient) Prepare(ctx context.Context, in *pb.Text) (*pb.PreparedText, error) {
	return c.calls.Prepare(ctx, in)
}

func (c shortURLsClient) Shorten(ctx context.Context, in *pb.Links) (*pb.ShortLinks, error) {
	return c.calls.Shorten(ctx, in)
}

func (c shortURLsClient) Resolve(ctx context.Context, in *pb.Link) (*pb.Link, error) {
	return c.calls.Resolve(ctx, in)
}

func (c mediaClient) Attach(ctx context.Context, in *pb.MediaList) (*pb.MediaList, error) {
	return c.calls.Attach(ctx, in)
}

func (c postsClient) Store(ctx context.Context, in *pb.Post) (*pb.Empty, error) {
	return c.calls.Store(ctx, in)
}

func (c postsClient) Read(ctx context.Context, in *pb.PostIDs) (*pb.PostList, error) {
	return c.calls.Read(ctx, in)
}

func (c userTimelinesClient) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	return c.calls.Add(ctx, in)
}

func (c userTimelinesClient) Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error) {
	return c.calls.Read(ctx, in)
}

func (c userTimelinesClient) Latest(ctx context.Context, in *pb.LatestRequest) (*pb.PostIDs, error) {
	return c.calls.Latest(ctx, in)
}

func (c homeTimelinesClient) Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error) {
	return c.calls.Add(ctx, in)
}

func (c homeTimelinesClient) Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error) {
	return c.calls.Read(ctx, in)
}

func (c composerClient) Compose(ctx context.Context, in *pb.ComposeRequest) (*pb.Post, error) {
	return c.calls.Compose(ctx, in)
}
