package assembly_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// running is a shop whose units run as their processes would, all in this one.
type running struct {
	*client
	dir     string
	data    string // address of the databases
	stop    context.CancelFunc
	ended   sync.WaitGroup
	mu      sync.Mutex
	reports map[string]assembly.Report
	errs    []error
}

// runUnits prepares and starts a shop and waits until it is healthy.
func runUnits(t *testing.T, name string, turned map[string]string) *running {
	t.Helper()
	design := designOf(t, name, turned)
	address := shoptest.Address(t)
	s := &running{client: newClient("http://" + address), dir: t.TempDir(),
		reports: map[string]assembly.Report{}}
	s.data = "sqlite://" + s.dir + "/data"
	services := map[string]string{assembly.ServiceDatabase: s.data,
		assembly.ServiceDocuments: "sqlite://" + s.dir,
		assembly.ServiceBroker:    eventParts{}.completed(t, design).broker.URL}
	place := assembly.Place{
		Dir: s.dir,
		Peer: func(instance string) (string, error) {
			return "", errors.New(instance + " is reached over its socket file")
		},
		Service: func(service string) (string, error) { return services[service], nil },
	}
	seed := shop.Seed{Customers: 5, Products: 5, Stock: 100, Balance: 1_000_000, Random: 1}
	testset.Must(t, assembly.Prepare(t.Context(), design, place, seed))
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s.stop = stop
	t.Cleanup(stop)
	for _, kind := range design.Units {
		listens := "127.0.0.1:0" // and is not asked there: units are reached over their socket files
		if kind.Hosts(shop.ComponentOrders) {
			listens = address
		}
		for _, instance := range kind.Instances() {
			s.ended.Go(func() { s.run(ctx, design, kind.Name, instance, listens, place) })
		}
	}
	s.awaitHealth(t)
	return s
}

func (s *running) run(
	ctx context.Context, design architecture.Design, kind, instance, address string, place assembly.Place,
) {
	report, err := serveOne(ctx, design, kind, instance, address, place)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports[instance] = report
	s.errs = append(s.errs, err)
}

// serveOne runs a unit until the context ends, and returns its counts.
func serveOne(
	ctx context.Context, design architecture.Design, kind, instance, address string, place assembly.Place,
) (report assembly.Report, err error) {
	u, err := assembly.Open(ctx, design, kind, instance, place)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return report, err
	}
	err = u.Serve(ctx, listener)
	return u.Counts(), err
}

// end stops the units and returns their observations.
func (s *running) end(t *testing.T) observation.Observations {
	t.Helper()
	s.stop()
	s.ended.Wait()
	testset.Must(t, errors.Join(s.errs...))
	observed, err := observation.Read(s.dir)
	testset.Must(t, err)
	return observed
}

// place orders some units of a product and returns the order's id.
func (s *running) place(t *testing.T, product, quantity int64) string {
	t.Helper()
	var order api.Order
	got := s.post(t, s.key(), orderBody(1, line{product, quantity}))
	got.into(t, &order)
	if got.status >= http.StatusBadRequest || order.OrderID == "" {
		t.Fatalf("an order was answered with %d and %+v", got.status, order)
	}
	return order.OrderID
}

// expectUnsettled asks whether the shop has settled, and expects no answer within a time.
func (s *running) expectUnsettled(t *testing.T, within time.Duration, while string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+assembly.SettledPath, nil)
	testset.Must(t, err)
	if answer, err := http.DefaultClient.Do(request); err == nil {
		t.Errorf("%s, and %s was answered with %s", while, assembly.SettledPath, answer.Status)
		testset.Must(t, answer.Body.Close())
	}
}

// onlooker opens a database of the shop.
func (s *running) onlooker(t *testing.T, name string) *database.DB {
	t.Helper()
	where, err := database.ParsePlace(s.data)
	testset.Must(t, err)
	return databasetest.Open(t, where.Config(name, 1))
}

// shapes returns the designs whose observations are tested.
func shapes() map[string]map[string]string {
	return map[string]map[string]string{
		architecture.Monolith: nil, architecture.Sync: knobs("binding", "http-unix"),
		architecture.SyncGRPC:      knobs("binding", "grpc-unix"),
		architecture.Async:         knobs("binding", "http-unix"),
		architecture.MonolithTuned: nil, architecture.SyncTuned: knobs("binding", "http-lean-unix"),
		architecture.SyncGRPCTuned: knobs("binding", "grpc-lean-unix"),
		architecture.AsyncTuned:    knobs("binding", "http-lean-unix"),
	}
}

// TestUnitsObserveWhatHappens: every order becomes final once, confirmed or
// rejected, between its request and the answer that all is settled; read models show
// it by then.
func TestUnitsObserveWhatHappens(t *testing.T) {
	for name, turned := range shapes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := runUnits(t, name, turned)
			before := time.Now().UnixNano()
			var ids []string
			for n := range 8 {
				ids = append(ids, s.place(t, 1+int64(n%5), 1))
			}
			ids = append(ids, s.place(t, 1, 900), s.place(t, 77, 1)) // not in stock, not in the catalogue
			s.settle(t)
			settled := time.Now().UnixNano()
			for _, id := range ids {
				var order api.Order
				if s.get(t, "/orders/"+id, &order); !order.State.Final() {
					t.Errorf("order %s is %q, although all is settled", id, order.State)
				}
			}
			s.do(t, http.MethodPost, "/orders/"+ids[0]+"/cancel", nil, "") // it was final before
			observed := s.end(t)
			for _, id := range ids {
				if at := observed.Finals[id]; at < before || at > settled {
					t.Errorf("order %s became final at %d, want a moment between %d and %d", id, at, before, settled)
				}
			}
			if len(observed.Finals) != len(ids) {
				t.Errorf("%d orders became final, want %d", len(observed.Finals), len(ids))
			}
			checkShowings(t, name, observed, ids)
			checkReports(t, name, s.reports)
		})
	}
}

// checkShowings: read models of events show every order when it is final.
func checkShowings(t *testing.T, name string, observed observation.Observations, ids []string) {
	t.Helper()
	if !strings.HasPrefix(name, architecture.Async) {
		if len(observed.Showings) > 0 {
			t.Errorf("read models that lag behind nothing have shown %v", observed.Showings)
		}
		return
	}
	orders := map[string]bool{}
	stock := 0
	for change, showing := range observed.Showings {
		if showing.Shown < showing.Made {
			t.Errorf("%v was shown before it was made: %+v", change, showing)
		}
		id, ofOrder := strings.CutPrefix(change.Document, "order_views/")
		if ofOrder && showing.Shown > observed.Finals[id] {
			orders[id] = true
		}
		if strings.HasPrefix(change.Document, "stock_views/") {
			stock++
		}
	}
	for _, id := range ids {
		if !orders[id] {
			t.Errorf("no read model has shown order %s when it was final", id)
		}
	}
	if stock == 0 {
		t.Error("no read model has shown the stock")
	}
}

// checkReports: calls are counted where they arrive, messages where there are any.
func checkReports(t *testing.T, name string, reports map[string]assembly.Report) {
	t.Helper()
	steps := []string{"catalog", "customers", "inventory", "payments", "shipping"}
	called := map[string][]string{architecture.Sync: steps, architecture.SyncGRPC: steps,
		architecture.Async: {"orderviews"}}[strings.TrimSuffix(name, "-tuned")]
	for unit, r := range reports {
		if got := r.CallBytes > 0; got != slices.Contains(called, unit) {
			t.Errorf("unit %s has got %d bytes of calls; called are %v", unit, r.CallBytes, called)
		}
		if (r.Messages != nil) != strings.HasPrefix(name, architecture.Async) {
			t.Errorf("unit %s counts messages: %+v", unit, r.Messages)
		}
		if r.SyncsBefore != nil {
			t.Errorf("unit %s knows how often SQLite was forced: %d", unit, *r.SyncsBefore)
		}
	}
	if !strings.HasPrefix(name, architecture.Async) {
		return
	}
	if placed := reports["orders"].Messages; placed.Published < 10 || placed.Delivered < 8 ||
		placed.Bytes < 1000 {
		t.Errorf("the orders' messages %+v, want at least those of ten orders", placed)
	}
}

// TestSettledIsHeldBack: the answer waits while an order is pending or being undone, and the queries that
// find this out do not count as the unit's work.
func TestSettledIsHeldBack(t *testing.T) {
	s := runUnits(t, architecture.Monolith, nil)
	s.settle(t)
	db := s.onlooker(t, shop.Name)
	set := func(id, state string, lease any) {
		t.Helper()
		shoptest.Exec(t, db, "DELETE FROM orders WHERE order_id = ?", id)
		shoptest.Exec(t, db, "INSERT INTO orders VALUES (?, ?, 1, 1, ?, '', '', 1, 1, ?, '')", id, "k"+id, state,
			lease)
	}
	for _, open := range []struct {
		id, state string
		lease     any
	}{{"2", "pending", nil}, {"1", "paid", nil}, {"3", "cancelled", 1}} {
		set(open.id, open.state, open.lease)
		s.expectUnsettled(t, 100*time.Millisecond,
			fmt.Sprintf("an order is %s with lease %v", open.state, open.lease))
		set(open.id, "confirmed", nil)
		s.settle(t)
	}
	s.end(t)
	for unit, r := range s.reports {
		for name, counted := range r.Databases {
			if counted.Statements != 0 {
				t.Errorf("unit %s has counted %d statements on %s, and nobody has ordered", unit, counted.Statements,
					name)
			}
		}
	}
}

// TestAShopWithoutABrokerCountsNoMessages: the path at which units of other shops are asked does not exist.
func TestAShopWithoutABrokerCountsNoMessages(t *testing.T) {
	s := runUnits(t, architecture.Monolith, nil)
	got := s.do(t, http.MethodGet, assembly.SettledPath+"/taken", nil, "")
	expectProblem(t, got, http.StatusNotFound, "no-such-resource")
	s.end(t)
}

// TestSettledMeansThatNoUnitWorks: RabbitMQ has delivered a cancellation to the unit of the payments, whose
// database is locked. The answer needs a request to that unit, which does not count as a call.
func TestSettledMeansThatNoUnitWorks(t *testing.T) {
	testset.Need(t, "it starts RabbitMQ")
	s := runUnits(t, architecture.Async, knobs("binding", "http-unix", "broker", "rabbitmq"))
	var id string
	for range 10 {
		id = s.place(t, 1, 1)
	}
	s.settle(t)
	db := s.onlooker(t, shop.ComponentPayments)
	state := func(ctx context.Context) (found string) {
		_, err := db.One(ctx, []any{&found}, "SELECT state FROM payments WHERE order_id = ?", id)
		testset.Must(t, err)
		return found
	}
	testset.Must(t, db.Do(t.Context(), func(ctx context.Context) error {
		if _, err := db.Exec(ctx, "UPDATE payments SET state = state WHERE order_id = ?", id); err != nil {
			return err
		}
		if got := s.do(t, http.MethodPost, "/orders/"+id+"/cancel", nil, ""); got.status != http.StatusOK {
			t.Errorf("cancel: %d %s", got.status, got.body)
		}
		s.expectUnsettled(t, time.Second, fmt.Sprintf("a payment is %q", state(ctx)))
		return nil
	}))
	s.settle(t)
	if got := state(t.Context()); got != "refunded" {
		t.Errorf("the shop has settled, and a payment is %q", got)
	}
	s.do(t, http.MethodGet, "/orders/"+id, nil, "") // the only call between units
	_ = s.end(t)
	checkReports(t, architecture.Async, s.reports)
}
