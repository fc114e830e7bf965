package assembly_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/server"
	"github.com/cleave-lab/cleave/internal/gobuild"
	"github.com/cleave-lab/cleave/internal/servers"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/audit"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// process is a shop of one unit, in a process of its own.
type process struct {
	program, dir, address string
	knobs                 map[string]string
	broker                string // its URL
}

// command returns the unit's program with a job.
func (p process) command(t *testing.T, job assembly.UnitJob) *exec.Cmd {
	t.Helper()
	job.Architecture = architecture.Async
	job.Knobs = p.knobs
	text, err := json.Marshal(job)
	testset.Must(t, err)
	unit := exec.Command(p.program, string(text))
	unit.Env = append(os.Environ(), "CLEAVE_ADDRESS="+p.address, "CLEAVE_UNIT="+shop.Name, "CLEAVE_DIR="+p.dir,
		"CLEAVE_SERVICE_DATABASE=sqlite://"+p.dir+"/data", "CLEAVE_SERVICE_BROKER="+p.broker,
		"CLEAVE_SERVICE_DOCUMENTS=sqlite://"+p.dir+"/data")
	unit.Stderr = os.Stderr
	return unit
}

// start starts the unit and waits until it takes orders. kill ends it as a crash would.
func (p process) start(t *testing.T) (kill func()) {
	t.Helper()
	unit := p.command(t, assembly.UnitJob{Unit: shop.Name})
	_, err := unit.StdinPipe() // its end would mean that the conductor is gone
	testset.Must(t, err)
	testset.Must(t, unit.Start())
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = unit.Process.Kill()
			_ = unit.Wait() // it says that it was killed
		}
	}
	t.Cleanup(kill)
	newClient("http://" + p.address).awaitHealth(t)
	return kill
}

// sendUnanswered sends an order whose answer is not waited for: the unit is killed first.
func (p process) sendUnanswered(t *testing.T) audit.Attempt {
	t.Helper()
	attempt := audit.Attempt{Operation: audit.OperationCreate, Key: "cut-off", Outcome: audit.OutcomeInfo,
		Asked:    &audit.Asked{Customer: 2, Lines: []audit.Wanted{{Product: 2, Quantity: 1}}},
		ActualNS: time.Now().UnixNano()}
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.address+"/orders",
		strings.NewReader(`{"customerId":2,"lines":[{"productId":2,"quantity":1}]}`))
	testset.Must(t, err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {attempt.Key}}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode >= http.StatusBadRequest { // with an outbox the order is accepted at once
				t.Errorf("the order is answered with status %d", response.StatusCode)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return attempt
}

// TestKilledBetweenCommitAndPublishing: an order is committed while the broker is away, and its unit
// killed before the broker is back. An outbox publishes its event in the next life; without a record
// it is lost, and the audit names it.
func TestKilledBetweenCommitAndPublishing(t *testing.T) {
	testset.Need(t, "it builds the unit's program and kills it")
	program := filepath.Join(t.TempDir(), "unit")
	testset.Must(t, gobuild.Programs(program, nil, "../../../cmd/unit/shop"))
	for publishing, lost := range map[architecture.Publishing]string{
		architecture.Outbox: "", architecture.DualWrite: "is pending, and inventory was never told order.placed",
	} {
		t.Run(string(publishing), func(t *testing.T) {
			instance := servers.Started(t, server.NATS, server.Settings{})
			p := process{program: program, dir: t.TempDir(), address: shoptest.Address(t), broker: instance.URL(),
				knobs: knobs("placement", "together", "publishing", string(publishing), "views", "tables")}
			seed := suiteSeed()
			testset.Must(t, p.command(t, assembly.UnitJob{Prepare: &seed}).Run())
			s := onProcess(t, p)
			open := s.database(t, s.design.DatabaseOf)
			kill := p.start(t)
			clients := newCustomers("http://" + p.address)
			clients.send(t, audit.OperationCreate, "before", "/orders",
				`{"customerId":1,"lines":[{"productId":1,"quantity":1}]}`)
			s.settle(t, open, s.onlooker(t).Broker)
			testset.Must(t, instance.Kill())
			attempt := p.sendUnanswered(t)
			awaitOrders(t, open(shop.ComponentOrders), 2)
			kill()
			attempt.CompleteNS = time.Now().UnixNano()
			clients.history = append(clients.history, attempt)
			testset.Must(t, instance.Restart(t.Context()))
			p.start(t)
			clients.settle(t) // orders whose events are lost do not count
			s.expectLost(t, open, clients, lost)
		})
	}
}

// onProcess returns the shop of a process, for the audit in this one.
func onProcess(t *testing.T, p process) shopOf {
	t.Helper()
	place, err := database.ParsePlace("sqlite://" + p.dir + "/data")
	testset.Must(t, err)
	return shopOf{design: designOf(t, architecture.Async, p.knobs),
		config: func(name string) database.Config { return place.Config(name, 1) },
		around: eventParts{broker: broker.Config{URL: p.broker}}}
}

// awaitOrders waits until so many orders are committed.
func awaitOrders(t *testing.T, db *database.DB, want int64) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		committed := shoptest.Number(t, db, "SELECT COUNT(*) FROM orders")
		if committed == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d orders are committed, want %d", committed, want)
		}
	}
}

// expectLost judges a shop without read models: valid, or with the event that was lost named.
func (s shopOf) expectLost(t *testing.T, open func(string) *database.DB, clients *customers, lost string) {
	t.Helper()
	got := audit.Judge(s.recorded(t, open, clients))
	t.Logf("%s: %q", got.Verdict, got.Problems)
	if lost == "" {
		if got.Verdict != lab.AuditValid {
			t.Errorf("%s: %q, want nothing lost", got.Verdict, got.Problems)
		}
		return
	}
	named := slices.ContainsFunc(got.Problems, func(p string) bool { return strings.Contains(p, lost) })
	if got.Verdict != lab.AuditInvalid || !named {
		t.Errorf("%s: %q, want one that says %q", got.Verdict, got.Problems, lost)
	}
}
