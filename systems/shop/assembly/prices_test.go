package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
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
		request, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/products/%d/price", c.base, wanted.Product),
			strings.NewReader(fmt.Sprintf(`{"priceCents":%d}`, wanted.Cents)))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = http.Header{"Content-Type": {"application/json"}}
		sent := time.Now()
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			return
		}
		var price api.Price
		if err := errors.Join(json.NewDecoder(response.Body).Decode(&price), response.Body.Close()); err != nil {
			t.Error(err)
		}
		wanted.Version = price.Version
		c.remember(audit.Attempt{Operation: audit.OperationPrice, Price: &wanted, Status: response.StatusCode},
			sent, api.Order{})
	}
}

// TestOrdersHaveValidPrices changes prices while customers order, where orders ask for
// what they must know and where they have a replica of it.
func TestOrdersHaveValidPrices(t *testing.T) {
	know := func(how architecture.Reference) map[string]string {
		return map[string]string{architecture.KnobReference: string(how)}
	}
	together := know(architecture.Replicated)
	together[architecture.KnobPlacement], together[architecture.KnobData] = "together", "shared"
	for name, c := range map[string]struct {
		of     string
		turned map[string]string
	}{
		"monolith":                    {architecture.Monolith, nil},
		"sync":                        {architecture.Sync, nil},
		"sync with a replica":         {architecture.Sync, know(architecture.Replicated)},
		"sync-tuned with a replica":   {architecture.SyncTuned, know(architecture.Replicated)},
		"a saga in one with replica":  {architecture.Sync, together},
		"async":                       {architecture.Async, nil},
		"async without a replica":     {architecture.Async, know(architecture.Asked)},
		"async-tuned without replica": {architecture.AsyncTuned, know(architecture.Asked)},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "sync with a replica" {
				testset.Need(t, "it plays seven more shops")
			}
			t.Parallel()
			design, err := architecture.New(c.of, c.turned)
			must(t, err)
			around := eventParts{}
			if design.Broker != "" {
				around.broker, around.documents = natsBroker(t), sqliteDocuments(t)
			}
			running, public := start(t, design, sqliteFiles, around)
			clients := &customers{base: public}
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

func sqliteFiles(t testing.TB) database.Config {
	return database.Config{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "shop.db")}
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

// TestReplicasBehave holds shops in which the orders know, or ask, otherwise than their
// architecture does, to the behaviour of all.
func TestReplicasBehave(t *testing.T) {
	testset.Need(t, "it plays the suite for six more shops, some on real servers")
	rabbit := rabbitBroker(t)
	const asked, replicated, nats = architecture.Asked, architecture.Replicated, architecture.BrokerNATS
	for name, c := range map[string]struct {
		of     string
		how    architecture.Reference
		broker string
		driver database.Driver
	}{
		"sync, sqlite":          {architecture.Sync, replicated, nats, database.SQLite},
		"sync, mariadb":         {architecture.Sync, replicated, architecture.BrokerQuorum, database.MariaDB},
		"sync, postgres":        {architecture.Sync, replicated, nats, database.PostgreSQL},
		"sync-tuned, postgres":  {architecture.SyncTuned, replicated, nats, database.PostgreSQL},
		"async, asked":          {architecture.Async, asked, nats, database.SQLite},
		"async-tuned, rabbitmq": {architecture.AsyncTuned, asked, architecture.BrokerClassic, database.SQLite},
	} {
		t.Run(name, func(t *testing.T) {
			design, err := architecture.New(c.of, map[string]string{architecture.KnobReference: string(c.how),
				architecture.KnobBroker: c.broker})
			must(t, err)
			around := eventParts{documents: sqliteDocuments(t)}
			if c.broker == architecture.BrokerNATS { // RabbitMQ's server is one for all
				t.Parallel()
				around.broker = natsBroker(t)
			} else {
				around.broker = rabbit(t, c.broker == architecture.BrokerClassic)
			}
			open := func(t testing.TB) database.Config { return databasetest.Fresh(t, c.driver) }
			playSuite(t, runAmong(t, design, open, around))
		})
	}
}

// silent loses the changes of prices that it is to publish.
type silent struct{ broker.Client }

func (s silent) Publish(ctx context.Context, messages ...broker.Message) error {
	var sent []broker.Message
	for _, m := range messages {
		if m.Type != events.ProductRepriced {
			sent = append(sent, m)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return s.Client.Publish(ctx, sent...)
}

// TestAReplicaThatIsNotToldIsCaught by the copy itself and by the inbox.
func TestAReplicaThatIsNotToldIsCaught(t *testing.T) {
	t.Parallel()
	design, err := architecture.New(architecture.Sync,
		map[string]string{architecture.KnobReference: string(architecture.Replicated)})
	must(t, err)
	running, public := start(t, design, sqliteFiles, eventParts{broker: natsBroker(t),
		wrap: func(c broker.Client) broker.Client { return silent{c} }})
	clients := &customers{base: public}
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
	s := runUnits(t, architecture.Sync, map[string]string{architecture.KnobBinding: "http-unix",
		architecture.KnobReference: string(architecture.Replicated)})
	for n := range 3 {
		if status, _, _ := s.do(t, http.MethodPut, "/products/2/price",
			fmt.Sprintf(`{"priceCents":%d}`, 1+n)); status != http.StatusOK {
			t.Fatalf("a price was answered with %d", status)
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
