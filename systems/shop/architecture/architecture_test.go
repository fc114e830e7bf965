package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
)

func TestEveryArchitectureIsADesign(t *testing.T) {
	units := map[string]int{Monolith: 1, MonolithHA: 1, MonolithTuned: 1, Sync: 6, SyncGRPC: 6, Async: 8,
		AsyncDFS: 8, SyncTuned: 6, SyncGRPCTuned: 6, AsyncTuned: 8}
	for _, a := range All() {
		d, err := New(a.Name, nil)
		if d.Replicated != (a.Name == AsyncDFS) {
			t.Errorf("%s: replicated %v", a.Name, d.Replicated)
		}
		if d.Spans != 1.0/32 {
			t.Errorf("%s: the share %g of orders is traced", a.Name, d.Spans)
		}
		if err != nil || len(d.Units) != units[a.Name] {
			t.Errorf("%s: %d units, error %v, want %d", a.Name, len(d.Units), err, units[a.Name])
		}
		if kept, err := New(a.Name, map[string]string{KnobViews: string(FromCache)}); err != nil ||
			len(kept.Units) != min(units[a.Name], 6) || kept.Documents != "" { // a cache has no unit of its own
			t.Errorf("%s with a cache: %+v, error %v", a.Name, kept.Units, err)
		}
		turned := map[string]string{}
		for _, k := range a.Knobs { // the first value is the architecture's own
			if !slices.Contains([]string{KnobBinding, KnobBroker, KnobPublishing, KnobDocuments}, k.Name) {
				turned[k.Name] = k.Values[0]
			}
		}
		again, err := New(a.Name, turned)
		if err != nil || again.Data != d.Data || again.Coordination != d.Coordination || again.Views != d.Views ||
			len(again.Units) != len(d.Units) {
			t.Errorf("%s with its own first values: %+v (%v), want %+v", a.Name, again, err, d)
		}
	}
}

// TestTunedArchitecturesDifferInTuning: a tuned architecture says so in its name, and differs from its stock
// one in tuning only.
func TestTunedArchitecturesDifferInTuning(t *testing.T) {
	for _, name := range catalogue().Names() {
		settings, err := catalogue().Settings(name, nil)
		testset.Must(t, err)
		stock, isTuned := strings.CutSuffix(name, tuned)
		for _, knob := range []string{KnobBinding, KnobBatching, KnobRuntime} {
			if isStock(knob, settings[knob]) == isTuned {
				t.Errorf("%s has %s %s", name, knob, settings[knob])
			}
		}
		if isTuned && !slices.Equal(differing(plain(stock), plain(name)),
			[]string{KnobBatching, KnobBinding, KnobRuntime}) {
			t.Errorf("%s differs from %s in %v", name, stock, differing(plain(stock), plain(name)))
		}
	}
}

func TestPlacement(t *testing.T) {
	for text, want := range map[string][]string{
		"together":          {"shop"},
		"apart":             {"catalog", "customers", "inventory", "payments", "shipping", "orders"},
		"catalog+customers": {"catalog-customers", "inventory-payments-shipping-orders"},
		"orders,catalog+customers+inventory+payments+shipping": {"orders",
			"catalog-customers-inventory-payments-shipping"},
	} {
		d, err := New(Sync, map[string]string{KnobPlacement: text})
		var got []string
		for _, u := range d.Units {
			got = append(got, u.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: units %v, error %v, want %v", text, got, err, want)
		}
	}
	if d, err := New(MonolithHA, nil); err != nil ||
		!slices.Equal(d.Units[0].Instances(), []string{"shop-1", "shop-2"}) {
		t.Errorf("%s: %+v, error %v, want two behind a balancer", MonolithHA, d, err)
	}
	d, err := New(Sync, map[string]string{KnobReplicas: "orders=2,inventory=3"})
	if err != nil || d.Hosting("orders").Replicas != 2 || d.Hosting("inventory").Replicas != 3 ||
		d.Hosting("catalog").Replicas != 1 {
		t.Errorf("replicas: %+v, error %v", d.Units, err)
	}
}

// TestWhatCannotBeIsRefusedWithTheReason checks every refusal. Long because it is one table.
func TestWhatCannotBeIsRefusedWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		architecture string
		turned       map[string]string
		want         string
	}{
		"unknown architecture": {"mono", nil, "use one of monolith, monolith-ha"},
		"unknown knob":         {Monolith, map[string]string{"colour": "red"}, `no knob "colour"`},
		"unknown value": {Monolith, map[string]string{KnobDatabase: "oracle"},
			"use one of sqlite, mariadb, postgres"},
		"unknown component": {Sync, map[string]string{KnobPlacement: "orders+carts"}, `names "carts"`},
		"component twice":   {Sync, map[string]string{KnobPlacement: "orders,orders"}, "names orders twice"},
		"no such unit":      {Sync, map[string]string{KnobReplicas: "shop=2"}, `no unit "shop"`},
		"a unit twice": {Sync, map[string]string{KnobReplicas: "orders=2,orders=3"},
			`the unit "orders" twice`},
		"no replicas": {Sync, map[string]string{KnobReplicas: "0"}, "use 1 to 20"},
		"pool":        {Monolith, map[string]string{KnobPool: "many"}, "use 1 to 200"},
		"prefetch":    {Async, map[string]string{KnobPrefetch: "0"}, "use 1 to 10000"},
		"spans":       {Monolith, map[string]string{kit.KnobSpans: "2"}, "a share from 0 to 1"},
		"ACID across units": {Sync, map[string]string{KnobCoordination: "acid", KnobData: "shared"},
			"in 4 units (inventory, orders, payments, shipping)"},
		"ACID across databases": {Monolith, map[string]string{KnobData: "databases"},
			"one transaction of one database"},
		"two-phase commit of SQLite": {Sync, map[string]string{KnobCoordination: "two-phase"},
			"use database mariadb or postgres, or coordination orchestrated"},
		"two-phase commit in one database": {Monolith,
			map[string]string{KnobCoordination: "two-phase", KnobDatabase: "postgres"}, "has nothing to coordinate"},
		"two-phase commit in batches": {Sync, map[string]string{KnobCoordination: "two-phase",
			KnobDatabase: "postgres", KnobBatching: "on"}, "use batching off"},
		"two-phase commit with guards": {Sync, map[string]string{KnobCoordination: "two-phase",
			KnobDatabase: "postgres", kit.KnobResilience: kit.Timeouts}, "longer than resilience timeouts lets it"},
		"two-phase commit over replicas": {Sync, map[string]string{KnobCoordination: "two-phase",
			KnobDatabase: "mariadb", KnobReplicas: "inventory=2"}, "belongs to its connection: use database postgres"},
		"schemas of SQLite": {Sync, map[string]string{KnobData: "schemas"},
			"but a file of SQLite has none: use data databases, or database postgres"},
		"schemas of MariaDB": {Sync, map[string]string{KnobData: "schemas", KnobDatabase: "mariadb"},
			"to MariaDB a schema is a database: use data databases, or database postgres"},
		"documents beside a cache": {Sync, map[string]string{KnobViews: "cached", KnobDocuments: "mongo"},
			"documents mongo would be empty: views are cached"},
		"views without events": {Sync, map[string]string{KnobViews: "documents"}, "publishes none"},
		"a replica in one transaction": {Monolith, map[string]string{KnobReference: string(Replicated)},
			"use reference asked, or coordination orchestrated"},
		"binding in one unit": {Monolith, map[string]string{KnobBinding: "grpc"}, "nothing to carry"},
		"resilience in one unit": {Monolith, map[string]string{"resilience": "breaker"},
			"resilience breaker has no effect"},
		"proxies over Unix sockets": {Sync, map[string]string{KnobBinding: "grpc-lean-unix", "sidecar": "haproxy"},
			"sidecar haproxy listens to TCP, but binding is grpc-lean-unix: use binding grpc-lean"},
		"balancing in one unit": {MonolithHA, map[string]string{"balancing": "two-choices"},
			"balancing two-choices has no effect"},
		"security in one unit":  {Monolith, map[string]string{"security": "tls"}, "security tls has no effect"},
		"broker without events": {Sync, map[string]string{KnobBroker: "rabbitmq"}, "publishes no events"},
		"publishing without events": {Sync, map[string]string{KnobPublishing: "dual-write"},
			"publishing dual-write has nothing to publish"},
		"documents without views": {Sync, map[string]string{KnobDocuments: "mongo"}, "would be empty"},
		"a pair before one unit": {Monolith, map[string]string{KnobBalancer: "pair"},
			"has nothing to balance: one unit takes orders; use replicas 2"},
		"every mistake, the last": {Sync, map[string]string{KnobPool: "x", KnobPrefetch: "y"},
			"prefetch is \"y\""},
		"every mistake, the first": {Sync, map[string]string{KnobPool: "x", KnobPrefetch: "y"}, "pool is \"x\""},
	} {
		if _, err := New(c.architecture, c.turned); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestWhereTheTablesAre: a component's tables are in DatabaseOf. A unit opens several schemas as one if a
// transaction goes over them.
func TestWhereTheTablesAre(t *testing.T) {
	schemas := map[string]string{KnobData: "schemas", KnobDatabase: "postgres"}
	apartFromReads := map[string]string{KnobData: "schemas", KnobDatabase: "postgres",
		KnobPlacement: "catalog+customers"}
	for name, c := range map[string]struct {
		architecture string
		turned       map[string]string
		holds, opens string
	}{
		"shared":             {Monolith, nil, "shop", "shop"},
		"databases":          {Sync, nil, "orders", "orders"},
		"schemas":            {Sync, schemas, "shop.orders", "shop.orders"},
		"schemas and events": {Async, schemas, "shop.orders", "shop.orders"},
		"schemas and ACID": {Monolith, schemas, "shop.orders",
			"shop.catalog,customers,inventory,payments,shipping,orders"},
		"schemas and ACID in parts": {Monolith, apartFromReads, "shop.orders",
			"shop.inventory,payments,shipping,orders"},
	} {
		d, err := New(c.architecture, c.turned)
		testset.Must(t, err)
		if holds, opens := d.DatabaseOf("orders"), d.OpenedBy(d.Hosting("orders"), "orders"); holds != c.holds ||
			opens != c.opens {
			t.Errorf("%s: tables in %q, opened as %q, want %q and %q", name, holds, opens, c.holds, c.opens)
		}
	}
}

func TestBackingsGoWhereTheyAreOfUse(t *testing.T) {
	kinds := []string{"mariadb", "rabbitmq", "mongo"}
	for name, want := range map[string]int{Monolith: 1, Sync: 1, Async: 3} {
		turned, err := Backed(plain(name), kinds)
		if err != nil || len(turned) != want || turned[KnobDatabase] != "mariadb" {
			t.Errorf("%s: %v (%v), want %d knobs", name, turned, err, want)
		}
		if _, err := New(name, turned); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	events := map[string]string{KnobCoordination: string(Choreographed)}
	if turned, err := Backed(variant(Monolith, events), []string{BrokerQuorum}); err != nil ||
		turned[KnobBroker] != BrokerQuorum {
		t.Errorf("%v (%v), want the broker that turned knobs ask for", turned, err)
	}
	schemas := map[string]string{KnobData: string(OwnSchemas)}
	if turned, err := Backed(variant(Sync, schemas), []string{"postgres"}); err != nil ||
		turned[KnobDatabase] != "postgres" {
		t.Errorf("%v (%v), want the backing that makes the turned knob possible", turned, err)
	}
	if _, err := Backed(variant(Sync, schemas), []string{"mariadb"}); err == nil ||
		!strings.Contains(err.Error(), "a schema is a database") {
		t.Errorf("%v, want a backing refused that a turned knob cannot stand on", err)
	}
	if _, err := Backed(variant(Monolith, nil), []string{"mariadb", "postgres"}); err == nil ||
		!strings.Contains(err.Error(), "choose one") {
		t.Errorf("%v, want one database", err)
	}
	if _, err := Backed(variant(Monolith, nil), []string{"oracle"}); err == nil ||
		!strings.Contains(err.Error(), `"oracle"`) {
		t.Errorf("%v, want the unknown backing named", err)
	}
}
