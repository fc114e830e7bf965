package assembly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/systems/shop/shoppb"
)

// UnitJob is the job of one process of the shop, as JSON.
type UnitJob struct {
	Architecture string            `json:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty"`
	// Unit is the kind of unit to run.
	Unit string `json:"unit,omitempty"`
	// Prepare is the shop with which to make and fill the tables. The process then ends and runs no unit.
	Prepare *shop.Seed `json:"prepare,omitempty"`
}

// Place holds the addresses and the folder that a deployer gives a process.
type Place struct {
	Dir string // the unit's folder
	// Peer returns the host:port of another unit by its instance's name, or that of all its replicas; see
	// rpc.Spread.
	Peer func(instance string) (string, error)
	// Service returns the address of a backing service by its name.
	Service func(name string) (string, error)
	// Mapped gives access to the tables of components by an ORM; nil in programs without one.
	Mapped Stores
}

// The backing services that units ask for.
const (
	ServiceDatabase  = "database"
	ServiceBroker    = "broker"
	ServiceDocuments = "documents"
)

// Report counts the work of a unit since it was started.
type Report struct {
	hosting.Report
	// Kind is that of the unit.
	Kind string `json:"kind"`
	// Databases are the counters of each database that the unit used.
	Databases map[string]database.Counters `json:"databases,omitempty"`
	// Messages counts the messages that the unit published and received; nil without a broker.
	Messages *Messages `json:"messages,omitempty"`
	// CallBytes counts the bytes, in both directions, of the calls from other units on
	// their connections: with the headers of the protocol, without those of TCP.
	CallBytes int64 `json:"call_bytes,omitempty"`
	// Calls counts the calls to other units, by the kind of unit.
	Calls map[string]int64 `json:"calls,omitempty"`
	// SyncsBefore is the result of database.Syncs when the unit was started; nil if it is unknown, or without
	// the orders.
	SyncsBefore *int64 `json:"syncs_before,omitempty"`
}

// Messages counts messages, and the bytes of their bodies.
type Messages struct {
	Published int64 `json:"published"`
	Delivered int64 `json:"delivered"`
	Bytes     int64 `json:"bytes"` // published and delivered
}

// Prepare makes the databases of a design, and its document store if it has one, and fills them with a fresh
// shop.
func Prepare(ctx context.Context, design architecture.Design, place Place, seed shop.Seed) (err error) {
	where, err := at(place, ServiceDatabase, database.ParsePlace)
	if err != nil {
		return err
	}
	owned := map[string][]string{} // components by database
	for _, component := range shop.Components() {
		name := design.DatabaseOf(component)
		owned[name] = append(owned[name], component)
	}
	if err := where.Create(ctx, slices.Sorted(maps.Keys(owned))...); err != nil {
		return err
	}
	for name, components := range owned {
		if err := fill(ctx, design, where.Config(name, 1), seed, components); err != nil {
			return fmt.Errorf("prepare database %s: %w", name, err)
		}
	}
	if design.Documents == "" {
		return nil
	}
	documents, err := at(place, ServiceDocuments, func(address string) (document.Store, error) {
		return OpenDocuments(ctx, address)
	})
	if err != nil {
		return err
	}
	return errors.Join(PrepareDocuments(ctx, documents, seed), documents.Close())
}

// at opens a backing service at the address that the deployer gives.
func at[C any](place Place, service string, open func(address string) (C, error)) (C, error) {
	address, err := place.Service(service)
	if err != nil {
		var none C
		return none, err
	}
	return open(address)
}

// Databases holds the database of each component of a design, by component. Components may share one.
type Databases map[string]*database.DB

// OpenDatabases opens the databases of a design for reading, at the address of their server. On error none is
// left open.
func OpenDatabases(ctx context.Context, design architecture.Design, address string) (Databases, error) {
	place, err := database.ParsePlace(address)
	if err != nil {
		return nil, err
	}
	all := Databases{}
	byName := map[string]*database.DB{}
	for _, component := range shop.Components() {
		name := design.DatabaseOf(component)
		if byName[name] == nil {
			db, err := database.Open(ctx, place.Config(name, 1))
			if err != nil {
				return nil, errors.Join(err, all.Close())
			}
			byName[name] = db
		}
		all[component] = byName[name]
	}
	return all, nil
}

// Close closes each of them, once.
func (d Databases) Close() error {
	closed := map[*database.DB]bool{}
	var errs []error
	for _, db := range d {
		if !closed[db] {
			closed[db] = true
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// OpenBroker returns a client of the broker of a design at an address.
func OpenBroker(design architecture.Design, address string) (broker.Client, error) {
	return broker.Open(broker.Config{URL: address, Classic: design.Broker == architecture.BrokerClassic})
}

// viewsName is the database, or the file, of the read models.
const viewsName = "views"

// OpenDocuments returns a client of the document store at an address: sqlite:///folder or
// mongodb://...
func OpenDocuments(ctx context.Context, address string) (document.Store, error) {
	return document.Open(ctx, address, viewsName)
}

// fill makes and fills the tables of some components.
func fill(
	ctx context.Context, design architecture.Design, config database.Config, seed shop.Seed, components []string,
) (err error) {
	db, err := database.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if design.Coordination == architecture.TwoPhase {
		if err := db.CheckPrepare(ctx); err != nil {
			return fmt.Errorf("%s %s: %w", architecture.KnobCoordination, design.Coordination, err)
		}
	}
	for _, component := range components {
		if err := PrepareComponent(ctx, design, component, db, seed); err != nil {
			return err
		}
	}
	return nil
}

// Unit is a process of the shop; it implements hosting.Served.
type Unit struct {
	hosting.Unit
	design  architecture.Design
	kind    architecture.Unit
	place   Place
	where   database.Place
	opened  map[string]*database.DB // by the names that Design.OpenedBy returns
	callees callees
	around  Surroundings
	hosted  Hosted

	lookers     lookers
	observed    *observation.Log // nil if the unit observes nothing
	callBytes   atomic.Int64
	syncsBefore *int64
}

var _ hosting.Served = (*Unit)(nil)

// Open returns a unit of a design, with its databases and services open and its components joined. Background
// work and requests log their errors to standard error.
func Open(
	ctx context.Context, design architecture.Design, kind, instance string, place Place,
) (*Unit, error) {
	u, err := newUnit(design, kind, instance, place)
	if err != nil {
		return nil, err
	}
	if err := u.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("unit %s: %w", instance, err), u.Close())
	}
	u.hosted, err = Host(design, u.kind, u.around)
	if err = errors.Join(err, u.callees.err); err != nil {
		return nil, errors.Join(err, u.Close())
	}
	return u, nil
}

func newUnit(design architecture.Design, kind, instance string, place Place) (*Unit, error) {
	of, err := design.Unit(kind)
	if err != nil {
		return nil, err
	}
	where, err := at(place, ServiceDatabase, database.ParsePlace)
	if err != nil {
		return nil, err
	}
	u := &Unit{design: design, kind: of, place: place, where: where, opened: map[string]*database.DB{},
		callees: callees{clients: map[string]grpc.ClientConnInterface{}, calls: map[string]*atomic.Int64{}}}
	// A repeated step finds its entry in a journal and does nothing, but a transaction can be prepared only
	// once under its name.
	repeatable := func(method string) bool { return method != shoppb.Participant_Prepare_FullMethodName }
	u.Unit, err = hosting.NewUnit(instance, kind, place.Dir, design.Settings, Calls(design.Binding), repeatable)
	if err != nil {
		return nil, err
	}
	u.Peer = u.peer
	u.Keep(&u.lookers)
	return u, nil
}

// open opens the databases of the components that the unit hosts, and its clients
// of the other services.
func (u *Unit) open(ctx context.Context) (err error) {
	for _, component := range u.kind.Components {
		name := u.design.OpenedBy(u.kind, component)
		// Read models are not in shop.Components: they have no tables of their own.
		if u.opened[name] != nil || !slices.Contains(shop.Components(), component) {
			continue
		}
		db, err := database.Open(ctx, u.where.Config(name, u.design.Pool))
		if err != nil {
			return err
		}
		u.opened[name] = db
		u.Keep(db)
	}
	u.around = Surroundings{Database: u.database, Call: u.call, Process: u.Name, Tracer: u.tracer(),
		Mapped: u.place.Mapped}
	if err := u.observe(ctx); err != nil {
		return err
	}
	if u.design.NeedsBroker(u.kind) {
		u.around.Broker, err = at(u.place, ServiceBroker, func(address string) (broker.Client, error) {
			return OpenBroker(u.design, address)
		})
		if err != nil {
			return err
		}
		u.Keep(u.around.Broker)
	}
	if u.design.Documents != "" {
		u.around.Documents, err = at(u.place, ServiceDocuments, func(address string) (document.Store, error) {
			return OpenDocuments(ctx, address)
		})
		if err != nil {
			return err
		}
		u.Keep(u.around.Documents)
	}
	return Declare(ctx, u.design, u.around)
}

func (u *Unit) database(component string) *database.DB {
	return u.opened[u.design.OpenedBy(u.kind, component)]
}

// publicComponent is the component that answers clients, as the spans of components name it.
const publicComponent = "front"

// Serve implements hosting.Served: it answers requests of clients if the unit hosts the orders, else those of
// other units.
func (u *Unit) Serve(ctx context.Context, listener net.Listener) error {
	// Background work outlives the last request: requests may wake it.
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	for _, work := range u.hosted.Background {
		background.Go(func() { work(beside, u.LogError) })
	}
	defer func() {
		stop()
		background.Wait()
	}()
	if !u.kind.Hosts(shop.ComponentOrders) {
		return u.serveUnits(ctx, listener)
	}
	public := u.Log.Handler(api.NewHandler(u.hosted.Parts, u.healthy, u.LogError))
	return api.Serve(ctx, listener, u.withSettled(ctx, front.Traced(public, u.Spans, publicComponent)))
}

// healthy returns nil if the databases and units that this one needs answer.
func (u *Unit) healthy(ctx context.Context) error {
	for _, db := range u.opened {
		if err := db.Ping(ctx); err != nil {
			return err
		}
	}
	return u.Healthy(ctx)
}
