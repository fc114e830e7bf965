// Package parts says what the components of social are to each other: an interface each,
// which the component itself has, or the client of a binding to the unit that it is in.
//
// Entry points: All for its own unit; Register and Connect put a binding between.
package parts

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// The names of the components.
const (
	UsersName         = "users"
	SocialGraphName   = "social-graph"
	UniqueIDsName     = "unique-ids"
	TextsName         = "texts"
	ShortURLsName     = "short-urls"
	MediaName         = "media"
	PostsName         = "posts"
	UserTimelinesName = "user-timelines"
	HomeTimelinesName = "home-timelines"
	ComposerName      = "compose"
)

// Names lists them, those that others stand on first.
func Names() []string {
	return []string{
		UsersName, SocialGraphName, UniqueIDsName, ShortURLsName, TextsName, MediaName, PostsName,
		UserTimelinesName, HomeTimelinesName,
		ComposerName,
	}
}

// All has every component, as one unit sees it: its own, and clients of the others.
type All struct {
	Users         Users
	SocialGraph   SocialGraph
	UniqueIDs     UniqueIDs
	Texts         Texts
	ShortURLs     ShortURLs
	Media         Media
	Posts         Posts
	UserTimelines UserTimelines
	HomeTimelines HomeTimelines
	Composer      Composer
}

// Users is the component of that name; see social.proto.
type Users interface {
	Register(ctx context.Context, in *pb.RegisterRequest) (*pb.User, error)
	Find(ctx context.Context, in *pb.FindRequest) (*pb.FoundUsers, error)
}

// SocialGraph is the component of that name; see social.proto.
type SocialGraph interface {
	Follow(ctx context.Context, in *pb.FollowRequest) (*pb.Empty, error)
	Followers(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error)
	Following(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error)
}

// UniqueIDs is the component of that name; see social.proto.
type UniqueIDs interface {
	Next(ctx context.Context, in *pb.Empty) (*pb.PostID, error)
}

// Texts is the component of that name; see social.proto.
type Texts interface {
	Prepare(ctx context.Context, in *pb.Text) (*pb.PreparedText, error)
}

// ShortURLs is the component of that name; see social.proto.
type ShortURLs interface {
	Shorten(ctx context.Context, in *pb.Links) (*pb.ShortLinks, error)
	Resolve(ctx context.Context, in *pb.Link) (*pb.Link, error)
}

// Media is the component of that name; see social.proto.
type Media interface {
	Attach(ctx context.Context, in *pb.MediaList) (*pb.MediaList, error)
}

// Posts is the component of that name; see social.proto.
type Posts interface {
	Store(ctx context.Context, in *pb.Post) (*pb.Empty, error)
	Read(ctx context.Context, in *pb.PostIDs) (*pb.PostList, error)
}

// UserTimelines is the component of that name; see social.proto.
type UserTimelines interface {
	Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error)
	Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error)
	Latest(ctx context.Context, in *pb.LatestRequest) (*pb.PostIDs, error)
}

// HomeTimelines is the component of that name; see social.proto.
type HomeTimelines interface {
	Add(ctx context.Context, in *pb.Entry) (*pb.Empty, error)
	Read(ctx context.Context, in *pb.TimelineRequest) (*pb.PostList, error)
}

// Composer is the component of that name; see social.proto.
type Composer interface {
	Compose(ctx context.Context, in *pb.ComposeRequest) (*pb.Post, error)
}

// Register serves a component of this unit on a binding.
func (a *All) Register(binding grpc.ServiceRegistrar, name string) {
	switch name {
	case UsersName:
		pb.RegisterUsersServer(binding, struct {
			Users
			pb.UnsafeUsersServer
		}{Users: a.Users})
	case SocialGraphName:
		pb.RegisterSocialGraphServer(binding, struct {
			SocialGraph
			pb.UnsafeSocialGraphServer
		}{SocialGraph: a.SocialGraph})
	case UniqueIDsName:
		pb.RegisterUniqueIDsServer(binding, struct {
			UniqueIDs
			pb.UnsafeUniqueIDsServer
		}{UniqueIDs: a.UniqueIDs})
	case TextsName:
		pb.RegisterTextsServer(binding, struct {
			Texts
			pb.UnsafeTextsServer
		}{Texts: a.Texts})
	case ShortURLsName:
		pb.RegisterShortURLsServer(binding, struct {
			ShortURLs
			pb.UnsafeShortURLsServer
		}{ShortURLs: a.ShortURLs})
	case MediaName:
		pb.RegisterMediaServer(binding, struct {
			Media
			pb.UnsafeMediaServer
		}{Media: a.Media})
	case PostsName:
		pb.RegisterPostsServer(binding, struct {
			Posts
			pb.UnsafePostsServer
		}{Posts: a.Posts})
	case UserTimelinesName:
		pb.RegisterUserTimelinesServer(binding, struct {
			UserTimelines
			pb.UnsafeUserTimelinesServer
		}{UserTimelines: a.UserTimelines})
	case HomeTimelinesName:
		pb.RegisterHomeTimelinesServer(binding, struct {
			HomeTimelines
			pb.UnsafeHomeTimelinesServer
		}{HomeTimelines: a.HomeTimelines})
	case ComposerName:
		pb.RegisterComposerServer(binding, struct {
			Composer
			pb.UnsafeComposerServer
		}{Composer: a.Composer})
	}
}

// Connect makes a component that of another unit.
func (a *All) Connect(binding grpc.ClientConnInterface, name string) {
	switch name {
	case UsersName:
		a.Users = usersClient{pb.NewUsersClient(binding)}
	case SocialGraphName:
		a.SocialGraph = socialGraphClient{pb.NewSocialGraphClient(binding)}
	case UniqueIDsName:
		a.UniqueIDs = uniqueIDsClient{pb.NewUniqueIDsClient(binding)}
	case TextsName:
		a.Texts = textsClient{pb.NewTextsClient(binding)}
	case ShortURLsName:
		a.ShortURLs = shortURLsClient{pb.NewShortURLsClient(binding)}
	case MediaName:
		a.Media = mediaClient{pb.NewMediaClient(binding)}
	case PostsName:
		a.Posts = postsClient{pb.NewPostsClient(binding)}
	case UserTimelinesName:
		a.UserTimelines = userTimelinesClient{pb.NewUserTimelinesClient(binding)}
	case HomeTimelinesName:
		a.HomeTimelines = homeTimelinesClient{pb.NewHomeTimelinesClient(binding)}
	case ComposerName:
		a.Composer = composerClient{pb.NewComposerClient(binding)}
	}
}
