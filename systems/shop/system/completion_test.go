package system

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
)

// epoch is the time at which the measured load of a trial in testdata began, in nanoseconds
// since 1970; the warm-up began ten seconds before.
const epoch = 1_700_000_000_000_000_000

const ms = 1_000_000 // nanoseconds

// tried is a line of the history: an order that was due and answered so many
// milliseconds after the load began.
type tried struct {
	order, key    string
	due, answered int64
	end           string
	warmUp        bool
}

// trial writes what a trial leaves behind: the history, and observations as lines.
func trial(t *testing.T, attempts []tried, observed ...string) string {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for _, a := range attempts {
		begun := int64(epoch)
		if a.warmUp {
			begun -= 10_000 * ms
		}
		line, err := json.Marshal(map[string]any{
			"operation": creating, "end": a.end, "outcome": "x", "intended_ns": a.due * ms, "sent_ns": a.due*ms + 1,
			"finished_ns":   a.answered * ms,
			"begun_unix_ns": begun, "warm_up": a.warmUp, "noted": map[string]string{"order": a.order, "key": a.key},
		})
		testset.Must(t, err)
		text.Write(append(line, '\n'))
	}
	for name, content := range map[string]string{loaded.History: text.String(),
		"orders.observed": strings.Join(observed, "\n") + "\n"} {
		testset.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// final returns the line of an order that became final so long after the load began.
func final(order string, after int64) string {
	return fmt.Sprintf("final %s %d", order, epoch+after*ms)
}

// shown returns the line of a change of a document.
func shown(document string, made, seen int64) string {
	return fmt.Sprintf("shown %s 1 %d %d", document, epoch+made*ms, epoch+seen*ms)
}

// busy returns a trial of four measured orders: one is final before its client is
// answered, one long after, one only when the load is over, and one never.
func busy(t *testing.T) string {
	t.Helper()
	return trial(t, []tried{
		{order: "warm", key: "kw", due: 0, answered: 5, end: "ok", warmUp: true},
		{order: "a", key: "ka", due: 0, answered: 20, end: "ok"},
		{order: "b", key: "kb", due: 100, answered: 110, end: "ok"},
		{order: "c", key: "kc", due: 200, answered: 210, end: "ok"},
		{order: "d", key: "kd", due: 300, answered: 310, end: "ok"},
		{key: "ke", due: 400, answered: 450, end: "info"},
		{key: "kf", due: 500, answered: 501, end: "fail"},
	}, final("b", 600), final("a", 10), final("warm", -9_990), final("c", 1_200), final("e", 470),
		"final torn 17",
		shown("order_views/a", 10, 30), shown("order_views/b", 600, 700), shown("order_views/warm", -9_990, -8_000),
		shown("known_products/3", 20, 25))
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// historyIn returns the history of a trial in a directory.
func historyIn(t *testing.T, dir string) ([]attempt, string) {
	t.Helper()
	attempts, err := readAttempts(dir)
	testset.Must(t, err)
	return attempts, dir
}

// TestHistoryAndObservationsAreJoined: times run from the intended start to the
// final state, on the host's clock, without the warm-up's.
func TestHistoryAndObservationsAreJoined(t *testing.T) {
	for name, c := range map[string]struct {
		ids      map[string]string
		want     []float64
		good     float64 // per second of a load of a second
		complete float64
	}{
		"ids are known": {map[string]string{"ke": "e", "kf": "nobody"},
			[]float64{0.010, 0.070, 0.500, 1.000}, 2, 3},
		"an id that no client got": {nil, []float64{0.010, 0.500, 1.000}, 2, 2},
		"ids of other orders":      {map[string]string{"kz": "z"}, []float64{0.010, 0.500, 1.000}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			attempts, dir := historyIn(t, busy(t))
			orders, err := newTally(attempts, dir, c.ids)
			testset.Must(t, err)
			got := orders.completions()
			if len(got) != len(c.want) {
				t.Fatalf("completion times %v, want %v", got, c.want)
			}
			for i := range got {
				near(t, "completion time", got[i], c.want[i])
			}
			if orders.accepted != 4 || orders.open != 1 || orders.unknown != 1 || orders.all != 5 ||
				orders.since != 4 || orders.begun != epoch {
				t.Errorf("%+v, want 4 accepted, 1 open, 1 unknown, 5 final in all and 4 since", orders)
			}
			completed, good, _ := orders.rates(1)
			near(t, "completed per second", completed, c.complete)
			near(t, "goodput", good, c.good)
			near(t, "share not final after a second", orders.openAt(1), 0.5)
			lags := staleness(orders.showings)
			if len(lags) != 2 || math.Abs(lags[0]+lags[1]-0.120) > 1e-9 {
				t.Errorf("staleness %v, want 20 and 100 ms", lags)
			}
			if lags = staleness(orders.replicated); len(lags) != 1 || math.Abs(lags[0]-0.005) > 1e-9 {
				t.Errorf("staleness of the replica %v, want 5 ms", lags)
			}
		})
	}
}

// TestALoadWithoutATimeEndsWithItsLastOrder: a counted load is over when all its orders are final.
func TestALoadWithoutATimeEndsWithItsLastOrder(t *testing.T) {
	attempts, dir := historyIn(t, busy(t))
	orders, err := newTally(attempts, dir, nil)
	testset.Must(t, err)
	completed, good, _ := orders.rates(0)
	near(t, "completed per second", completed, 3/1.2)
	near(t, "goodput", good, 3/1.2)
	if completed, good, known := (&tally{}).rates(0); completed != 0 || good != 0 || !known {
		t.Errorf("%g and %g per second of nothing, known: %t", completed, good, known)
	}
}

// TestNoRateIfAllWasFinalBeforeTheBeginning: the clock of the orders' unit is behind the generator's.
func TestNoRateIfAllWasFinalBeforeTheBeginning(t *testing.T) {
	for _, final := range []int64{epoch - 1e6, epoch} {
		orders := tally{begun: epoch, final: []followed{{final: final, right: true}}}
		values := map[string]float64{"goodput": 7}
		orders.addRates(values, lab.Point{Levels: map[string]float64{Orders: 1}}, lab.LoadReport{})
		if len(values) != 0 {
			t.Errorf("final %d ns after the beginning: %v, want no rate", final-epoch, values)
		}
		paced := lab.Point{Levels: map[string]float64{lab.FactorRate: 1}}
		orders.addRates(values, paced, lab.LoadReport{Duration: 2})
		near(t, "rate of a load of two seconds", values["completed_rate"], 0.5)
	}
}

// TestTheAuditSaysWhichOrdersHaveNoTime: one was accepted and never final, and one
// is final on record but nobody has noted when.
func TestTheAuditSaysWhichOrdersHaveNoTime(t *testing.T) {
	valid := func() lab.Audit {
		return lab.Audit{Verdict: lab.AuditValid, Counts: map[string]int64{"confirmed": 3, "rejected": 2,
			"cancelled": 1}, Figures: map[string]float64{}}
	}
	attempts, dir := historyIn(t, busy(t))
	got := withCompletion(valid(), lab.LoadReport{}, attempts, lab.Leftover{Dir: dir})
	if got.Verdict != lab.AuditValid || got.Figures[figureNeverFinal] != 1 || got.Figures[figureUnseen] != 1 {
		t.Errorf("%s with %v, want valid with one never final and one unseen", got.Verdict, got.Figures)
	}
	if _, err := readAttempts(t.TempDir()); err == nil {
		t.Error("a trial without a history is read")
	}
	unreadable := t.TempDir()
	testset.Must(t, os.Mkdir(filepath.Join(unreadable, "orders.observed"), 0o700))
	got = withCompletion(valid(), lab.LoadReport{}, attempts, lab.Leftover{Dir: unreadable})
	if got.Verdict != lab.AuditUnknown {
		t.Errorf("%s where observations cannot be read", got.Verdict)
	}
}

// TestARateAtWhichOrdersPileUpIsNotHeld: of three accepted orders two are open when the load ends. A load of
// one second has more orders in its last second, a load of ten seconds has fewer.
func TestARateAtWhichOrdersPileUpIsNotHeld(t *testing.T) {
	for _, c := range []struct {
		duration, held float64
		apart          time.Duration
		want           float64
	}{{1, 1, 0, 1}, {10, 1, 0, 0}, {10, 0, 0, 0}, {10, 1, 20 * time.Second, 1}} {
		attempts, dir := historyIn(t, trial(t, []tried{
			{order: "a", due: 0, answered: 5, end: "ok"}, {order: "b", due: 10, answered: 15, end: "ok"},
			{order: "c", due: 20, answered: 25, end: "ok"},
		}, final("a", 50), final("b", 20_000), final("c", 30_000)))
		got := withCompletion(lab.Audit{Figures: map[string]float64{lab.FigureHeld: c.held}},
			lab.LoadReport{Duration: c.duration}, attempts, lab.Leftover{Dir: dir, ClocksApart: c.apart})
		if got.Figures[lab.FigureHeld] != c.want {
			t.Errorf("held is %g after %g s with clocks %v apart, want %g", got.Figures[lab.FigureHeld], c.duration,
				c.apart, c.want)
		}
	}
}

// TestSpectraSayNoMoreThanTheyKnow: 99.9 % is left out of a hundred values, none of which is above it.
func TestSpectraSayNoMoreThanTheyKnow(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	got := map[float64]float64{}
	for _, q := range spectrum(values) {
		got[q.Share] = q.Value
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 50, 0.9: 90, 0.99: 99, 1: 100} {
		if got[share] != want {
			t.Errorf("at %g is %g, want %g", share, got[share], want)
		}
	}
	if value, there := got[0.999]; there {
		t.Errorf("100 values say that 99.9 %% are at most %g", value)
	}
	if spectrum(nil) != nil {
		t.Error("a spectrum of nothing")
	}
}

// reported returns the report of a unit as the lab gets it.
func reported(t *testing.T, unit string, r assembly.Report) lab.UnitReport {
	t.Helper()
	data, err := json.Marshal(r)
	testset.Must(t, err)
	return lab.UnitReport{Unit: unit, Data: data}
}

// TestMeasuresOfATrial with a warm-up: metered usage is divided by the four orders that became
// final since the load began, counts of units by all five. Long because it is a table.
func TestMeasuresOfATrial(t *testing.T) {
	reports := []lab.UnitReport{
		reported(t, "orders", assembly.Report{
			Databases: map[string]database.Counters{"orders": {Statements: 30, RowsRead: 10, RowsChanged: 20,
				Writes: 5}},
			Messages: &assembly.Messages{Published: 10, Delivered: 5, Bytes: 1000},
		}),
		reported(t, "payments", assembly.Report{
			Databases: map[string]database.Counters{"payments": {Statements: 20, RowsRead: 5, RowsChanged: 5,
				Writes: 5}},
			Messages: &assembly.Messages{Published: 5, Delivered: 10, Bytes: 500}, CallBytes: 250,
		}),
		{Unit: lab.RoleGenerator},
	}
	metered := lab.Metered{Roles: map[string]lab.Usage{
		"orders": {CPUSeconds: 2, PeakMemoryBytes: 100}, "payments": {CPUSeconds: 1, PeakMemoryBytes: 30},
		RoleBalancer: {CPUSeconds: 0.5, PeakMemoryBytes: 20}, "database": {CPUSeconds: 0.5, PeakMemoryBytes: 50},
		lab.RoleGenerator: {CPUSeconds: 99, PeakMemoryBytes: 999},
	}}
	says := lab.LoadReport{
		Sent: 6, OK: 4, Duration: 1,
		Measures: []lab.Measure{{Quantity: lab.ResponseTime, Quantile: 0.99, Value: 0.5},
			{Quantity: lab.Goodput, Value: 4}, {Quantity: lab.Capacity, Value: 70},
			{Quantity: "secret", Value: 1}},
		Spectra: map[string][]lab.Quantile{lab.ServiceTime: {{Share: 1, Value: 2}}},
	}
	left := lab.Leftover{Dir: busy(t), Reports: reports, Addresses: prepared(t)}
	s := System{Generator: &loadedtest.Generator{Report: says}, Load: lab.Load{WarmUp: 1}}
	measure := func(levels map[string]float64, left lab.Leftover) lab.Measured {
		t.Helper()
		got, err := s.Measure(t.Context(), variant(architecture.Monolith, nil), point(levels), metered, left)
		testset.Must(t, err)
		return got
	}
	got := measure(map[string]float64{lab.FactorRate: 6}, left)
	for name, want := range map[string]float64{
		"completion_time_p50": 0.500, "completion_time_p99": 1.000, "staleness_p99": 0.100,
		"reference_staleness_p99": 0.005, "response_time_p99": 0.5,
		"completed_rate": 2, "goodput": 2, "unfinished_share": 0.5, "error_share": 2.0 / 6,
		"cpu_per_operation": 4.0 / 4, "peak_memory": 200, "statements_per_order": 10, "rows_per_order": 8,
		"commits_per_order":  2,
		"messages_per_order": 3, "deliveries_per_order": 3, "bytes_per_order": 350, "secret": 0,
	} {
		near(t, name, got.Values[name], want)
	}
	if len(got.Spectra) != 4 || len(got.Spectra[lab.CompletionTime]) == 0 || got.Values["syncs_per_order"] != 0 {
		t.Errorf("spectra %v, values %v", got.Spectra, got.Values)
	}
	got = measure(map[string]float64{Orders: 6}, left)
	near(t, "completed rate of a counted load", got.Values["completed_rate"], 2.5)
	if _, there := got.Values["unfinished_share"]; there {
		t.Error("a counted load has orders that were not final in the end")
	}
	left.Faults = []lab.FaultRecord{{}}
	got = measure(map[string]float64{lab.FactorRate: 6}, left)
	if _, there := got.Values["statements_per_order"]; there || got.Values["cpu_per_operation"] != 1 {
		t.Errorf("%v: reports of units that were killed count", got.Values)
	}
	if got = measure(map[string]float64{lab.FactorSearchFrom: 1}, left); len(got.Values) != 1 ||
		got.Values["capacity"] != 70 {
		t.Errorf("a search measures %v, want its capacity alone", got.Values)
	}
}

// prepared returns a database with the shop's tables and no orders.
func prepared(t *testing.T) map[string]string {
	t.Helper()
	address := "sqlite://" + t.TempDir()
	place := assembly.Place{Service: func(string) (string, error) { return address, nil }}
	testset.Must(t, assembly.Prepare(t.Context(), monolith(t), place, seed(point(nil), 1)))
	return map[string]string{assembly.ServiceDatabase: address}
}

// TestWhatCannotBeReadIsNoMeasure measures trials with broken files and reports.
func TestWhatCannotBeReadIsNoMeasure(t *testing.T) {
	whole := busy(t)
	for name, left := range map[string]lab.Leftover{
		"no history": {Dir: t.TempDir(), Reports: []lab.UnitReport{{Unit: lab.RoleGenerator}}},
		"no report":  {Dir: whole, Addresses: prepared(t)},
		"a report that is none": {Dir: whole, Addresses: prepared(t), Reports: []lab.UnitReport{
			{Unit: lab.RoleGenerator}, {Unit: "shop", Data: json.RawMessage("[]")},
		}},
	} {
		s := System{Generator: &loadedtest.Generator{}}
		if _, err := s.Measure(t.Context(), variant(architecture.Monolith, nil),
			point(map[string]float64{lab.FactorRate: 1}), lab.Metered{}, left); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
