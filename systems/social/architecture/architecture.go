// Package architecture holds the designs of social: which components share a unit, which
// protocol carries calls between units, whether posts are cached, and when home timelines are
// filled. An architecture is data: a name for a set of knobs, each of which can also be
// turned alone. It starts nothing.
//
// Entry points: Catalogue, New.
package architecture

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/parts"
)

// The architectures.
const (
	Monolith = "monolith"
	Services = "services"
)

// The knobs.
const (
	KnobPlacement  = "placement"
	KnobCalls      = "calls"
	KnobCache      = "cache"
	KnobCacheStore = "cache_store"
	KnobTimelines  = "timeline_cache"
	KnobFanOut     = "fan_out"
	KnobFanOutBy   = "fan_out_by"
	KnobBroker     = "broker"
	KnobDocuments  = "documents"
	KnobFront      = "front"
	KnobMedia      = "media_check"
)

// Values of knobs.
const (
	GRPC      = "grpc"
	HTTP      = "http"
	off       = "off"
	LookAside = "look-aside"
	OnWrite   = "write"
	OnRead    = "read"
	ByCalls   = "calls"
	ByEvents  = "events"
	NATS      = "nats"
	RabbitMQ  = "rabbitmq"
	none      = "none"
	Nginx     = "nginx"
	Memory    = "memory"
	Redis     = "redis"
	Memcached = "memcached"
	SQLite    = "sqlite"
	Mongo     = "mongo"
	Own       = "own"
	Third     = "third-party"
)

// UnitFront names the public interface in placements, and its unit unless that has all components.
const UnitFront = "front"

// Design is a complete description of how social is built.
type Design struct {
	kit.Units // the first has the public interface
	kit.Settings

	Calls      string
	Cache      bool   // posts are cached, look-aside
	CacheStore string // kind of the cache
	Timelines  bool   // units that keep timelines cache their newest ids in memory
	OnRead     bool   // home timelines are gathered when they are read
	Broker     string // kind of the broker that fills home timelines; empty: calls fill them
	Documents  string // kind of the document store
	Nginx      bool   // nginx is in front
	ThirdParty bool   // posts with media wait for another company's check
}

// knobs returns the knobs of social, the default value of each first.
func knobs() []lab.Knob {
	return slices.Concat([]lab.Knob{
		{Name: KnobPlacement, Values: []string{kit.Apart, kit.Together}, Free: true,
			Summary: "apart, together, or groups such as front+compose,posts+media (the rest: one unit)",
			Means:   map[string]string{kit.Together: "one process", kit.Apart: "a process per service"}},
		{Name: KnobCalls, Values: []string{GRPC, HTTP},
			Summary: "what carries calls between units: grpc-go, or net/http with JSON",
			Means:   map[string]string{HTTP: "calls over HTTP", GRPC: "calls over gRPC"}},
	}, kit.CallKnobs(), []lab.Knob{
		kit.Logging(), kit.Spans(kit.SpansOff, "requests"),
		{Name: KnobCache, Values: []string{off, LookAside},
			Summary: "whether posts that were read are kept in a cache",
			Means:   map[string]string{off: "no cache", LookAside: "a cache"}},
		{Name: KnobCacheStore, Values: []string{Memory, Redis, Memcached},
			Summary: "the cache: in the unit itself, or a server"},
		{Name: KnobTimelines, Values: []string{off, Memory},
			Summary: "whether a unit has the newest ids of its timelines in memory, beside the store; it has no " +
				"replicas then",
			Means: map[string]string{off: "timelines read from the store", Memory: "timelines in memory"}},
		{Name: KnobFanOut, Values: []string{OnWrite, OnRead},
			Summary: "home timelines are filled when somebody posts, or gathered when somebody reads",
			Means: map[string]string{OnWrite: "timelines filled at each post",
				OnRead: "timelines gathered at each read"}},
		{Name: KnobFanOutBy, Values: []string{ByCalls, ByEvents},
			Summary: "who posts waits until home timelines are filled, or leaves it to a broker",
			Means:   map[string]string{ByCalls: "calls", ByEvents: "events"}},
		{Name: KnobBroker, Values: []string{NATS, RabbitMQ}, Summary: "the broker of events"},
		{Name: KnobDocuments, Values: []string{SQLite, Mongo},
			Summary: "what keeps users, links, posts and timelines"},
		{Name: KnobFront, Values: []string{none, Nginx}, Summary: "what is in front of the public interface"},
		{Name: KnobMedia, Values: []string{Own, Third},
			Summary: "who looks at media: the unit alone, or somebody else's service too (a stand-in: 100 ms over " +
				"HTTP, 4 connections per unit)"},
	})
}

// Catalogue returns the architectures of social.
func Catalogue() kit.Catalogue {
	return kit.Catalogue{System: social.Name, Knobs: knobs(), Presets: []kit.Preset{
		{Name: Monolith, Summary: "all components in one unit",
			Settings: map[string]string{KnobPlacement: kit.Together}},
		{Name: Services, Summary: "a unit for each of the ten components, and one in front"},
	}}
}

// Backed returns the settings of knobs that put a variant on these kinds of backings. A cache among them
// turns caching on, and a broker turns events on.
func Backed(v lab.Variant, kinds []string) (map[string]string, error) {
	turned, err := Catalogue().OnBackings(v, kinds, KnobDocuments, KnobBroker, KnobCacheStore)
	if turned[KnobCacheStore] != "" {
		turned[KnobCache] = LookAside
	}
	if turned[KnobBroker] != "" {
		turned[KnobFanOutBy] = ByEvents
	}
	return turned, err
}

// New returns the design of an architecture with some knobs turned.
func New(name string, turned map[string]string) (Design, error) {
	settings, err := Catalogue().Settings(name, turned)
	if err != nil {
		return Design{}, err
	}
	d := Design{
		Calls: settings[KnobCalls], Cache: settings[KnobCache] == LookAside, CacheStore: settings[KnobCacheStore],
		Timelines: settings[KnobTimelines] == Memory,
		OnRead:    settings[KnobFanOut] == OnRead, Documents: settings[KnobDocuments],
		Nginx: settings[KnobFront] == Nginx, ThirdParty: settings[KnobMedia] == Third,
	}
	if settings[KnobFanOutBy] == ByEvents {
		if d.OnRead {
			return Design{}, fmt.Errorf("architecture %s: %s=%s has nothing to announce: with %s=%s no home "+
				"timeline is filled", name, KnobFanOutBy, ByEvents, KnobFanOut, OnRead)
		}
		d.Broker = settings[KnobBroker]
	}
	var unplaced, unread error
	d.Units, unplaced = kit.PlaceBehind(settings[KnobPlacement], UnitFront, social.Name, parts.Names())
	d.Settings, unread = kit.ReadSettings(settings)
	if err := errors.Join(unplaced, unread, kit.CheckCalls(settings, len(d.Units))); err != nil {
		return Design{}, fmt.Errorf("architecture %s: %w", name, err)
	}
	return d, nil
}

// Needs returns the components that a component, or the front, calls.
func (d Design) Needs(part string) []string {
	switch part {
	case UnitFront:
		return []string{parts.UsersName, parts.SocialGraphName, parts.ShortURLsName, parts.ComposerName,
			parts.UserTimelinesName, parts.HomeTimelinesName}
	case parts.SocialGraphName:
		return []string{parts.UsersName}
	case parts.TextsName:
		return []string{parts.UsersName, parts.ShortURLsName}
	case parts.UserTimelinesName:
		return []string{parts.PostsName, parts.UsersName}
	case parts.HomeTimelinesName:
		needs := []string{parts.SocialGraphName, parts.PostsName, parts.UsersName}
		if d.OnRead {
			needs = append(needs, parts.UserTimelinesName)
		}
		return needs
	case parts.ComposerName:
		needs := []string{parts.UsersName, parts.UniqueIDsName, parts.TextsName, parts.MediaName, parts.PostsName,
			parts.UserTimelinesName}
		if d.Broker == "" {
			needs = append(needs, parts.HomeTimelinesName)
		}
		return needs
	}
	return nil
}

// NeedsBroker reports whether a unit announces posts, consumes announcements, or answers whether all were
// consumed.
func (d Design) NeedsBroker(unit kit.Placed) bool {
	if d.Broker == "" {
		return false
	}
	has := func(part string) bool { return slices.Contains(unit.Components, part) }
	return d.IsFront(unit.Name) || has(parts.ComposerName) || has(parts.HomeTimelinesName)
}

// HasKey reports whether a unit has the key of tokens: the front, which checks tokens, and the unit with
// users, which makes them at logins.
func (d Design) HasKey(unit kit.Placed) bool {
	return d.IsFront(unit.Name) || slices.Contains(unit.Components, parts.UsersName)
}

// AsksThirdParty reports whether a unit calls the third party that checks media.
func (d Design) AsksThirdParty(unit kit.Placed) bool {
	return d.ThirdParty && slices.Contains(unit.Components, parts.MediaName)
}

// Replicable reports whether a unit may have replicas. A cache of timelines sees only the writes of its own
// process. And RabbitMQ does not report unacknowledged messages: if the front itself fills home timelines, a
// replica of it cannot answer for the others when the generator asks whether all posts have been entered.
func (d Design) Replicable(unit kit.Placed) bool {
	if d.Timelines && slices.ContainsFunc(unit.Components, d.hasTimelines) {
		return false
	}
	fillsItself := d.IsFront(unit.Name) && slices.Contains(unit.Components, parts.HomeTimelinesName)
	return d.Broker != RabbitMQ || !fillsItself
}

// Peers returns the other units that one calls.
func (d Design) Peers(unit kit.Placed) []string {
	var peers []string
	own := unit.Components
	if d.IsFront(unit.Name) {
		own = append([]string{UnitFront}, own...)
	}
	for _, part := range own {
		for _, need := range d.Needs(part) {
			if at := d.Hosting(need).Name; at != unit.Name && !slices.Contains(peers, at) {
				peers = append(peers, at)
			}
		}
	}
	return peers
}

// IsCalled reports whether other units call components of a unit.
func (d Design) IsCalled(unit kit.Placed) bool {
	return slices.ContainsFunc(d.Units, func(other kit.Placed) bool {
		return slices.Contains(d.Peers(other), unit.Name)
	})
}

// hasTimelines reports whether a component keeps timelines in a store.
func (d Design) hasTimelines(part string) bool {
	return part == parts.UserTimelinesName || part == parts.HomeTimelinesName && d.Keeps(part)
}

// Keeps reports whether a component keeps documents.
func (d Design) Keeps(part string) bool {
	if part == parts.HomeTimelinesName {
		return !d.OnRead
	}
	return slices.Contains([]string{parts.UsersName, parts.SocialGraphName, parts.UniqueIDsName,
		parts.ShortURLsName, parts.PostsName, parts.UserTimelinesName}, part)
}
