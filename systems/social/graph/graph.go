// Package graph holds the components users and social-graph: who is registered, and who follows whom.
//
// Users log in with a password and get a token. The store has the hash of the password.
//
// Entry points: NewUsers, NewGraph; Collections for their stores, and UserDocument and
// EdgeDocument to fill them.
package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// Names of collections and of their indexed fields.
const (
	usersName = "users"
	edgesName = "follows"
	byID      = "id"
	follower  = "follower"
	followee  = "followee"
)

// UsersCollection holds users, and the claims of their numbers (see add). EdgesCollection holds edges: an
// edge says that one user follows another.
var (
	UsersCollection = document.Collection{Name: usersName, Indexed: []string{byID}}
	EdgesCollection = document.Collection{Name: edgesName, Indexed: []string{follower, followee}}
)

type userBody struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	PasswordHash string `json:"password_hash"`
}

// UserDocument returns a user as a document with the name as its id. passwordHash is made by bcrypt.
func UserDocument(u *pb.User, passwordHash string) document.Document {
	body, _ := json.Marshal(userBody{u.GetId(), u.GetName(), passwordHash}) // strings cannot fail
	return document.Document{ID: u.GetName(), Version: 1, Body: body}
}

// EdgeDocument returns an edge as a document: user from follows user to.
func EdgeDocument(from, to string) document.Document {
	body, _ := json.Marshal(map[string]string{follower: from, followee: to}) // strings cannot fail
	return document.Document{ID: from + ">" + to, Version: 1, Body: body}
}

// Users is the component users.
type Users struct {
	store  document.Store
	signer *session.Signer
}

var _ pb.Users = (*Users)(nil)

// NewUsers returns the component. The store has declared UsersCollection; the signer signs the tokens of
// logins.
func NewUsers(store document.Store, signer *session.Signer) *Users { return &Users{store, signer} }

// Register makes a user with a new name and id.
func (u *Users) Register(ctx context.Context, in *pb.RegisterRequest) (*pb.User, error) {
	err := cmp.Or(social.CheckName(in.GetName()), social.CheckUser(in.GetId()),
		social.CheckPassword(in.GetPassword()))
	if err != nil {
		return nil, err
	}
	same, err := u.store.Find(ctx, usersName, document.Query{Field: byID, Value: in.GetId(), Limit: 1})
	if err != nil {
		return nil, err
	}
	user := &pb.User{Id: in.GetId(), Name: in.GetName()}
	made := false
	if len(same) == 0 {
		hash, err := bcrypt.GenerateFromPassword([]byte(in.GetPassword()), PasswordCost)
		if err != nil {
			return nil, err
		}
		if made, err = u.add(ctx, UserDocument(user, string(hash)), user.GetId()); err != nil {
			return nil, err
		}
	}
	if !made {
		return nil, rpc.Problemf(social.Exists, "there is a user of the name %s or the number %s",
			user.GetName(), user.GetId())
	}
	return user, nil
}

// Find returns users in the order of the request. It finds a user by the name, or by the id if the requested
// name is a number. It leaves out unknown users, or returns NotFound if the request asks for all.
func (u *Users) Find(ctx context.Context, in *pb.FindRequest) (*pb.FoundUsers, error) {
	var names []string
	found := map[string]*pb.User{}
	addFound := func(documents []document.Document) error {
		for _, d := range documents {
			var body userBody
			if err := json.Unmarshal(d.Body, &body); err != nil {
				return err
			}
			user := &pb.User{Id: body.ID, Name: body.Name}
			found[body.Name] = user
			found[body.ID] = user
		}
		return nil
	}
	for _, name := range in.GetNames() {
		if strings.HasPrefix(name, claimPrefix) {
			continue // claims have such ids in the same collection
		}
		if social.CheckUser(name) != nil {
			names = append(names, name)
			continue
		}
		page, err := u.store.Find(ctx, usersName, document.Query{Field: byID, Value: name, Limit: 1})
		if err == nil {
			err = addFound(page)
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := u.store.GetMany(ctx, usersName, names...)
	if err == nil {
		err = addFound(all)
	}
	if err != nil {
		return nil, err
	}
	var answer pb.FoundUsers
	for _, name := range in.GetNames() {
		user := found[name]
		if user == nil && in.GetAll() {
			return nil, rpc.Problemf(social.NotFound, "there is no user %.60q", name)
		}
		if user != nil {
			answer.Users = append(answer.Users, user)
		}
	}
	return &answer, nil
}

// Graph is the component social-graph.
type Graph struct {
	store document.Store
	users pb.Users
}

var _ pb.SocialGraph = (*Graph)(nil)

// NewGraph returns the component. The store has declared EdgesCollection; users says which users exist.
func NewGraph(store document.Store, users pb.Users) *Graph { return &Graph{store, users} }

// Follow makes a user follow another. If the user already does, nothing changes.
func (g *Graph) Follow(ctx context.Context, in *pb.FollowRequest) (*pb.Empty, error) {
	return g.link(ctx, in, EdgeDocument(in.GetFollower(), in.GetFollowee()))
}

// Unfollow makes a user stop following another. If the user does not follow the other, nothing changes. Posts
// that are already in the home timeline of the user stay there.
func (g *Graph) Unfollow(ctx context.Context, in *pb.FollowRequest) (*pb.Empty, error) {
	ended := EdgeDocument(in.GetFollower(), in.GetFollowee())
	ended.Body = json.RawMessage("{}") // without the indexed fields no query finds the edge
	return g.link(ctx, in, ended)
}

// link writes the new state of an edge, unless the stored edge is in that state. An ended edge has no fields.
func (g *Graph) link(ctx context.Context, in *pb.FollowRequest, edge document.Document) (*pb.Empty, error) {
	from := in.GetFollower()
	to := in.GetFollowee()
	for _, id := range []string{from, to} {
		if err := social.CheckUser(id); err != nil {
			return nil, err
		}
	}
	if from == to {
		return nil, rpc.Problemf(social.SelfFollow, "user %s cannot follow themselves", from)
	}
	if _, err := g.users.Find(ctx, &pb.FindRequest{Names: []string{from, to}, All: true}); err != nil {
		return nil, err
	}
	for { // retry if another request has changed the edge meanwhile
		was, err := g.store.Get(ctx, edgesName, edge.ID)
		if err != nil && !errors.Is(err, document.ErrNotFound) {
			return nil, err
		}
		if isLinked(was) == isLinked(edge) {
			return &pb.Empty{}, nil
		}
		edge.Version = was.Version + 1
		if applied, err := g.store.Upsert(ctx, edgesName, edge); err != nil || applied == 1 {
			return &pb.Empty{}, err
		}
	}
}

// isLinked reports whether a document is an edge that has not ended.
func isLinked(edge document.Document) bool { return bytes.Contains(edge.Body, []byte(followee)) }

// Followers returns a page of the followers of a user.
func (g *Graph) Followers(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	return g.page(ctx, in, followee)
}

// Following returns a page of the users that a user follows.
func (g *Graph) Following(ctx context.Context, in *pb.EdgeRequest) (*pb.UserIDs, error) {
	return g.page(ctx, in, follower)
}

// page returns a page of the edges that have the user at one end, follower or followee. It returns the ids of
// the users at their other ends.
func (g *Graph) page(ctx context.Context, in *pb.EdgeRequest, end string) (*pb.UserIDs, error) {
	edges, err := g.store.Find(ctx, edgesName, document.Query{Field: end, Value: in.GetUser(),
		After: in.GetAfter(), Limit: document.MaxPage})
	if err != nil {
		return nil, err
	}
	var answer pb.UserIDs
	for _, edge := range edges {
		from, other, _ := strings.Cut(edge.ID, ">")
		if end == followee {
			other = from
		}
		answer.Ids = append(answer.Ids, other)
	}
	if len(edges) == document.MaxPage {
		answer.Next = edges[document.MaxPage-1].ID
	}
	return &answer, nil
}
