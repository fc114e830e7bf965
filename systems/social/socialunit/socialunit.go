// Package socialunit is social's part of the unit program: it joins the components of a
// unit with their stores, the units that they call, and the channel that a deployer gives.
//
// Entry points: Run for the unit program; Open, whoever joins units by hand, as tests do.
package socialunit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/cache"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/binding/grpcgo"
	"github.com/cleave-lab/cleave/binding/nethttp"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/compose"
	"github.com/cleave-lab/cleave/systems/social/content"
	"github.com/cleave-lab/cleave/systems/social/gateway"
	"github.com/cleave-lab/cleave/systems/social/graph"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/posts"
	"github.com/cleave-lab/cleave/systems/social/timelines"
	"github.com/cleave-lab/cleave/unit"
)

// Job is what one process of social is started with, as JSON.
type Job struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	// Unit is the unit to be; empty: fill the stores with users and links, and end.
	Unit  string `json:"unit,omitempty"`
	Users int    `json:"users,omitempty"`
	Links int    `json:"links,omitempty"`
}

// What units call their backing services.
const (
	ServiceDocuments = "documents"
	ServiceCache     = "cache"
	ServiceBroker    = "broker"
)

const (
	// maxMessage is the longest message between units, in bytes.
	maxMessage = 4 << 20
	// drain is how long calls in flight have when a unit ends.
	drain = 10 * time.Second
	// pool is how many connections a client over HTTP keeps.
	pool = 64
)

// Run is a unit of social until it is told to stop (by command, by SIGTERM, or because
// the conductor is gone), or fills the stores and ends.
func Run(channel *unit.Channel, argument string) error {
	var job Job
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		return fmt.Errorf("read job %q: %w", argument, err)
	}
	design, err := architecture.New(job.Architecture, job.Knobs)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	place := Place{Documents: os.Getenv(lab.ServiceVariable(ServiceDocuments)),
		Cache:  os.Getenv(lab.ServiceVariable(ServiceCache)),
		Broker: os.Getenv(lab.ServiceVariable(ServiceBroker)), Peer: unit.PeerAddress}
	if job.Unit == "" {
		people, err := population.New(job.Users, job.Links)
		if err != nil {
			return err
		}
		return Fill(ctx, design, place.Documents, people)
	}
	u, err := Open(ctx, design, job.Unit, place)
	if err != nil {
		return err
	}
	address, err := unit.Address()
	if err == nil {
		err = channel.Serve(ctx, stop, address, u.Serve,
			func(c *unit.Channel) error { return c.Report(struct{}{}) })
	}
	return errors.Join(err, u.Close())
}

// Place is where a unit finds what it needs.
type Place struct {
	Documents, Cache, Broker string // addresses
	// Peer is the host:port of another unit, or of all its replicas.
	Peer func(unit string) (string, error)
	// LogError is told what fails inside; nil: standard error is.
	LogError func(error)
}

// Unit is a unit that is joined.
type Unit struct {
	design  architecture.Design
	unit    architecture.Unit
	place   Place
	parts   *parts.All
	stores  map[string]document.Store // by component
	cache   *cache.Cache
	broker  broker.Client
	clients map[string]rpc.Client // by unit
	fillers []filler              // of the unit in front: see connectFillers
}

// Open joins a unit of a design.
func Open(ctx context.Context, design architecture.Design, name string, place Place) (u *Unit, err error) {
	i := slices.IndexFunc(design.Units, func(u architecture.Unit) bool { return u.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the design has no unit %q", name)
	}
	if place.LogError == nil {
		place.LogError = func(err error) { fmt.Fprintln(os.Stderr, name+":", err) }
	}
	u = &Unit{design: design, unit: design.Units[i], place: place, parts: &parts.All{},
		stores: map[string]document.Store{}, clients: map[string]rpc.Client{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("unit %s: %w", name, err), u.Close())
		}
	}()
	for _, part := range u.unit.Parts {
		if u.design.Keeps(part) {
			if u.stores[part], err = OpenStore(ctx, place.Documents, part); err != nil {
				return nil, err
			}
		}
	}
	if design.Cache && slices.Contains(u.unit.Parts, parts.PostsName) {
		if u.cache, err = cache.Open(ctx, place.Cache, cache.Options{}); err != nil {
			return nil, err
		}
	}
	if design.SpeaksToBroker(u.unit) {
		if u.broker, err = openBroker(ctx, design, place.Broker); err != nil {
			return nil, err
		}
	}
	for _, peer := range design.Peers(u.unit) {
		if u.clients[peer], err = u.connect(peer); err != nil {
			return nil, err
		}
	}
	if err = u.connectFillers(); err != nil {
		return nil, err
	}
	for _, part := range parts.Names() {
		if slices.Contains(u.unit.Parts, part) {
			u.host(part)
		} else if client := u.clients[design.Hosting(part).Name]; client != nil {
			u.parts.Connect(client, part)
		}
	}
	return u, nil
}

// host makes a component of this unit. What it stands on comes before it in parts.Names.
func (u *Unit) host(part string) {
	all, store := u.parts, u.stores[part]
	switch part {
	case parts.UsersName:
		all.Users = graph.NewUsers(store)
	case parts.SocialGraphName:
		all.SocialGraph = graph.NewGraph(store, all.Users)
	case parts.UniqueIDsName:
		all.UniqueIDs = content.NewIDs(os.Getpid())
	case parts.ShortURLsName:
		all.ShortURLs = content.NewShortURLs(store)
	case parts.TextsName:
		all.Texts = content.NewTexts(all.Users, all.ShortURLs)
	case parts.MediaName:
		all.Media = content.NewMedia(u.design.ThirdParty)
	case parts.PostsName:
		all.Posts = posts.New(store, u.cache)
	case parts.UserTimelinesName:
		all.UserTimelines = timelines.NewUser(store, all.Posts, all.Users)
	case parts.HomeTimelinesName:
		all.HomeTimelines = timelines.NewHome(store, all.SocialGraph, all.UserTimelines, all.Posts, all.Users)
	case parts.ComposerName:
		var fanOut compose.FanOut = all.HomeTimelines
		if u.broker != nil {
			fanOut = timelines.Announcer{Broker: u.broker}
		}
		all.Composer = compose.New(all, fanOut)
	}
}

// connect makes the client of another unit; it dials when it is first used.
func (u *Unit) connect(name string) (rpc.Client, error) {
	addresses, err := u.place.Peer(name)
	if err != nil {
		return nil, err
	}
	return rpc.Spread(addresses, u.connectTo)
}

// connectTo makes the client of the unit at an address.
func (u *Unit) connectTo(address string) (rpc.Client, error) {
	if u.design.Calls == architecture.GRPC {
		return grpcgo.NewClient(address, social.Faults{})
	}
	return nethttp.NewClient(address, pool, social.Faults{}), nil
}

// Parts returns the components as this unit sees them.
func (u *Unit) Parts() *parts.All { return u.parts }

// Handler returns the public interface of the unit in front.
func (u *Unit) Handler() http.Handler {
	public := gateway.NewHandler(gateway.Backend{Parts: u.parts, Healthy: u.healthy, LogError: u.place.LogError})
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

// healthy is nil when every unit that this one calls accepts connections: each opens its
// stores before it listens.
func (u *Unit) healthy(ctx context.Context) error {
	for name := range u.clients {
		addresses, err := u.place.Peer(name)
		if err != nil {
			return err
		}
		if err := rpc.Reachable(ctx, addresses); err != nil {
			return err
		}
	}
	return nil
}

// Serve answers until ctx ends, and then what is under way: clients in front, else other
// units.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	if u.broker != nil && slices.Contains(u.unit.Parts, parts.HomeTimelinesName) {
		defer u.takeAnnounced(ctx)()
	}
	if u.unit.Name == u.design.Front().Name {
		return gateway.Serve(ctx, listener, u.Handler())
	}
	var server interface {
		grpc.ServiceRegistrar
		Serve(net.Listener) error
		Shutdown(context.Context) error
	} = nethttp.NewServer(maxMessage, social.Faults{})
	if u.design.Calls == architecture.GRPC {
		server = grpcgo.NewServer(maxMessage, social.Faults{})
	}
	for _, part := range u.unit.Parts {
		u.parts.Register(server, part)
	}
	if u.broker != nil {
		event.OfferTaken(server, u.broker)
	}
	return rpc.Serve(ctx, listener, server, drain)
}

// Close closes the unit's connections. It serves no more.
func (u *Unit) Close() error {
	var errs []error
	for _, store := range u.stores {
		if store != nil {
			errs = append(errs, store.Close())
		}
	}
	if u.cache != nil {
		errs = append(errs, u.cache.Close())
	}
	if u.broker != nil {
		errs = append(errs, u.broker.Close())
	}
	for _, c := range u.clients {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	for _, f := range u.fillers {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// OpenStore opens the documents of a component: each has a database of its own.
func OpenStore(ctx context.Context, address, part string) (document.Store, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of the document store is not a URL")
	}
	database := social.Name + "_" + strings.ReplaceAll(part, "-", "_")
	config := document.Config{Driver: document.SQLite, DSN: filepath.Join(u.Path, database+".db")}
	if u.Scheme != string(document.SQLite) {
		u.Path = "/" + database
		config = document.Config{Driver: document.Mongo, DSN: u.String()}
	}
	store, err := document.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return store, store.Declare(ctx, CollectionOf(part))
}

// CollectionOf returns what a component keeps.
func CollectionOf(part string) document.Collection {
	return map[string]document.Collection{
		parts.UsersName: graph.UsersCollection, parts.SocialGraphName: graph.EdgesCollection,
		parts.ShortURLsName: content.ShortURLsCollection,
		parts.PostsName:     posts.Collection, parts.UserTimelinesName: timelines.UserCollection,
		parts.HomeTimelinesName: timelines.HomeCollection,
	}[part]
}

// batch is how many documents are written at once when stores are filled.
const batch = 1000

// Fill makes the stores of a design, with the users and links of a population.
func Fill(
	ctx context.Context, design architecture.Design, address string, people *population.Population,
) error {
	documents := map[string][]document.Document{}
	for user := 1; user <= people.Users; user++ {
		documents[parts.UsersName] = append(documents[parts.UsersName], graph.UserDocument(population.User(user)))
		for _, friend := range people.Friends[user] {
			edge := graph.EdgeDocument(population.User(user).GetId(), population.User(friend).GetId())
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
		for some := range slices.Chunk(documents[part], batch) {
			if err == nil {
				_, err = store.Upsert(ctx, CollectionOf(part).Name, some...)
			}
		}
		if err = errors.Join(err, store.Close()); err != nil {
			return fmt.Errorf("fill the store of %s: %w", part, err)
		}
	}
	return nil
}
