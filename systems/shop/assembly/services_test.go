package assembly_test

import (
	"context"
	"errors"
	"maps"
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
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// TestServicesBehave plays the architectures that differ in their statements on every database, and those
// that differ in their calls alone on one.
func TestServicesBehave(t *testing.T) {
	all, one := database.Drivers(), []database.Driver{database.SQLite}
	shared := map[string]string{architecture.KnobData: "shared"}
	for name, c := range map[string]struct {
		architecture string
		turned       map[string]string
		databases    []database.Driver
	}{
		"monolith":          {architecture.Monolith, nil, all},
		"monolith-tuned":    {architecture.MonolithTuned, nil, all},
		"sync":              {architecture.Sync, nil, all},
		"sync-grpc":         {architecture.SyncGRPC, nil, one},
		"sync-tuned":        {architecture.SyncTuned, nil, all},
		"sync-grpc-tuned":   {architecture.SyncGRPCTuned, nil, one},
		"a shared database": {architecture.SyncGRPCTuned, shared, all},
		"an ORM":            {architecture.Sync, byORM(nil), all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, driver := range c.databases {
				t.Run(string(driver), func(t *testing.T) {
					open := func(t testing.TB) database.Config { return databasetest.Fresh(t, driver) }
					behave(t, c.architecture, c.turned, open)
				})
			}
		})
	}
}

// TestServicesBehaveInOtherShapes turns single knobs, on embedded parts.
func TestServicesBehaveInOtherShapes(t *testing.T) {
	testset.Need(t, "it plays the suite for many more shapes")
	for name, turned := range map[string]map[string]string{
		"http-unix, protobuf":     {architecture.KnobBinding: "http-unix", kit.KnobEncoding: kit.Protobuf},
		"grpc-unix":               {architecture.KnobBinding: "grpc-unix"},
		"http-lean-unix":          {architecture.KnobBinding: "http-lean-unix"},
		"grpc-lean-unix, msgpack": {architecture.KnobBinding: "grpc-lean-unix", kit.KnobEncoding: kit.MessagePack},
		"grouped":                 {architecture.KnobPlacement: "orders+catalog,inventory+payments"},
		"batches":                 {architecture.KnobBatching: "on"},
		"a cache":                 {architecture.KnobViews: string(architecture.FromCache)},
		"saga in one unit":        {architecture.KnobPlacement: "together"},
		"cached in one unit": {architecture.KnobPlacement: "together",
			architecture.KnobViews: string(architecture.FromCache)},
		"an ORM, batches in one transaction": byORM(map[string]string{architecture.KnobPlacement: "together",
			architecture.KnobBatching: "on", architecture.KnobCoordination: "acid",
			architecture.KnobData: "shared"}),
		"ACID beside reads": {architecture.KnobPlacement: "catalog,customers",
			architecture.KnobCoordination: "acid", architecture.KnobData: "shared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(t testing.TB) database.Config { return databasetest.Fresh(t, database.SQLite) }
			behave(t, architecture.Sync, turned, open)
		})
	}
}

// TestTwoPhaseBehaves plays the suite on the databases that prepare transactions.
func TestTwoPhaseBehaves(t *testing.T) {
	testset.Need(t, "it starts database servers")
	for name, c := range map[string]struct {
		driver database.Driver
		turned map[string]string
	}{
		"mariadb":         {database.MariaDB, map[string]string{architecture.KnobDatabase: "mariadb"}},
		"mariadb, an ORM": {database.MariaDB, byORM(map[string]string{architecture.KnobDatabase: "mariadb"})},
		"postgres":        {database.PostgreSQL, inSchemas(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.turned[architecture.KnobCoordination] = string(architecture.TwoPhase)
			open := func(t testing.TB) database.Config { return databasetest.Fresh(t, c.driver) }
			behave(t, architecture.Sync, c.turned, open)
		})
	}
}

// byORM adds an ORM to the knobs that are turned.
func byORM(turned map[string]string) map[string]string {
	all := map[string]string{architecture.KnobAccess: string(architecture.ORM)}
	maps.Copy(all, turned)
	return all
}

// behave holds a design to the behaviour of the shop.
func behave(t *testing.T, name string, turned map[string]string, open func(t testing.TB) database.Config) {
	t.Helper()
	design, err := architecture.New(name, turned)
	if err != nil {
		t.Fatal(err)
	}
	playSuite(t, run(t, design, open))
}

// shopOf is a shop whose units run in this process, each with its own listener.
type shopOf struct {
	design    architecture.Design
	config    func(name string) database.Config // by what Design.DatabaseOf and OpenedBy say
	listeners map[string]net.Listener           // by unit
	around    eventParts
}

// run starts all units of a design until the test ends, and returns the address
// of the public interface.
func run(t *testing.T, design architecture.Design, open func(t testing.TB) database.Config) string {
	t.Helper()
	return runAmong(t, design, open, eventParts{})
}

// runAmong does so for a design that has a broker or documents.
func runAmong(
	t *testing.T, design architecture.Design, open func(t testing.TB) database.Config, around eventParts,
) string {
	t.Helper()
	_, public := start(t, design, open, around)
	return public
}

// start also returns what runs.
func start(
	t *testing.T, design architecture.Design, open func(t testing.TB) database.Config, around eventParts,
) (shopOf, string) {
	t.Helper()
	s := shopOf{design: design, config: places(t, design, open), listeners: map[string]net.Listener{},
		around: around}
	for _, component := range shop.Components() {
		s.fill(t, component)
	}
	for _, unit := range design.Units {
		s.listeners[unit.Name] = s.listen(t)
	}
	public := ""
	for _, unit := range design.Units {
		hosted, err := assembly.Host(design, unit, s.surroundings(t, unit))
		if err != nil {
			t.Fatal(err)
		}
		s.serve(t, unit, hosted)
		background(t, hosted, around.logError)
		if slices.Contains(unit.Components, shop.ComponentOrders) {
			if around.wrapCatalog != nil {
				hosted.Catalog = around.wrapCatalog(hosted.Catalog)
			}
			if around.wrapOrders != nil {
				hosted.Orders = around.wrapOrders(hosted.Orders)
			}
			public = s.publish(t, hosted)
		}
	}
	return s, public
}

// places makes all that holds tables of a design.
func places(
	t *testing.T, design architecture.Design, open func(t testing.TB) database.Config,
) func(name string) database.Config {
	t.Helper()
	if design.Data == architecture.OwnSchemas {
		where := databasetest.Around(t, open(t))
		for _, component := range shop.Components() {
			must(t, where.Create(t.Context(), design.DatabaseOf(component)))
		}
		return func(name string) database.Config { return where.Config(name, design.Pool) }
	}
	databases := map[string]database.Config{}
	for _, component := range shop.Components() {
		if name := design.DatabaseOf(component); databases[name].DSN == "" {
			databases[name] = open(t)
		}
	}
	return func(name string) database.Config { return databases[name] }
}

// database opens the databases of one unit, or of somebody who looks on, by what the
// component's is called: as processes, they share none.
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
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(assembly.PrepareComponent(t.Context(), s.design, component, db, suiteSeed()),
		db.Close()); err != nil {
		t.Fatal(err)
	}
}

func (s shopOf) listen(t *testing.T) net.Listener {
	t.Helper()
	network, place := "tcp", "127.0.0.1:0"
	if s.design.Binding.OverUnix() {
		network, place = "unix", t.TempDir()+"/s"
	}
	listener, err := net.Listen(network, place)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// call reaches the unit that hosts a component.
func (s shopOf) call(t *testing.T) func(component string) grpc.ClientConnInterface {
	return func(component string) grpc.ClientConnInterface {
		unit := s.design.Hosting(component).Name
		address := s.listeners[unit].Addr().String()
		if s.design.Binding.OverUnix() {
			address = "unix:" + address
		}
		client, err := assembly.Calls(s.design.Binding).NewClient(unit, address)
		must(t, err)
		t.Cleanup(func() { must(t, client.Close()) })
		return client
	}
}

// serve offers what a unit hosts to the other units.
func (s shopOf) serve(t *testing.T, unit architecture.Unit, hosted assembly.Hosted) {
	t.Helper()
	server, err := assembly.Calls(s.design.Binding).NewServer()
	must(t, err)
	for _, offer := range hosted.Offers {
		offer(server)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listeners[unit.Name]) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		must(t, errors.Join(server.Shutdown(ctx), <-ended))
	})
}

// background runs what goes on beside the requests. Nobody complains in a test
// that breaks nothing, unless of a host that is too slow.
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
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Serve(ctx, listener, api.NewHandler(hosted.Parts, nil)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
