package system

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/backing/database/databasetest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
)

// laidOut returns the layout of a variant at a point, and the job of its generator.
func laidOut(t *testing.T, v lab.Variant, levels map[string]float64) (lab.Layout, lab.LoadJob) {
	t.Helper()
	var g loadedtest.Generator
	layout, err := System{Generator: &g}.Layout(v, point(levels), 1)
	testset.Must(t, err)
	return layout, g.Job
}

// playedScenario is the part of a generator's scenario that tests read.
type playedScenario struct {
	Flows []struct {
		Name   string
		Weight float64
		Steps  []struct {
			Name, Request, Think string
			Note                 []string
			Expect               struct {
				Status string
				Body   []string
				JSON   map[string]string
			}
		}
	}
}

// scenarioAt returns the scenario of a variant at a point.
func scenarioAt(t *testing.T, v lab.Variant, levels map[string]float64) (s playedScenario) {
	t.Helper()
	_, job := laidOut(t, v, levels)
	testset.Must(t, json.Unmarshal(job.Scenario, &s))
	return s
}

// monolith returns the design of a monolith.
func monolith(t *testing.T) architecture.Design {
	t.Helper()
	design, err := architecture.New(architecture.Monolith, nil)
	testset.Must(t, err)
	return design
}

// databaseAt opens the database of a monolith whose databases have an address.
func databaseAt(t *testing.T, address string) *database.DB {
	t.Helper()
	where, err := database.ParsePlace(address)
	testset.Must(t, err)
	return databasetest.Open(t, where.Config(monolith(t).DatabaseOf(shop.ComponentOrders), 1))
}

func point(levels map[string]float64) lab.Point { return lab.Point{Name: "p", Levels: levels} }

func variant(name string, knobs map[string]string) lab.Variant {
	return lab.Variant{Name: name, Architecture: name, Knobs: knobs}
}

// Long because it is a table.
func TestLayoutsOfArchitectures(t *testing.T) {
	for _, c := range []struct {
		variant  lab.Variant
		units    []string
		services []string
		front    string
	}{
		{variant(architecture.Monolith, nil), []string{"shop", "generator"}, []string{"sqlite"}, "shop"},
		{variant(architecture.Monolith, map[string]string{"database": "mariadb"}), []string{"shop", "generator"},
			[]string{"mariadb"}, "shop"},
		{variant(architecture.Sync, nil), []string{"catalog", "customers", "inventory", "payments", "shipping",
			"orders", "generator"}, []string{"sqlite"}, "orders"},
		{variant(architecture.Sync, map[string]string{"replicas": "inventory=2"}),
			[]string{"catalog", "customers", "inventory-1", "inventory-2", "payments", "shipping", "orders",
				"generator"}, []string{"sqlite"}, "orders"},
		{variant(architecture.MonolithHA, nil), []string{"shop-1", "shop-2", "balancer", "generator"},
			[]string{"sqlite"}, "balancer"},
		{variant(architecture.MonolithHA, map[string]string{"balancer": "pair"}),
			[]string{"shop-1", "shop-2", "balancer-1", "balancer-2", "keepalived-1", "keepalived-2", "generator"},
			[]string{"sqlite"}, "balancer"},
		{variant(architecture.Async, map[string]string{"broker": "rabbitmq", "documents": "mongo",
			"database": "postgres"}),
			[]string{"catalog", "customers", "inventory", "payments", "shipping", "orders", "orderviews", "stockviews",
				"generator"},
			[]string{"postgres", "rabbitmq", "mongo"}, "orders"},
	} {
		g := &loadedtest.Generator{}
		layout, err := System{Generator: g}.Layout(c.variant, point(map[string]float64{lab.FactorRate: 10}), 1)
		if err != nil {
			t.Errorf("%s: %v", c.variant.Name, err)
			continue
		}
		var units, services []string
		for _, u := range layout.Units {
			units = append(units, u.Name)
			others := -2 // itself and the generator
			for _, other := range layout.Units {
				if !other.Foreign {
					others++
				}
			}
			if ours := u.Name != lab.RoleGenerator && !u.Foreign; ours &&
				(u.Role != strings.TrimRight(u.Name, "-12") || !u.Listens || len(u.Peers) != others) {
				t.Errorf("%s: unit %s listens %v and knows %v", c.variant.Name, u.Name, u.Listens, u.Peers)
			}
		}
		for _, s := range layout.Services {
			services = append(services, s.Kind)
		}
		if settle := g.Job.Settle; settle.Path != assembly.SettledPath || settle.Timeout == 0 {
			t.Errorf("%s: settles by %+v", c.variant.Name, settle)
		}
		if !slices.Equal(units, c.units) || !slices.Equal(services, c.services) || g.Job.Unit != c.front ||
			layout.Lead != lab.RoleGenerator {
			t.Errorf("%s: units %v, services %v, front %s, lead %s", c.variant.Name, units, services, g.Job.Unit,
				layout.Lead)
		}
		if len(layout.Prepare) != 1 || !strings.Contains(layout.Prepare[0].Args[0],
			`"prepare":{"customers":1000,`) {
			t.Errorf("%s: prepared by %+v", c.variant.Name, layout.Prepare)
		}
	}
}

// TestUnitsGetIdentities for TLS between them; the generator and the balancer get none, and replicas share
// one.
func TestUnitsGetIdentities(t *testing.T) {
	v := variant(architecture.Sync, map[string]string{"security": "mtls", "replicas": "orders=2"})
	layout, _ := laidOut(t, v, map[string]float64{lab.FactorRate: 10})
	for _, u := range layout.Units {
		ours := u.Name != lab.RoleGenerator && !u.Foreign
		if has := u.Files[hosting.IdentityFile(u.Role)] != nil; has != ours {
			t.Errorf("%s can identify itself: %t", u.Name, has)
		}
	}
}

func TestPointsThatCannotBePlayed(t *testing.T) {
	for name, c := range map[string]struct {
		variant lab.Variant
		levels  map[string]float64
		want    string
	}{
		"no load": {variant("monolith", nil), nil,
			"needs one of rate, per_minute, users, search_from, orders"},
		"two loads": {variant("monolith", nil), map[string]float64{lab.FactorRate: 1, lab.FactorUsers: 1},
			"has both rate and users"},
		"no rate": {variant("monolith", nil), map[string]float64{lab.FactorRate: 0}, "and above zero"},
		"no objective": {variant("monolith", nil), map[string]float64{lab.FactorSearchFrom: 1},
			"has no objective"},
		"no customers": {variant("monolith", nil), map[string]float64{lab.FactorRate: 1, Customers: 0},
			"customers 0"},
		"half a page": {variant("sync", nil), map[string]float64{lab.FactorRate: 1, Reads: 1.5}, "whole number"},
		"more changes and cancellations than orders": {variant("sync", nil),
			map[string]float64{lab.FactorRate: 1, Cancelled: 20, Repriced: 80}, "leave 10 percent"},
		"no such thing": {variant("duolith", nil), map[string]float64{lab.FactorRate: 1},
			`no architecture "duolith"`},
	} {
		_, err := System{Generator: &loadedtest.Generator{}}.Layout(c.variant, point(c.levels), 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestThePointSaysWhichLoadIsPlayed(t *testing.T) {
	for _, c := range []struct {
		levels map[string]float64
		want   lab.LoadJob
	}{
		{map[string]float64{lab.FactorRate: 10}, lab.LoadJob{Rate: 10, Load: lab.Load{Duration: 7}}},
		{map[string]float64{lab.FactorPerMinute: 90}, lab.LoadJob{Rate: 1.5, Load: lab.Load{Duration: 7}}},
		{map[string]float64{lab.FactorUsers: 3}, lab.LoadJob{Users: 3, Load: lab.Load{Duration: 7}}},
		{map[string]float64{Orders: 5}, lab.LoadJob{Count: 5, Load: lab.Load{Duration: 3600}}},
		{map[string]float64{lab.FactorSearchFrom: 4},
			lab.LoadJob{Rate: 4, Search: true, Load: lab.Load{Duration: 2}}},
	} {
		g := &loadedtest.Generator{}
		s := System{Generator: g, Load: lab.Load{Duration: 7, Objective: "p99<1s",
			Effort: lab.SearchEffort{Duration: 2}}}
		if _, err := s.Layout(variant("monolith", nil), point(c.levels), 1); err != nil {
			t.Fatal(err)
		}
		if g.Job.Rate != c.want.Rate || g.Job.Users != c.want.Users || g.Job.Count != c.want.Count ||
			g.Job.Search != c.want.Search || g.Job.Duration != c.want.Duration || g.Job.Variant != "monolith" {
			t.Errorf("%v: %+v, want %+v", c.levels, g.Job, c.want)
		}
	}
}

func TestTheWorkloadKnowsWhenAnOrderIsRight(t *testing.T) {
	for name, want := range map[string]string{architecture.Monolith: "confirmed",
		architecture.Async: "pending"} {
		scenario := scenarioAt(t, variant(name, nil), map[string]float64{lab.FactorUsers: 4, Products: 1})
		if len(scenario.Flows) != 1 || scenario.Flows[0].Steps[0].Expect.JSON["state"] != want {
			t.Errorf("%s: %+v, want one flow (there is one product) that expects %s", name, scenario, want)
		}
	}
}

// TestCustomersTryAgainToCancel where orders are done after they were accepted.
func TestCustomersTryAgainToCancel(t *testing.T) {
	for name, want := range map[string]int{architecture.Sync: 1, architecture.Async: 2} {
		_, job := laidOut(t, variant(name, nil), map[string]float64{Orders: 100, Cancelled: 20})
		if got := strings.Count(string(job.Scenario), "/cancel"); got != want {
			t.Errorf("%s: an order is cancelled %d times, want %d", name, got, want)
		}
	}
}

func TestSomeOrdersAreCancelled(t *testing.T) {
	var all, cancelled float64
	for _, flow := range scenarioAt(t, variant(architecture.Sync, nil),
		map[string]float64{Orders: 100, Cancelled: 20}).Flows {
		all += flow.Weight
		for _, step := range flow.Steps {
			if strings.HasSuffix(step.Request, "/cancel") {
				cancelled += flow.Weight
			}
			if !slices.Contains(step.Note, "order") || !slices.Contains(step.Note, "state") {
				t.Errorf("the history has %v of %s, want the order and its state", step.Note, step.Request)
			}
		}
		if body := flow.Steps[0].Expect.Body; len(body) != 1 || !strings.Contains(body[0], "rejected") {
			t.Errorf("a right answer has %q, although orders may be rejected", body)
		}
	}
	if cancelled != 0.2*all {
		t.Errorf("%g of %g orders are cancelled, want a fifth", cancelled, all)
	}
}

// playedID is the order of played.
const playedID = "0199aaaa-0000-7000-8000-000000000001"

// played returns the reports and files of a trial of a monolith with some orders.
func played(t *testing.T, history string) lab.Leftover {
	t.Helper()
	left := loadedtest.Left(t, history)
	address := "sqlite://" + left.Dir + "/data"
	place := assembly.Place{Service: func(string) (string, error) { return address, nil }}
	fresh := seed(point(nil), 1)
	testset.Must(t, assembly.Prepare(t.Context(), monolith(t), place, fresh))
	db := databaseAt(t, address)
	product := fresh.Product(1)
	customer := fresh.Customer(1)
	price := strconv.FormatInt(product.PriceCents, 10)
	for _, statement := range []string{
		`INSERT INTO orders VALUES ('` + playedID + `', 'k1', 1, ` + price +
			`, 'confirmed', '', '', 1, 1, NULL, 'confirmed1')`,
		`INSERT INTO order_lines VALUES ('` + playedID + `', 0, 1, '` + product.Name + `', 1, ` + price + `)`,
		`INSERT INTO reservations (order_id, line, product_id, quantity, state, journal) VALUES ('` + playedID +
			`', 0, 1, 1, 'committed', 'reserved2committed4')`,
		`UPDATE stock SET on_hand = on_hand - 1, sold = sold + 1 WHERE product_id = 1`,
		`INSERT INTO payments (order_id, customer_id, amount_cents, state, journal) VALUES ('` + playedID + `', 1, ` +
			price + `, 'captured', 'captured3')`,
		`UPDATE accounts SET balance_cents = balance_cents - ` + price + ` WHERE customer_id = 1`,
		`INSERT INTO shipments (order_id, state, recipient, address, journal) VALUES ('` + playedID + `', 'shipped', '` +
			customer.Name + `', '` + customer.Address + `', 'shipped5')`,
	} {
		shoptest.Exec(t, db, statement)
	}
	left.Addresses = map[string]string{"database": address}
	left.Seed = 1
	return left
}

// playedLine returns a line of the generator's history: the order of played is cancelled or read, and the
// answer has a state.
func playedLine(operation string, at int, state string) string {
	return fmt.Sprintf(`{"operation":%q,"end":"ok","outcome":"ok","intended_ns":%d,"sent_ns":%d,"finished_ns":%d,"noted":{"order":%q,"state":%q}}`+"\n",
		operation, at, at, at+1, playedID, state)
}

// line returns a line of the generator's history.
func line(key, end string) string {
	return fmt.Sprintf(`{"operation":"create order","end":%q,"outcome":"ok","intended_ns":1,"sent_ns":2,"finished_ns":3,"noted":{"key":%q,"customer":"1","product":"1","quantity":"1"}}`+"\n", end, key)
}

func TestAuditComparesTheHistoryWithTheDatabases(t *testing.T) {
	good := lab.LoadReport{Offered: 10, Achieved: 10, Sent: 1, OK: 1}
	for name, c := range map[string]struct {
		history string
		load    lab.LoadReport
		levels  map[string]float64
		want    lab.AuditVerdict
		says    string
	}{
		"all is well":       {line("k1", "ok"), good, nil, lab.AuditValid, ""},
		"an order was lost": {line("k1", "ok") + line("k2", "ok"), good, nil, lab.AuditInvalid, "I1"},
		"another customer": {strings.Replace(line("k1", "ok"), `"customer":"1"`, `"customer":"2"`, 1), good, nil,
			lab.AuditInvalid, "orders.customer_id is 1, want 2"},
		"no noted order": {strings.Replace(line("k1", "ok"), `"customer":"1"`, `"customer":"0"`, 1), good, nil,
			lab.AuditUnknown, "what was asked for"},
		"out of nowhere": {line("k2", "info"), good, nil, lab.AuditInvalid, "I3"},
		"generator too slow": {line("k1", "ok"), lab.LoadReport{Limited: []string{"late"}}, nil, lab.AuditUnknown,
			"the generator, not the shop"},
		"shop too slow": {line("k1", "ok"), lab.LoadReport{Offered: 10, Achieved: 5}, nil, lab.AuditValid, ""},
		"a search may probe": {line("k1", "ok"), lab.LoadReport{Offered: 10, Achieved: 5},
			map[string]float64{lab.FactorSearchFrom: 10}, lab.AuditValid, ""},
		"cancelled too early": {line("k1", "ok") + playedLine("cancel order", 10, "") +
			playedLine("read order", 20, "confirmed"), good, nil, lab.AuditValid, ""},
		"a cancellation was lost": {line("k1", "ok") + playedLine("cancel order", 10, "cancelled"), good, nil,
			lab.AuditInvalid, "I8: order " + playedID + " was seen cancelled and is confirmed"},
		"a read is wrong": {line("k1", "ok") + playedLine("read order", 10, "rejected"), good, nil,
			lab.AuditInvalid, "I8: order " + playedID + " was seen rejected and is confirmed"},
		"a read is stale": {line("k1", "ok") + playedLine("read order", 10, "confirmed") +
			playedLine("read order", 20, "pending"), good, nil, lab.AuditInvalid,
			"I8: order " + playedID + " was seen confirmed (version 0) and later pending"},
		"no history": {"{", good, nil, lab.AuditUnknown, "line 1"},
	} {
		s := System{Generator: &loadedtest.Generator{Report: c.load}}
		got := s.AuditLive(t.Context(), variant("monolith", nil), point(c.levels), played(t, c.history))
		if got.Verdict != c.want || !strings.Contains(strings.Join(got.Problems, "\n"), c.says) {
			t.Errorf("%s: %s %v, want %s with %q", name, got.Verdict, got.Problems, c.want, c.says)
		}
	}
	if s := (System{}); s.Audit(lab.Variant{}, lab.Point{}, nil).Verdict != lab.AuditUnknown {
		t.Error("a trial that was not played to its end is more than unknown")
	}
}

// TestClocksOfHostsReachTheAudit: a payment whose unit's clock is behind is out of order, unless
// clocks can be as far apart.
func TestClocksOfHostsReachTheAudit(t *testing.T) {
	left := played(t, line("k1", "ok"))
	db := databaseAt(t, left.Addresses["database"])
	shoptest.Exec(t, db, "UPDATE payments SET journal = 'captured1'")
	s := System{Generator: &loadedtest.Generator{
		Report: lab.LoadReport{Offered: 10, Achieved: 10, Sent: 1, OK: 1}}}
	for apart, want := range map[time.Duration]lab.AuditVerdict{0: lab.AuditInvalid,
		time.Microsecond: lab.AuditValid} {
		left.ClocksApart = apart
		if got := s.AuditLive(t.Context(), variant("monolith", nil), point(nil), left); got.Verdict != want {
			t.Errorf("clocks %v apart: %s: %q, want %s", apart, got.Verdict, got.Problems, want)
		}
	}
}

// TestTwoChoicesNeedReplicas, whether the shop's own knob makes them or the variant.
func TestTwoChoicesNeedReplicas(t *testing.T) {
	for _, c := range []struct {
		knobs    map[string]string
		replicas map[string]int
		refused  bool
	}{
		{nil, nil, true}, {map[string]string{architecture.KnobReplicas: "payments=2"}, nil, false},
		{nil, map[string]int{"payments": 2}, false},
	} {
		v := variant(architecture.Sync, map[string]string{kit.KnobBalancing: kit.LeastRequests})
		maps.Copy(v.Knobs, c.knobs)
		v.Replicas = c.replicas
		_, err := System{Generator: &loadedtest.Generator{}}.Layout(v,
			point(map[string]float64{lab.FactorRate: 10}), 1)
		if (err != nil) != c.refused {
			t.Errorf("knobs %v, replicas %v: %v, want refused: %t", c.knobs, c.replicas, err, c.refused)
		}
	}
}

// TestWhatCanBeReplicated: units that are found by their addresses, and are not replicas
// already.
func TestWhatCanBeReplicated(t *testing.T) {
	for _, c := range []struct {
		architecture string
		knobs        map[string]string
		want         []string
	}{
		{architecture.Monolith, nil, []string{"shop"}},
		{architecture.MonolithHA, nil, []string{"balancer"}},
		{architecture.Sync, map[string]string{architecture.KnobReplicas: "payments=2"},
			[]string{"catalog", "customers", "inventory", "shipping", "orders"}},
		{architecture.SyncTuned, map[string]string{architecture.KnobBinding: string(architecture.HTTPLeanUnix)},
			nil},
	} {
		l, _ := laidOut(t, variant(c.architecture, c.knobs), map[string]float64{lab.FactorRate: 10})
		var got []string
		for _, unit := range l.Units {
			if unit.Scalable {
				got = append(got, unit.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v can be replicated, want %v", c.architecture, c.knobs, got, c.want)
		}
	}
}
