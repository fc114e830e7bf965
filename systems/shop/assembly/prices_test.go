package assembly_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/api"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/events"
	"github.com/cleave-lab/cleave/systems/shop/observation"
	"github.com/cleave-lab/cleave/systems/shop/reference"
)

// reprice gives a product another price, n times.
func (c *customers) reprice(t *testing.T, n int) {
	for range n {
		wanted := audit.Price{Product: 1 + rand.Int64N(10), Cents: 100 + rand.Int64N(19_900)}
		sent := time.Now()
		got, err := c.client.send(http.MethodPut, fmt.Sprintf("/products/%d/price", wanted.Product), jsonHeader(""),
			fmt.Sprintf(`{"priceCents":%d}`, wanted.Cents))
		var price api.Price
		if err == nil {
			err = json.Unmarshal(got.body, &price)
		}
		if err != nil {
			t.Error(err)
			return
		}
		wanted.Version = price.Version
		c.remember(got.status, audit.Attempt{Operation: audit.OperationPrice, Price: &wanted}, sent, api.Order{})
	}
}

// TestOrdersHaveValidPrices changes prices while customers order, in designs whose orders ask the catalog and
// in designs with a replica, and audits the orders; one design has schemas in one database.
func TestOrdersHaveValidPrices(t *testing.T) {
	for name, c := range map[string]shape{
		"monolith":                  {architecture.Monolith, nil},
		"sync":                      {architecture.Sync, nil},
		"sync with a replica":       {architecture.Sync, knobs("reference", "replicated")},
		"sync-tuned with a replica": {architecture.SyncTuned, knobs("reference", "replicated")},
		"a saga in one with replica": {architecture.Sync,
			knobs("reference", "replicated", "placement", "together", "data", "shared")},
		"async":                       {architecture.Async, nil},
		"async without a replica":     {architecture.Async, knobs("reference", "asked")},
		"async-tuned without replica": {architecture.AsyncTuned, knobs("reference", "asked")},
		"schemas":                     {architecture.Monolith, inSchemas()},
		"schemas, ACID beside reads":  {architecture.Monolith, inSchemas("placement", "catalog,customers")},
		"schemas, sync":               {architecture.Sync, inSchemas()},
		"schemas, saga in one unit":   {architecture.SyncGRPC, inSchemas("placement", "together")},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "sync with a replica" {
				testset.Need(t, "it plays eleven more shops")
			}
			t.Parallel()
			running, public := start(t, designOf(t, c.of, c.turned), eventParts{})
			clients := newCustomers(public)
			clients.order(t, 20)
			clients.cancel(t, 5)
			var all sync.WaitGroup
			all.Go(func() { clients.order(t, 40) })
			all.Go(func() { clients.reprice(t, 20) })
			all.Wait()
			unknown := clients.send(t, audit.OperationCreate, "unknown", "/orders",
				`{"customerId":1,"lines":[{"productId":1,"quantity":1},{"productId":9999,"quantity":1}]}`)
			if unknown.State != shop.StateRejected {
				t.Errorf("an order of a product that there is not was answered with %+v", unknown)
			}
			got := running.judgeAll(t, clients)
			if got.Verdict != lab.AuditValid || got.Counts["price_changes"] < 10 {
				t.Errorf("%s: %v, %v", got.Verdict, got.Problems, got.Counts)
			}
		})
	}
}

// judgeAll waits until nothing is on its way and judges what there is.
func (s shopOf) judgeAll(t *testing.T, clients *customers) lab.Audit {
	t.Helper()
	open := s.database(t, s.design.DatabaseOf)
	if s.design.Broker == "" {
		return audit.Judge(s.recorded(t, open, clients))
	}
	looking := s.onlooker(t)
	s.settle(t, open, looking.Broker)
	return s.judge(t, open, looking.Documents, clients)
}

// losesPrices returns a client that loses the changes of prices.
func losesPrices(c broker.Client) broker.Client {
	return losing{c, func(m broker.Message) bool { return m.Type == events.ProductRepriced }}
}

// TestAReplicaWithoutUpdatesIsCaught: the audit finds the old prices in the copy and the messages that the
// inbox lacks.
func TestAReplicaWithoutUpdatesIsCaught(t *testing.T) {
	t.Parallel()
	running, public := start(t, designOf(t, architecture.Sync, knobs("reference", "replicated")),
		eventParts{wrap: losesPrices})
	clients := newCustomers(public)
	clients.order(t, 4)
	clients.reprice(t, 3)
	got := running.judgeAll(t, clients)
	for _, rule := range []string{"broken_i10", "broken_i14"} {
		if got.Verdict != lab.AuditInvalid || got.Counts[rule] == 0 {
			t.Errorf("%s: %v, want %s", got.Verdict, got.Problems, rule)
		}
	}
}

// TestUnitsObserveTheReplica: when all is settled, the replica has shown each change of a price.
func TestUnitsObserveTheReplica(t *testing.T) {
	t.Parallel()
	s := runUnits(t, architecture.Sync, knobs("binding", "http-unix", "reference", "replicated"))
	for n := range 3 {
		if got := s.do(t, http.MethodPut, "/products/2/price", jsonHeader(""),
			fmt.Sprintf(`{"priceCents":%d}`, 1+n)); got.status != http.StatusOK {
			t.Fatalf("a price was answered with %d", got.status)
		}
	}
	s.settle(t)
	settled := time.Now().UnixNano()
	observed := s.end(t)
	for version := int64(2); version <= 4; version++ {
		shown := observed.Showings[observation.Change{Document: reference.Products + "2", Version: version}]
		if shown.Made == 0 || shown.Shown < shown.Made || shown.Shown > settled {
			t.Errorf("version %d was made at %d and shown at %d, settled at %d", version, shown.Made, shown.Shown,
				settled)
		}
	}
	if len(observed.Showings) != 3 {
		t.Errorf("%d changes were shown, want 3", len(observed.Showings))
	}
}
