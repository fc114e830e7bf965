package architecture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// stops shows a path: "monolith | coordination acid -> orchestrated: monolith-orchestrated | ...".
func stops(p Path) string {
	parts := []string{p.Stops[0].Name}
	for _, step := range p.Steps {
		var turned []string
		for _, c := range step.Changes {
			turned = append(turned, changeText(c))
		}
		parts = append(parts, strings.Join(turned, " and ")+": "+step.Variant)
	}
	return strings.Join(parts, " | ")
}

// changeText shows a change: "placement together -> apart (with binding http)".
func changeText(c lab.KnobChange) string {
	if c.With == "" {
		return c.String()
	}
	return c.String() + " (with " + c.With + ")"
}

func plain(name string) lab.Variant { return lab.Variant{Architecture: name} }

func variant(name string, knobs map[string]string) lab.Variant {
	return lab.Variant{Architecture: name, Knobs: knobs}
}

// Long because it is a table.
func TestPathsGoTheWayATeamWould(t *testing.T) {
	for name, c := range map[string]struct {
		from, to lab.Variant
		want     []string
	}{
		"monolith to async": {plain(Monolith), plain(Async), []string{
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | data shared -> databases: " +
				"sync-together | " +
				"placement together -> apart (with binding http): sync | " +
				"coordination orchestrated -> orchestrated-broker (with broker nats): sync-orchestrated-broker | " +
				"coordination orchestrated-broker -> choreographed: sync-choreographed | " +
				"reference asked -> replicated: async-tables | views tables -> documents (with documents sqlite): async",
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | reference asked -> replicated " +
				"(with broker nats): monolith-orchestrated-reference-replicated | coordination orchestrated -> " +
				"orchestrated-broker: monolith-orchestrated-broker-reference-replicated | " +
				"views tables -> documents (with documents sqlite): " +
				"monolith-orchestrated-broker-reference-replicated-documents | " +
				"coordination orchestrated-broker -> choreographed: async-together-shared | placement " +
				"together -> apart (with binding http): async-shared | data shared -> databases: async",
		}},
		"back again": {plain(Async), plain(Monolith), []string{
			"async | views documents -> tables: async-tables | reference replicated -> asked: sync-choreographed | " +
				"coordination choreographed -> orchestrated-broker: sync-orchestrated-broker | " +
				"coordination orchestrated-broker -> orchestrated: sync | " +
				"placement apart -> together: sync-together | " +
				"data databases -> shared: monolith-orchestrated | coordination orchestrated -> acid: monolith",
			"async | data databases -> shared: async-shared | placement apart -> together: async-together-shared | " +
				"coordination choreographed -> orchestrated-broker: async-together-shared-orchestrated-broker | " +
				"reference replicated -> asked: monolith-orchestrated-broker-documents | " +
				"views documents -> tables: monolith-orchestrated-broker | coordination orchestrated-broker -> " +
				"orchestrated: monolith-orchestrated | coordination orchestrated -> acid: monolith",
		}},
		"monolith to sync": {plain(Monolith), plain(Sync), []string{
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | data shared -> databases: " +
				"sync-together | placement together -> apart (with binding http): sync",
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | placement together -> apart " +
				"(with binding http): sync-shared | data shared -> databases: sync",
		}},
		"one knob": {plain(Sync), plain(SyncGRPC), []string{"sync | binding http -> grpc: sync-grpc"}},
		"protected calls": {plain(Sync), variant(Sync, map[string]string{kit.KnobSecurity: kit.MutualTLS}),
			[]string{"sync | security none -> mtls: sync-mtls"}},
		"calls in another encoding": {plain(SyncGRPC), variant(SyncGRPC, map[string]string{
			kit.KnobEncoding: kit.JSON}), []string{"sync-grpc | encoding default -> json: sync-grpc-json"}},
		"guarded calls": {plain(Sync), variant(Sync, map[string]string{kit.KnobResilience: kit.Budgeted}),
			[]string{"sync | resilience unguarded -> budgeted-retries: sync-budgeted-retries"}},
		"proxies beside units": {plain(Sync), variant(Sync, map[string]string{kit.KnobSidecar: kit.HAProxy}),
			[]string{"sync | sidecar none -> haproxy: sync-sidecar-haproxy"}},
		"replicas before a choice among them": {plain(Sync), variant(Sync, map[string]string{
			KnobReplicas: "inventory=2", kit.KnobBalancing: kit.TwoChoices}), []string{
			"sync | replicas 1 -> inventory=2: sync-replicas-inventory.2 | balancing round-robin -> two-choices: " +
				"sync-replicas-inventory.2-two-choices",
		}},
		"events that may be lost": {variant(Async, map[string]string{KnobPublishing: "dual-write"}), plain(Async),
			[]string{"async-dual-write | publishing dual-write -> outbox: async"}},
		"a saga of events that may be lost": {plain(Sync),
			variant(Async, map[string]string{KnobPublishing: "dual-write", KnobViews: "tables"}), []string{
				"sync | coordination orchestrated -> orchestrated-broker (with broker nats): " +
					"sync-orchestrated-broker | coordination orchestrated-broker -> choreographed: " +
					"sync-choreographed | reference asked -> replicated: async-tables | publishing outbox -> " +
					"dual-write: async-dual-write-tables",
				"sync | reference asked -> replicated (with broker nats): sync-reference-replicated | publishing " +
					"outbox -> dual-write: sync-dual-write-reference-replicated | coordination orchestrated -> " +
					"orchestrated-broker: sync-orchestrated-broker-dual-write-reference-replicated | " +
					"coordination orchestrated-broker -> choreographed: async-dual-write-tables",
			}},
		"a replica": {plain(Sync), variant(Sync, map[string]string{KnobReference: string(Replicated)}),
			[]string{"sync | reference asked -> replicated (with broker nats): sync-reference-replicated"}},
		"a cache": {plain(Sync), variant(Sync, map[string]string{KnobViews: string(FromCache)}),
			[]string{"sync | views tables -> cached: sync-cached"}},
		"read models for a cache": {variant(Async, map[string]string{KnobViews: string(FromCache)}), plain(Async),
			[]string{"async-cached | views cached -> documents (with documents sqlite): async"}},
		"a log of requests": {plain(Sync), variant(Sync, map[string]string{kit.KnobLogging: kit.LogRequests}),
			[]string{"sync | logging off -> requests: sync-requests"}},
		"a split with protected calls": {plain(Monolith), variant(Sync, map[string]string{KnobData: "shared",
			kit.KnobSecurity: kit.TLS}), []string{
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | placement together -> apart " +
				"(with binding http): sync-shared | security none -> tls: sync-tls-shared",
		}},
		"a split over gRPC": {plain(Monolith), variant(SyncGRPC, map[string]string{KnobData: "shared"}), []string{
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | placement together -> apart " +
				"(with binding grpc): sync-grpc-shared",
		}},
		"on real parts": {variant(Sync, map[string]string{KnobDatabase: "mariadb"}),
			variant(Async, map[string]string{KnobDatabase: "mariadb", KnobBroker: "rabbitmq", KnobDocuments: "mongo"}),
			[]string{
				"sync | coordination orchestrated -> orchestrated-broker (with broker rabbitmq): " +
					"sync-orchestrated-broker | coordination orchestrated-broker -> choreographed: sync-choreographed | " +
					"reference asked -> replicated: async-tables | views tables -> documents (with documents mongo): async",
				"sync | coordination orchestrated -> orchestrated-broker (with broker rabbitmq): " +
					"sync-orchestrated-broker | views tables -> documents (with documents mongo): " +
					"sync-orchestrated-broker-documents | reference asked -> replicated: async-orchestrated-broker | " +
					"coordination orchestrated-broker -> choreographed: async",
			}},
		"two-phase commit": {variant(Monolith, map[string]string{KnobDatabase: "postgres"}),
			variant(Sync, map[string]string{KnobDatabase: "postgres", KnobCoordination: "two-phase"}), []string{
				"monolith | coordination acid -> orchestrated: monolith-orchestrated | data shared -> databases: " +
					"sync-together | placement together -> apart (with binding http): sync | " +
					"coordination orchestrated -> two-phase: sync-two-phase",
				"monolith | coordination acid -> orchestrated: monolith-orchestrated | placement together -> apart " +
					"(with binding http): sync-shared | data shared -> databases: sync | " +
					"coordination orchestrated -> two-phase: sync-two-phase",
			}},
		"a schema for each": {variant(Monolith, map[string]string{KnobDatabase: "postgres"}),
			variant(Sync, map[string]string{KnobDatabase: "postgres", KnobData: "schemas"}), []string{
				"monolith | coordination acid -> orchestrated: monolith-orchestrated | data shared -> schemas: " +
					"monolith-schemas-orchestrated | placement together -> apart (with binding http): sync-schemas",
				"monolith | data shared -> schemas: monolith-schemas | coordination acid -> orchestrated: " +
					"monolith-schemas-orchestrated | placement together -> apart (with binding http): sync-schemas",
			}},
		"schemas only where they can be": {variant(Sync,
			map[string]string{KnobDatabase: "postgres", KnobData: "schemas"}), plain(Sync), []string{
			"sync-schemas-postgres | data schemas -> databases: sync-postgres | database postgres -> sqlite: sync",
		}},
		"fewer replicas first": {plain(MonolithHA), variant(Sync, map[string]string{KnobData: "shared"}), []string{
			"monolith-ha | replicas 2 -> 1: monolith | coordination acid -> orchestrated: monolith-orchestrated | " +
				"placement together -> apart (with binding http): sync-shared",
			"monolith-ha | coordination acid -> orchestrated: monolith-ha-orchestrated | placement together -> " +
				"apart (with binding http): monolith-ha-apart-orchestrated | replicas 2 -> 1: sync-shared",
		}},
		"what only the split has": {plain(Monolith), variant(Sync,
			map[string]string{KnobReplicas: "orders=2", KnobData: "shared"}), []string{
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | placement together -> apart " +
				"(with binding http): sync-shared | replicas 1 -> orders=2: sync-replicas-orders.2-shared",
		}},
		"two that need each other": {variant(Sync, map[string]string{KnobPlacement: "catalog,customers",
			KnobReplicas: "catalog=2"}),
			variant(Sync, map[string]string{KnobPlacement: "payments,shipping", KnobReplicas: "payments=2"}), []string{
				"sync-placement-catalog.customers-replicas-catalog.2 | replicas catalog=2 -> payments=2 and placement " +
					"catalog,customers -> payments,shipping: sync-placement-payments.shipping-replicas-payments.2",
			}},
	} {
		paths, err := Paths(c.from, c.to)
		var got []string
		for _, p := range paths {
			got = append(got, stops(p))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: error %v\n got %s\nwant %s", name, err, strings.Join(got, "\n     "),
				strings.Join(c.want, "\n     "))
		}
	}
}

// TestWhatTunesComesLast: a path to a tuned architecture passes the stock one, and turns no knob that has no
// effect yet.
func TestWhatTunesComesLast(t *testing.T) {
	onServers := map[string]string{KnobDatabase: "mariadb", KnobDocuments: "mongo"}
	for name, c := range map[string]struct {
		from, to lab.Variant
		want     string
	}{
		"stock to tuned": {variant(Async, onServers), variant(AsyncTuned, onServers),
			"async | binding http -> http-lean: async-http-lean | batching off -> on: async-tuned-runtime-default | " +
				"runtime default -> shared-host: async-tuned"},
		"from the monolith": {variant(Monolith, map[string]string{KnobDatabase: "mariadb"}),
			variant(AsyncTuned, onServers),
			"monolith | coordination acid -> orchestrated: monolith-orchestrated | data shared -> databases: " +
				"sync-together | " +
				"placement together -> apart (with binding http): sync | coordination orchestrated -> " +
				"orchestrated-broker (with broker nats): sync-orchestrated-broker | " +
				"coordination orchestrated-broker -> choreographed: sync-choreographed | " +
				"reference asked -> replicated: async-tables | " +
				"views tables -> documents (with documents mongo): async | " +
				"binding http -> http-lean: async-http-lean | " +
				"batching off -> on: async-tuned-runtime-default | runtime default -> shared-host: async-tuned"},
		"where the runtime has no effect": {plain(Sync), plain(SyncTuned),
			"sync | binding http -> http-lean: sync-http-lean | batching off -> on: sync-tuned"},
		"to another binding": {plain(Sync), plain(SyncGRPCTuned),
			"sync | binding http -> grpc: sync-grpc | binding grpc -> grpc-lean: sync-grpc-lean | batching off -> " +
				"on: sync-grpc-tuned"},
		"to a smaller one": {plain(Sync), plain(MonolithTuned),
			"sync | placement apart -> together: sync-together | data databases -> shared: monolith-orchestrated | " +
				"coordination orchestrated -> acid: monolith | batching off -> on: monolith-tuned"},
		"from a smaller one": {plain(MonolithTuned), plain(Sync),
			"monolith-tuned | batching on -> off: monolith | coordination acid -> orchestrated: " +
				"monolith-orchestrated | data shared -> databases: sync-together | placement together -> apart (with " +
				"binding http): sync"},
		"to one in which the runtime has no effect": {variant(Async, onServers),
			variant(MonolithTuned, map[string]string{KnobDatabase: "mariadb"}),
			"async | views documents -> tables: async-tables | reference replicated -> asked: sync-choreographed | " +
				"coordination choreographed -> orchestrated-broker: sync-orchestrated-broker | " +
				"coordination orchestrated-broker -> orchestrated: sync | placement apart -> together: " +
				"sync-together | data databases -> shared: monolith-orchestrated | coordination orchestrated -> " +
				"acid: monolith | batching off -> on: monolith-tuned"},
		"from one in which it has none": {variant(MonolithTuned, map[string]string{KnobDatabase: "mariadb"}),
			variant(SyncTuned, map[string]string{KnobDatabase: "mariadb"}),
			"monolith-tuned | coordination acid -> orchestrated: monolith-tuned-orchestrated | data shared -> " +
				"databases: sync-tuned-together | placement together -> apart (with binding http): " +
				"sync-batching-on | binding http -> http-lean: sync-tuned-runtime-default | runtime default -> " +
				"shared-host: sync-tuned"},
		"both tuned": {plain(SyncTuned), plain(SyncGRPCTuned),
			"sync-tuned | binding http-lean -> grpc-lean: sync-grpc-tuned"},
		"back again": {plain(SyncGRPCTuned), plain(Monolith),
			"sync-grpc-tuned | batching on -> off: sync-grpc-tuned-batching-off | binding grpc-lean -> grpc: " +
				"sync-grpc | placement apart -> together: sync-together | " +
				"data databases -> shared: monolith-orchestrated | coordination orchestrated -> acid: monolith"},
	} {
		if paths, err := Paths(c.from, c.to); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := stops(paths[0]); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestDifferencesAreAllKnobsAtOnce: they are the changes that a path makes one by one.
func TestDifferencesAreAllKnobsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		from, to lab.Variant
		want     string
	}{
		"a knob without effect before": {plain(MonolithHA), plain(SyncGRPC),
			"placement together -> apart, replicas 2 -> 1, data shared -> databases, coordination acid -> " +
				"orchestrated (with binding grpc)"},
		"tuned, too": {plain(MonolithHA), plain(SyncTuned),
			"placement together -> apart, replicas 2 -> 1, data shared -> databases, coordination acid -> " +
				"orchestrated, batching off -> on (with binding http-lean)"},
		"by way of a value": {plain(Monolith), plain(Async),
			"placement together -> apart, data shared -> databases, coordination acid -> choreographed, reference " +
				"asked -> replicated, views tables -> documents (with binding http, broker nats, documents sqlite)"},
		"on other backings": {variant(Sync, map[string]string{KnobDatabase: "mariadb"}),
			variant(Async, map[string]string{KnobDatabase: "mariadb", KnobBroker: "rabbitmq"}),
			"coordination orchestrated -> choreographed, reference asked -> replicated, views tables -> documents " +
				"(with broker rabbitmq, documents sqlite)"},
		"the same": {plain(Sync), plain(Sync), ""},
	} {
		var said []string
		for _, change := range Differences(c.from, c.to) {
			said = append(said, changeText(change))
		}
		if got := strings.Join(said, ", "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	if found := Differences(plain(Sync), plain("castle")); found != nil {
		t.Error("an unknown architecture differs from a known one")
	}
}

// TestPathsBetweenAllArchitectures checks the promises of Paths for every two presets.
func TestPathsBetweenAllArchitectures(t *testing.T) {
	names := catalogue().Names()
	for _, from := range names {
		for _, to := range names {
			paths, err := Paths(plain(from), plain(to))
			if from == to {
				if err == nil || !strings.Contains(err.Error(), "nothing to explain") {
					t.Errorf("%s to itself: %v", from, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			for _, p := range paths {
				checkStops(t, p, to)
			}
			if len(paths) == 2 && !slices.Equal(allChanges(paths[0]), allChanges(paths[1])) {
				t.Errorf("%s to %s: the two orders have other changes: %v and %v", from, to, allChanges(paths[0]),
					allChanges(paths[1]))
			}
		}
	}
}

// checkStops fails the test unless the path ends at an architecture as it is, and every stop can be built,
// has a name of its own, and differs from the one before in the knob that the step says and in no other.
func checkStops(t *testing.T, p Path, to string) {
	t.Helper()
	seen := map[string]bool{p.Stops[0].Name: true}
	before := p.Stops[0]
	for i, step := range p.Steps {
		after := p.Stops[i+1]
		was, err := New(before.Architecture, before.Knobs)
		is, err2 := New(after.Architecture, after.Knobs)
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v, %v", stops(p), err, err2)
		}
		turned := slices.DeleteFunc(differing(before, after),
			func(knob string) bool { return was.idle(knob) || is.idle(knob) })
		if len(step.Changes) != 1 || !slices.Equal(turned, []string{step.Changes[0].Knob}) {
			t.Errorf("%s: step to %s turns %v and says %v", stops(p), step.Variant, turned, step.Changes)
		}
		if seen[step.Variant] || step.Variant != after.Name || step.Before != before.Name {
			t.Errorf("%s: step from %s to %s: the stops are %s and %s, or one comes twice", stops(p), step.Before,
				step.Variant, before.Name, after.Name)
		}
		seen[step.Variant] = true
		before = after
	}
	if before.Architecture != to || len(before.Knobs) > 0 {
		t.Errorf("%s: ends at %s, want %s", stops(p), asTyped(before), to)
	}
}

// differing returns the knobs at which two variants are set differently.
func differing(a, b lab.Variant) []string {
	one, _ := catalogue().Settings(a.Architecture, a.Knobs)
	other, _ := catalogue().Settings(b.Architecture, b.Knobs)
	var names []string
	for _, knob := range slices.Sorted(maps.Keys(one)) {
		if one[knob] != other[knob] {
			names = append(names, knob)
		}
	}
	return names
}

func allChanges(p Path) []string {
	var all []string
	for _, step := range p.Steps {
		for _, c := range step.Changes {
			all = append(all, fmt.Sprint(c.Knob, c.From, c.To))
		}
	}
	slices.Sort(all)
	return all
}

func TestErrorsOfPaths(t *testing.T) {
	for name, c := range map[string]struct {
		from, to lab.Variant
		want     string
	}{
		"unknown": {plain("mono"), plain(Sync), `no architecture "mono"`},
		"impossible": {plain(Monolith), variant(Monolith, map[string]string{KnobViews: string(FromDocuments)}),
			"kept up to date by events"},
		"same": {plain(Sync), variant(Sync, map[string]string{KnobBinding: "http"}), "nothing to explain"},
		"too far": {plain(Sync), variant(AsyncTuned, map[string]string{KnobDatabase: mariadb,
			KnobAccess: string(ORM), KnobDisk: lab.DiskReplicated, KnobPool: "20", KnobReplicas: "2",
			kit.KnobBalancing: kit.LeastRequests, kit.KnobEncoding: kit.MessagePack,
			kit.KnobSecurity: kit.MutualTLS, kit.KnobResilience: kit.Guarded, kit.KnobLogging: kit.LogRequests,
			kit.KnobSpans: kit.SpansAll}), "and a path may have 16"},
		"bad setting": {plain(Sync), variant(Sync, map[string]string{KnobPool: "many"}), "use 1 to 200"},
	} {
		if _, err := Paths(c.from, c.to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestNumbersHaveTheirKnobsInNames: a number does not show which knob it belongs to.
func TestNumbersHaveTheirKnobsInNames(t *testing.T) {
	turned := map[string]string{KnobReplicas: "1", KnobCoordination: string(Orchestrated)}
	if got := name(variant(MonolithHA, turned), nil); got != "monolith-ha-replicas-1-orchestrated" {
		t.Errorf("the variant is called %s", got)
	}
}

// TestThreeThatNeedEachOther removes all stops between two variants, so that three knobs must be turned at
// once. With the present knobs this cannot happen.
func TestThreeThatNeedEachOther(t *testing.T) {
	s, err := newSearch(plain(Monolith), plain(Sync))
	testset.Must(t, err)
	s.stops = map[int]lab.Variant{0: s.from, s.all(): s.to}
	if paths, err := s.paths(); err == nil || !strings.Contains(err.Error(),
		"coordination, data, placement differ") {
		t.Errorf("%v, %v, want no path and the knobs named", paths, err)
	}
	s.stops[0b011] = plain(MonolithHA) // any variant: it is reached by two changes at once
	if paths, err := s.paths(); err != nil || len(paths) != 1 || len(paths[0].Steps) != 2 ||
		len(paths[0].Steps[0].Changes) != 2 {
		t.Errorf("%v, %v, want one path of two steps, two knobs at once in the first", paths, err)
	}
}
