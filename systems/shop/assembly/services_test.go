package assembly_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// shape is a shop that must pass the suite.
type shape struct {
	of     string // its architecture
	turned map[string]string
}

// knobs returns knobs from pairs of a name and a value.
func knobs(pairs ...string) map[string]string {
	all := map[string]string{}
	for pair := range slices.Chunk(pairs, 2) {
		all[pair[0]] = pair[1]
	}
	return all
}

// inSchemas returns knobs of a shop that gives each component a schema in one database.
func inSchemas(pairs ...string) map[string]string {
	return knobs(append(pairs, "data", "schemas", "database", "postgres")...)
}

// TestServicesBehave plays the architectures that differ in their statements on every database, and those
// that differ in their calls alone on one.
func TestServicesBehave(t *testing.T) {
	shapes := map[string]shape{
		"sync-grpc": {architecture.SyncGRPC, nil}, "sync-grpc-tuned": {architecture.SyncGRPCTuned, nil},
		"two-phase, mariadb": {architecture.Sync,
			knobs("coordination", "two-phase", "database", "mariadb")},
		"two-phase, mariadb, an ORM": {architecture.Sync, knobs("coordination", "two-phase",
			"database", "mariadb", "data-access", "orm")},
		"two-phase, schemas":         {architecture.Sync, inSchemas("coordination", "two-phase")},
		"schemas":                    {architecture.Monolith, inSchemas()},
		"schemas, ACID beside reads": {architecture.Monolith, inSchemas("placement", "catalog,customers")},
		"schemas, sync":              {architecture.Sync, inSchemas()},
		"schemas, saga in one unit":  {architecture.SyncGRPC, inSchemas("placement", "together")},
		"schemas, async":             {architecture.Async, inSchemas()},
	}
	for _, driver := range database.Drivers() {
		for name, s := range map[string]shape{
			"monolith": {architecture.Monolith, knobs()}, "monolith-tuned": {architecture.MonolithTuned, knobs()},
			"sync": {architecture.Sync, knobs()}, "sync-tuned": {architecture.SyncTuned, knobs()},
			"a shared database": {architecture.SyncGRPCTuned, knobs("data", "shared")},
			"an ORM":            {architecture.Sync, knobs("data-access", "orm")},
		} {
			s.turned["database"] = string(driver)
			shapes[name+", "+string(driver)] = s
		}
	}
	playShapes(t, shapes)
}

// TestOtherShapesBehave turns single knobs, as a rule on embedded parts.
func TestOtherShapesBehave(t *testing.T) {
	testset.Need(t, "it plays the suite for many more shapes")
	shapes := map[string]shape{
		"sync with a replica, mariadb": {architecture.Sync,
			knobs("reference", "replicated", "database", "mariadb", "broker", "rabbitmq")},
		"sync with a replica, postgres": {architecture.Sync,
			knobs("reference", "replicated", "database", "postgres")},
		"sync-tuned with a replica, postgres": {architecture.SyncTuned,
			knobs("reference", "replicated", "database", "postgres")},
		"async-tuned, asked": {architecture.AsyncTuned, knobs("reference", "asked", "broker", "rabbitmq-classic")},
	}
	for name, turned := range map[string]map[string]string{
		"http-unix, protobuf":     knobs("binding", "http-unix", "encoding", "protobuf"),
		"grpc-unix":               knobs("binding", "grpc-unix"),
		"http-lean-unix":          knobs("binding", "http-lean-unix"),
		"grpc-lean-unix, msgpack": knobs("binding", "grpc-lean-unix", "encoding", "msgpack"),
		"grouped":                 knobs("placement", "orders+catalog,inventory+payments"),
		"batches":                 knobs("batching", "on"),
		"a cache":                 knobs("views", "cached"),
		"saga in one unit":        knobs("placement", "together"),
		"cached in one unit":      knobs("placement", "together", "views", "cached"),
		"an ORM, batches in one transaction": knobs("data-access", "orm", "placement", "together", "batching", "on",
			"coordination", "acid", "data", "shared"),
		"ACID beside reads":   knobs("placement", "catalog,customers", "coordination", "acid", "data", "shared"),
		"sync with a replica": knobs("reference", "replicated"),
	} {
		shapes[name] = shape{architecture.Sync, turned}
	}
	for name, turned := range map[string]map[string]string{
		"together":             knobs("placement", "together"),
		"apart, no views":      knobs("views", "tables"),
		"together, no views":   knobs("placement", "together", "views", "tables"),
		"a shared database":    knobs("data", "shared"),
		"grouped":              knobs("placement", "orders+orderviews,inventory+payments+shipping"),
		"batches, together":    knobs("placement", "together", "batching", "on"),
		"dual writes":          knobs("publishing", "dual-write"),
		"dual writes, batches": knobs("publishing", "dual-write", "batching", "on"),
		"commands, batches, dual writes": knobs("coordination", "orchestrated-broker", "batching", "on",
			"publishing", "dual-write"),
		"an ORM": knobs("data-access", "orm"),
		"an ORM, commands, batches": knobs("data-access", "orm", "coordination", "orchestrated-broker",
			"batching", "on"),
		"one message at a time": knobs("prefetch", "1", "batching", "on"),
		"asked":                 knobs("reference", "asked"),
	} {
		shapes["events, "+name] = shape{architecture.Async, turned}
	}
	playShapes(t, shapes)
}

// TestEventsBehave plays every database with NATS, and every broker with one database: databases and brokers
// do not affect each other.
func TestEventsBehave(t *testing.T) {
	shapes := map[string]shape{
		"postgres, commands": {architecture.Async,
			knobs("database", "postgres", "coordination", "orchestrated-broker")},
		"rabbitmq":         {architecture.Async, knobs("broker", "rabbitmq")},
		"rabbitmq-classic": {architecture.Async, knobs("broker", "rabbitmq-classic")},
		"mongo":            {architecture.Async, knobs("documents", "mongo")},
	}
	for _, driver := range database.Drivers() {
		for _, batches := range []string{"off", "on"} {
			shapes[string(driver)+", batches "+batches] = shape{architecture.Async,
				knobs("database", string(driver), "batching", batches)}
		}
	}
	playShapes(t, shapes)
}

// playShapes plays the suite for shops, side by side but for those on RabbitMQ, whose server is one for all.
func playShapes(t *testing.T, shapes map[string]shape) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			design := designOf(t, s.of, s.turned)
			if design.Broker == "" || design.Broker == architecture.BrokerNATS {
				t.Parallel()
			}
			_, public := start(t, design, eventParts{})
			playSuite(t, public)
		})
	}
}

func designOf(t *testing.T, name string, turned map[string]string) architecture.Design {
	t.Helper()
	design, err := architecture.New(name, turned)
	testset.Must(t, err)
	return design
}

// shopOf is a shop whose units run in this process, each with its own listener.
type shopOf struct {
	design    architecture.Design
	config    func(name string) database.Config // by the names of Design.DatabaseOf and OpenedBy
	listeners map[string]net.Listener           // by unit
	around    eventParts
}

// start starts all units of a design until the test ends, on databases, a broker and a document store of the
// kinds that it names, and returns them with the address of the public interface.
func start(t *testing.T, design architecture.Design, around eventParts) (shopOf, string) {
	t.Helper()
	s := shopOf{design: design, config: places(t, design), listeners: map[string]net.Listener{},
		around: around.completed(t, design)}
	for _, component := range shop.Components() {
		s.fill(t, component)
	}
	for _, unit := range design.Units {
		s.listeners[unit.Name] = s.listen(t)
	}
	public := ""
	for _, unit := range design.Units {
		hosted, err := assembly.Host(design, unit, s.surroundings(t, unit))
		testset.Must(t, err)
		s.serve(t, unit, hosted)
		background(t, hosted, around.logError)
		if slices.Contains(unit.Components, shop.ComponentOrders) {
			if around.wrapCatalog != nil {
				hosted.Catalog = around.wrapCatalog(hosted.Catalog)
			}
			public = s.publish(t, hosted)
		}
	}
	return s, public
}

// places makes the databases of a design and returns their configurations, by name.
func places(t *testing.T, design architecture.Design) func(name string) database.Config {
	t.Helper()
	driver := database.Driver(design.Database)
	if design.Data == architecture.OwnSchemas {
		where := databasetest.Around(t, databasetest.Fresh(t, driver))
		for _, component := range shop.Components() {
			testset.Must(t, where.Create(t.Context(), design.DatabaseOf(component)))
		}
		return func(name string) database.Config { return where.Config(name, design.Pool) }
	}
	databases := map[string]database.Config{}
	for _, component := range shop.Components() {
		if name := design.DatabaseOf(component); databases[name].DSN == "" {
			databases[name] = databasetest.Fresh(t, driver)
		}
	}
	return func(name string) database.Config { return databases[name] }
}

// database returns the databases of one unit, or of the test itself, by component. named returns the name of
// a component's database. Units share no connections, as processes share none.
func (s shopOf) database(
	t *testing.T, named func(component string) string,
) func(component string) *database.DB {
	opened := map[string]*database.DB{}
	return func(component string) *database.DB {
		name := named(component)
		if opened[name] == nil {
			opened[name] = databasetest.Open(t, s.config(name))
		}
		return opened[name]
	}
}

// fill makes a component's tables and the suite's shop in them.
func (s shopOf) fill(t *testing.T, component string) {
	t.Helper()
	db, err := database.Open(t.Context(), s.config(s.design.DatabaseOf(component)))
	testset.Must(t, err)
	testset.Must(t, assembly.PrepareComponent(t.Context(), s.design, component, db, suiteSeed()))
	testset.Must(t, db.Close())
}

func (s shopOf) listen(t *testing.T) net.Listener {
	t.Helper()
	network, place := "tcp", "127.0.0.1:0"
	if s.design.Binding.OverUnix() {
		network = "unix"
		place = t.TempDir() + "/s"
	}
	listener, err := net.Listen(network, place)
	testset.Must(t, err)
	return listener
}

// call returns clients of the units that host components.
func (s shopOf) call(t *testing.T) func(component string) grpc.ClientConnInterface {
	return func(component string) grpc.ClientConnInterface {
		unit := s.design.Hosting(component).Name
		address := s.listeners[unit].Addr().String()
		if s.design.Binding.OverUnix() {
			address = "unix:" + address
		}
		client, err := assembly.Calls(s.design.Binding).NewClient(unit, address)
		testset.Must(t, err)
		t.Cleanup(func() { testset.Must(t, client.Close()) })
		return client
	}
}

// serve offers what a unit hosts to the other units.
func (s shopOf) serve(t *testing.T, unit architecture.Unit, hosted assembly.Hosted) {
	t.Helper()
	server, err := assembly.Calls(s.design.Binding).NewServer(rpc.Serving{LogError: func(err error) {
		t.Logf("in unit %s: %v", unit.Name, err)
	}})
	testset.Must(t, err)
	for _, offer := range hosted.Offers {
		offer(server)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listeners[unit.Name]) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		testset.Must(t, errors.Join(server.Shutdown(ctx), <-ended))
	})
}

// background runs the background work of a unit. Without logError any error but a deadline, which a slow host
// may miss, fails the test.
func background(t *testing.T, hosted assembly.Hosted, logError func(error)) {
	if logError == nil {
		logError = func(err error) {
			if !shop.IsKind(err, rpc.DeadlineExceeded) {
				t.Errorf("in the background: %v", err)
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, work := range hosted.Background {
		all.Go(func() { work(ctx, logError) })
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
}

// publish serves the public interface.
func (s shopOf) publish(t *testing.T, hosted assembly.Hosted) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	handler := api.NewHandler(hosted.Parts, nil, func(err error) { t.Logf("in front: %v", err) })
	go func() { ended <- api.Serve(ctx, listener, handler) }()
	t.Cleanup(func() {
		stop()
		testset.Must(t, <-ended)
	})
	return "http://" + listener.Addr().String()
}
