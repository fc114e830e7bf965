// Package socialunit is social's part of the unit program: it connects the components of a
// unit to their stores, to other units, and to the channel of the deployer.
//
// Entry points: Run for the unit program; Open for programs that serve units themselves, such as tests.
package socialunit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/compose"
	"github.com/cleave-lab/cleave/systems/social/content"
	"github.com/cleave-lab/cleave/systems/social/gateway"
	"github.com/cleave-lab/cleave/systems/social/graph"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/posts"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
	"github.com/cleave-lab/cleave/systems/social/timelines"
	"github.com/cleave-lab/cleave/unit"
)

// Job is the argument of social's unit program, as JSON.
type Job struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	// Unit is the name of the unit to run; empty: fill the stores with users and links, and end.
	Unit  string `json:"unit,omitempty"`
	Users int    `json:"users,omitempty"`
	Links int    `json:"links,omitempty"`
}

// The names of the backing services.
const (
	ServiceDocuments = "documents"
	ServiceCache     = "cache"
	ServiceBroker    = "broker"
)

// KeyFile is the name of the file with the key of tokens in a unit's folder.
const KeyFile = "token-key"

const (
	// maxMessage is the size limit of messages between units, in bytes.
	maxMessage = 4 << 20
	// connections is the number of connections that a client over HTTP keeps open.
	connections = 64
)

// Run runs a unit of social until it is told to stop, or fills the stores and ends.
func Run(channel *unit.Channel, argument string) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	design, err := architecture.New(job.Architecture, job.Knobs)
	if err != nil {
		return err
	}
	place := Place{Documents: os.Getenv(lab.ServiceVariable(ServiceDocuments)),
		Cache:  os.Getenv(lab.ServiceVariable(ServiceCache)),
		Broker: os.Getenv(lab.ServiceVariable(ServiceBroker)), Peer: unit.PeerAddress}
	if place.Dir, err = unit.Dir(); err != nil {
		return err
	}
	if place.Key, err = readKey(place.Dir); err != nil {
		return err
	}
	return hosting.Run(channel, func(ctx context.Context) (hosting.Served, error) {
		if job.Unit == thirdparty.Name {
			return thirdparty.Service{}, nil
		}
		if job.Unit != "" {
			return Open(ctx, design, job.Unit, place)
		}
		people, err := population.New(job.Users, job.Links)
		if err != nil {
			return nil, err
		}
		return nil, Fill(ctx, design, place.Documents, people)
	})
}

// readKey returns the key of tokens from the folder of a unit; nil if there is none.
func readKey(dir string) ([]byte, error) {
	key, err := os.ReadFile(filepath.Join(dir, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return key, err
}

// Place holds the addresses and files that a unit needs.
type Place struct {
	Documents, Cache, Broker string // addresses
	Dir                      string // the unit's folder
	Key                      []byte // of tokens, in units with Design.HasKey
	// Peer returns the host:port of another unit, or those of all its replicas (see rpc.Spread).
	Peer func(unit string) (string, error)
}

// Unit is an open unit of a design.
type Unit struct {
	hosting.Unit
	design  architecture.Design
	unit    kit.Placed
	place   Place
	parts   *parts.All
	stores  map[string]document.Store // by component
	ids     *content.IDs
	signer  *session.Signer // nil: the unit neither makes nor checks tokens
	third   *thirdparty.Client
	cache   *cache.Cache
	broker  broker.Client
	fillers []hosting.Replica // only in the front: see connectFillers
}

// Open opens the stores and servers of a unit, makes its components and connects it to its peers. The unit
// does not serve yet.
func Open(ctx context.Context, design architecture.Design, name string, place Place) (*Unit, error) {
	own, err := design.Named(name)
	if err != nil {
		return nil, err
	}
	u := &Unit{design: design, unit: own, place: place, parts: &parts.All{}, stores: map[string]document.Store{}}
	// The name is also the role: all replicas of a unit have the same identity.
	u.Unit, err = hosting.NewUnit(name, name, place.Dir, design.Settings, hosting.Calls{Binding: design.Calls,
		Connections: connections, MaxMessage: maxMessage, ProblemOf: social.ProblemOf}, repeatable)
	if err != nil {
		return nil, err
	}
	u.Peer = place.Peer
	u.UnitOf = func(part string) string { return design.Hosting(part).Name }
	err = u.open(ctx)
	if err == nil {
		peers := design.Peers(u.unit)
		for _, part := range parts.Names() {
			if u.Hosts(part) || slices.Contains(peers, u.UnitOf(part)) {
				u.join(part)
			}
		}
		err = errors.Join(u.Err(), u.connectFillers())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unit %s: %w", name, err), u.Close())
	}
	return u, nil
}

// repeatable reports whether a failed call may be retried. Composing twice would make two posts, and
// registering a user twice is refused.
func repeatable(method string) bool {
	return method != pb.Composer_Compose_FullMethodName && method != pb.Users_Register_FullMethodName
}

// open opens what the unit's components need: the signer, stores, the cache, the third party and the broker.
func (u *Unit) open(ctx context.Context) (err error) {
	if u.design.HasKey(u.unit) {
		if u.signer, err = session.NewSigner(u.place.Key); err != nil {
			return err
		}
	}
	for _, part := range u.unit.Components {
		if u.design.Keeps(part) {
			if u.stores[part], err = OpenStore(ctx, u.place.Documents, part); err != nil {
				return err
			}
			u.Keep(u.stores[part])
		}
		if part == parts.UniqueIDsName {
			if u.ids, err = content.OpenIDs(ctx, u.stores[part]); err != nil {
				return err
			}
		}
	}
	if u.design.Cache && slices.Contains(u.unit.Components, parts.PostsName) {
		if u.cache, err = cache.Open(ctx, u.place.Cache, cache.Options{}); err != nil {
			return err
		}
		u.Keep(u.cache)
	}
	if u.design.AsksThirdParty(u.unit) {
		address, err := u.place.Peer(thirdparty.Name)
		if err != nil {
			return err
		}
		u.third = thirdparty.NewClient(address)
		u.Keep(u.third)
	}
	if u.design.NeedsBroker(u.unit) {
		if u.broker, err = openBroker(ctx, u.place.Broker); err != nil {
			return err
		}
		u.Keep(u.broker)
		u.Offer(func(binding grpc.ServiceRegistrar) { event.OfferTaken(binding, u.broker) })
	}
	return nil
}

// join makes a component if this unit hosts it, or else a client of it. The components that it uses must have
// been joined: they come before it in parts.Names.
func (u *Unit) join(part string) {
	all, store := u.parts, u.stores[part]
	switch part {
	case parts.UsersName:
		all.Users = hosting.Join(u, part, func() pb.Users { return graph.NewUsers(store, u.signer) },
			pb.OfferUsers, pb.CallUsers, pb.FollowUsers)
	case parts.SocialGraphName:
		all.SocialGraph = hosting.Join(u, part,
			func() pb.SocialGraph { return graph.NewGraph(store, all.Users) }, pb.OfferSocialGraph,
			pb.CallSocialGraph, pb.FollowSocialGraph)
	case parts.UniqueIDsName:
		all.UniqueIDs = hosting.Join(u, part, func() pb.UniqueIDs { return u.ids }, pb.OfferUniqueIDs,
			pb.CallUniqueIDs, pb.FollowUniqueIDs)
	case parts.ShortURLsName:
		all.ShortURLs = hosting.Join(u, part, func() pb.ShortURLs { return content.NewShortURLs(store) },
			pb.OfferShortURLs, pb.CallShortURLs, pb.FollowShortURLs)
	case parts.TextsName:
		all.Texts = hosting.Join(u, part, func() pb.Texts { return content.NewTexts(all.Users, all.ShortURLs) },
			pb.OfferTexts, pb.CallTexts, pb.FollowTexts)
	case parts.MediaName:
		all.Media = hosting.Join(u, part, func() pb.Media { return content.NewMedia(u.third) },
			pb.OfferMedia, pb.CallMedia, pb.FollowMedia)
	case parts.PostsName:
		all.Posts = hosting.Join(u, part, func() pb.Posts { return posts.New(store, u.cache) }, pb.OfferPosts,
			pb.CallPosts, pb.FollowPosts)
	case parts.UserTimelinesName:
		all.UserTimelines = hosting.Join(u, part,
			func() pb.UserTimelines { return timelines.NewUser(store, u.newTimelineCache(), all.Posts, all.Users) },
			pb.OfferUserTimelines, pb.CallUserTimelines, pb.FollowUserTimelines)
	case parts.HomeTimelinesName:
		all.HomeTimelines = hosting.Join(u, part, func() pb.HomeTimelines {
			return timelines.NewHome(store, u.newTimelineCache(), all.SocialGraph, all.UserTimelines, all.Posts,
				all.Users)
		}, pb.OfferHomeTimelines, pb.CallHomeTimelines, pb.FollowHomeTimelines)
	case parts.ComposerName:
		var fanOut compose.FanOut = all.HomeTimelines
		if u.broker != nil {
			fanOut = announcer{u.broker}
		}
		all.Composer = hosting.Join(u, part, func() pb.Composer { return compose.New(all, fanOut) },
			pb.OfferComposer, pb.CallComposer, pb.FollowComposer)
	}
}

// newTimelineCache returns the cache of a component with timelines; nil if the design has none.
func (u *Unit) newTimelineCache() *timelines.Cache {
	if !u.design.Timelines {
		return nil
	}
	return timelines.NewCache()
}

// Parts returns the components of this unit, and clients of those it calls.
func (u *Unit) Parts() *parts.All { return u.parts }

// Handler returns the public interface of the unit in front.
func (u *Unit) Handler() http.Handler {
	public := gateway.NewHandler(gateway.Backend{Parts: u.parts, Signer: u.signer, Healthy: u.Healthy,
		LogError: u.LogError})
	if u.broker == nil {
		return public
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == SettledPath {
			u.answerSettled(w, r)
			return
		}
		public.ServeHTTP(w, r)
	})
}

// Serve answers clients, if the unit is in front, and other units that call it, until ctx ends. Then it
// finishes the requests in flight.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	if u.broker != nil && u.Hosts(parts.HomeTimelinesName) {
		defer u.fillFromEvents(ctx)()
	}
	clients := func(ctx context.Context, listener net.Listener) error {
		return gateway.Serve(ctx, listener,
			front.Traced(u.Log.Handler(u.Handler()), u.Spans, architecture.UnitFront))
	}
	switch {
	case !u.design.IsFront(u.Name):
		return u.Unit.Serve(ctx, listener)
	case u.design.IsCalled(u.unit):
		return u.ServeBeside(ctx, listener, u.Unit.Serve, clients)
	}
	return clients(ctx, listener)
}

// OpenStore opens the document store of a component and declares its collection. Each component has a
// database of its own.
func OpenStore(ctx context.Context, address, part string) (document.Store, error) {
	store, err := document.Open(ctx, address, social.Name+"_"+strings.ReplaceAll(part, "-", "_"))
	if err != nil {
		return nil, err
	}
	if err := store.Declare(ctx, CollectionOf(part)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// CollectionOf returns the collection of a component that keeps documents.
func CollectionOf(part string) document.Collection {
	return map[string]document.Collection{
		parts.UsersName: graph.UsersCollection, parts.SocialGraphName: graph.EdgesCollection,
		parts.UniqueIDsName: content.MakersCollection, parts.ShortURLsName: content.ShortURLsCollection,
		parts.PostsName: posts.Collection, parts.UserTimelinesName: timelines.UserCollection,
		parts.HomeTimelinesName: timelines.HomeCollection,
	}[part]
}

// batch is the number of documents that Fill writes at once.
const batch = 1000

// Fill creates the stores of a design and writes the users and links of a population.
func Fill(
	ctx context.Context, design architecture.Design, address string, people *population.Population,
) error {
	documents := map[string][]document.Document{}
	for n := 1; n <= people.Users; n++ {
		user := population.User(n)
		documents[parts.UsersName] = append(documents[parts.UsersName],
			graph.UserDocument(user, population.PasswordHash))
		for _, friend := range people.Friends[n] {
			followed := population.User(friend)
			edge := graph.EdgeDocument(user.GetId(), followed.GetId())
			documents[parts.SocialGraphName] = append(documents[parts.SocialGraphName], edge)
		}
	}
	for _, part := range parts.Names() {
		if !design.Keeps(part) {
			continue
		}
		store, err := OpenStore(ctx, address, part)
		if err != nil {
			return err
		}
		for chunk := range slices.Chunk(documents[part], batch) {
			if _, err = store.Upsert(ctx, CollectionOf(part).Name, chunk...); err != nil {
				break // and close the store
			}
		}
		if err = errors.Join(err, store.Close()); err != nil {
			return fmt.Errorf("fill the store of %s: %w", part, err)
		}
	}
	return nil
}
