// Package parts names the components of social. Their interfaces are in social.proto.
package parts

import pb "github.com/cleave-lab/cleave/systems/social/socialpb"

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

// Names returns the components, each after those that it uses.
func Names() []string {
	return []string{
		UsersName, SocialGraphName, UniqueIDsName, ShortURLsName, TextsName, MediaName, PostsName,
		UserTimelinesName, HomeTimelinesName, ComposerName,
	}
}

// All holds every component that a unit uses: its own, and clients of those in other units.
type All struct {
	Users         pb.Users
	SocialGraph   pb.SocialGraph
	UniqueIDs     pb.UniqueIDs
	Texts         pb.Texts
	ShortURLs     pb.ShortURLs
	Media         pb.Media
	Posts         pb.Posts
	UserTimelines pb.UserTimelines
	HomeTimelines pb.HomeTimelines
	Composer      pb.Composer
}
