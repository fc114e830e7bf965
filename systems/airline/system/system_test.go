package system

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

func point(levels map[string]float64) lab.Point { return lab.Point{Name: "point", Levels: levels} }

func variant(name string, knobs map[string]string) lab.Variant {
	return lab.Variant{Name: name, System: airline.Name, Architecture: name, Deployment: lab.Process,
		Knobs: knobs}
}

func layoutOf(t *testing.T, v lab.Variant, p lab.Point) (lab.Layout, *loadedtest.Generator) {
	t.Helper()
	g := &loadedtest.Generator{}
	layout, err := System{Generator: g}.Layout(v, p, 5)
	testset.Must(t, err)
	return layout, g
}

func TestLayoutsOfArchitectures(t *testing.T) {
	t.Setenv(programsVariable, "/opt/airline")
	for runtime, program := range map[string]string{architecture.Go: "",
		architecture.Java: "/opt/airline/java/run", architecture.Node: "/opt/airline/node/run"} {
		for name, want := range map[string]string{
			architecture.Monolith: "monolith front generator",
			architecture.Services: "auth customers flights bookings front generator",
		} {
			layout, g := layoutOf(t, variant(name, map[string]string{architecture.KnobRuntime: runtime}),
				point(map[string]float64{lab.FactorUsers: 3}))
			var units []string
			for _, u := range layout.Units {
				units = append(units, u.Name)
				if u.Name == front || u.Name == lab.RoleGenerator {
					continue
				}
				if u.Program != program || u.Foreign != (program != "") || u.Ready == nil || !u.Listens ||
					!slices.Contains(u.Env, "AIRLINE_UNIT="+u.Name) {
					t.Errorf("%s in %s: unit %+v", name, runtime, u)
				}
				if slices.Contains(u.Peers, "auth") != (u.Name != "auth" && u.Name != "monolith") ||
					u.Foreign != slices.Contains(u.Reads, "/opt/airline") {
					t.Errorf("%s in %s: %s has the peers %v and reads %v", name, runtime, u.Name, u.Peers, u.Reads)
				}
			}
			if got := strings.Join(units, " "); got != want {
				t.Errorf("%s in %s: %s, want %s", name, runtime, got, want)
			}
			if g.Job.Users != 3 || g.Job.Unit != front || layout.Lead != lab.RoleGenerator || len(g.Job.Files) != 2 {
				t.Errorf("%s in %s: job of %d users at %s with %d files", name, runtime, g.Job.Users, g.Job.Unit,
					len(g.Job.Files))
			}
		}
	}
}

func TestKnobsReachTheUnits(t *testing.T) {
	layout, _ := layoutOf(t, variant(architecture.Services, map[string]string{
		architecture.KnobRuntime: architecture.Node, architecture.KnobSessions: architecture.Token,
		architecture.KnobPool: "on", architecture.KnobWorkers: "3", architecture.KnobStore: architecture.Mongo,
		architecture.KnobCalls: architecture.GRPC,
	}), point(map[string]float64{lab.FactorUsers: 1, Customers: 9}))
	unit := layout.Units[0]
	for _, want := range []string{"AIRLINE_SESSIONS=token", "AIRLINE_POOL=on", "AIRLINE_CALLS=grpc",
		"AIRLINE_WORKERS=3", "AIRLINE_STORE=mongodb", "AIRLINE_CUSTOMERS=9", "AIRLINE_KEY={dir}/key"} {
		if !slices.Contains(unit.Env, want) {
			t.Errorf("%v has no %s", unit.Env, want)
		}
	}
	if len(layout.Services) != 1 || !unit.Served || len(unit.Files[keyFile]) != 64 ||
		strings.Contains(strings.Join(unit.Env, " "), string(unit.Files[keyFile])) {
		t.Errorf("services %v, files %q", layout.Services, unit.Files)
	}
	layout, _ = layoutOf(t, variant(architecture.Services, nil), point(map[string]float64{lab.FactorUsers: 1}))
	unit = layout.Units[0]
	for _, want := range []string{"AIRLINE_SESSIONS=ask", "AIRLINE_POOL=off", "AIRLINE_CALLS=http",
		"AIRLINE_STORE=embedded", "AIRLINE_CUSTOMERS=10000"} {
		if !slices.Contains(unit.Env, want) {
			t.Errorf("%v has no %s", unit.Env, want)
		}
	}
	if len(layout.Services)+len(unit.Files) > 0 {
		t.Errorf("services %v, files %v", layout.Services, unit.Files)
	}
}

func TestProgramsAreFoundThroughLinks(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	testset.Must(t, err)
	t.Chdir(t.TempDir())
	testset.Must(t, os.Symlink(real, "link"))
	t.Setenv(programsVariable, "link")
	if got, want := program(architecture.Node), filepath.Join(real, architecture.Node, "run"); got != want {
		t.Errorf("the program is %s, want %s", got, want)
	}
}

func TestAProgramThatIsNotBuiltIsMissing(t *testing.T) {
	t.Setenv(programsVariable, t.TempDir())
	t.Setenv("PATH", t.TempDir())
	const where = " # make: in the folder of Cleave's sources"
	for runtime, want := range map[string]string{
		architecture.Java: lab.AptInstall("maven", "openjdk-17-jdk-headless") + " && make airline" + where,
		architecture.Node: lab.AptInstall("nodejs", "npm") + " && make airline" + where,
		architecture.Go:   "",
	} {
		v := variant(architecture.Monolith, map[string]string{architecture.KnobRuntime: runtime})
		layout, _ := layoutOf(t, v, point(map[string]float64{lab.FactorUsers: 1}))
		if got := layout.Units[0].Install; got != want {
			t.Errorf("%s is installed by %q, want %q", runtime, got, want)
		}
	}
}

// TestVisitsAreAsTheDriverHasThem reads the scenario and the files of the generator.
func TestVisitsAreAsTheDriverHasThem(t *testing.T) {
	text, files, err := visits(point(map[string]float64{Customers: 100}))
	testset.Must(t, err)
	var s struct {
		Flows []struct {
			Weight float64
			Steps  []struct{ Name string }
		}
	}
	testset.Must(t, json.Unmarshal(text, &s))
	var weight, profile, cancel float64
	for _, f := range s.Flows {
		names := fmt.Sprint(f.Steps)
		weight += f.Weight
		if strings.Contains(names, "view the profile") {
			profile += f.Weight
		}
		if strings.Contains(names, opCancel) {
			cancel += f.Weight
		}
		if strings.Count(names, "search flights") != searches {
			t.Errorf("a visit of %s", names)
		}
	}
	if profile/weight != 0.25 || cancel/weight != 0.25 {
		t.Errorf("%g and %g of %g", profile, cancel, weight)
	}
	rows := strings.Split(strings.TrimSpace(string(files["trips.csv"])), "\n")[1:]
	seen := map[string]bool{}
	for _, row := range rows {
		parts := strings.Split(row, ",")
		for _, id := range parts[4:] {
			if seen[id] {
				t.Fatalf("%s is in two trips", id)
			}
			seen[id] = true
		}
	}
	if len(rows) < 4000 {
		t.Errorf("%d trips", len(rows))
	}
	known := map[string]bool{}
	for f := range firstData(point(nil)).AllFlights() {
		known[f.ID] = true
	}
	for id := range seen {
		if !known[id] {
			t.Fatalf("there is no flight %s", id)
		}
	}
}

// trial holds what a trial of one customer leaves behind.
type trial struct{ history, stored []string }

func booked(end, out, back string) string {
	return fmt.Sprintf(`{"operation":%q,"end":%q,"noted":{"customer.login":"c1","trip.out":"AMS","trip.back":"SMA","out":%q,"back":%q}}`, opBook, end, out, back)
}

func cancelled(end, id string) string {
	return fmt.Sprintf(`{"operation":%q,"end":%q,"noted":{"customer.login":"c1","out":%q}}`, opCancel, end, id)
}

func kept(id, flight string) string {
	return fmt.Sprintf(`{"id":%q,"login":"c1","flight":%q,"booked":"2026-01-01T00:00:00.000Z"}`, id, flight)
}

// TestTheAuditFindsBrokenRules breaks each rule of the audit in turn, in a trial that is otherwise correct.
// Long because it is a table.
func TestTheAuditFindsBrokenRules(t *testing.T) {
	for name, c := range map[string]struct {
		spoil   func(tr *trial)
		verdict lab.AuditVerdict
		count   string
	}{
		"all is right": {func(*trial) {}, lab.AuditValid, ""},
		"lost":         {func(tr *trial) { tr.stored = tr.stored[:1] }, lab.AuditInvalid, countLost},
		"cancelled": {func(tr *trial) {
			tr.history = append(tr.history, cancelled("ok", "2"))
			tr.stored = tr.stored[:1]
		}, lab.AuditValid, countCancelled},
		"cancelled, and there": {func(tr *trial) { tr.history = append(tr.history, cancelled("ok", "2")) },
			lab.AuditInvalid, countMadeUp},
		"perhaps cancelled": {func(tr *trial) {
			tr.history = append(tr.history, cancelled("info", "2"))
			tr.stored = tr.stored[:1]
		}, lab.AuditValid, loaded.CountUnknown},
		"not cancelled, and lost": {func(tr *trial) {
			tr.history = append(tr.history, cancelled("fail", "2"))
			tr.stored = tr.stored[:1]
		}, lab.AuditInvalid, countLost},
		"stored twice": {func(tr *trial) { tr.stored = append(tr.stored, kept("2", "AMS")) }, lab.AuditInvalid, ""},
		"two seats in one": {func(tr *trial) {
			tr.history = append(tr.history, booked("ok", "3", "4"))
			tr.stored = append(tr.stored, kept("3", "AMS"), kept("4", "SMA"))
		}, lab.AuditInvalid, ""},
		"asked for in vain": {func(tr *trial) { tr.history = append(tr.history, booked("fail", "", "")) },
			lab.AuditValid, loaded.CountRefused},
		"booked again": {func(tr *trial) {
			tr.history = append(tr.history, cancelled("ok", "1"), cancelled("ok", "2"), booked("ok", "3", "4"))
			tr.stored = []string{kept("3", "AMS"), kept("4", "SMA")}
		}, lab.AuditValid, ""},
		"booked twice": {func(tr *trial) { tr.history = append(tr.history, booked("ok", "1", "2")) },
			lab.AuditInvalid, ""},
		"under another id": {func(tr *trial) { tr.stored[1] = kept("3", "SMA") }, lab.AuditInvalid, countMadeUp},
		"from nowhere": {func(tr *trial) { tr.stored = append(tr.stored, kept("3", "ATH")) },
			lab.AuditInvalid, countMadeUp},
		"refused and stored": {func(tr *trial) {
			tr.history = []string{booked("fail", "", "")}
			tr.stored = tr.stored[:1]
		}, lab.AuditInvalid, countMadeUp},
		"one of two": {func(tr *trial) {
			tr.history = []string{booked("info", "", "")}
			tr.stored = tr.stored[:1]
		}, lab.AuditInvalid, countHalved},
		"both of unknown outcome": {func(tr *trial) { tr.history = []string{booked("info", "", "")} },
			lab.AuditUnknown, loaded.CountRecovered},
		"nothing was tested": {func(tr *trial) { *tr = trial{} }, lab.AuditUnknown, ""},
		"a torn history":     {func(tr *trial) { tr.history = append(tr.history, "{") }, lab.AuditUnknown, ""},
		"a torn list":        {func(tr *trial) { tr.stored[1] = "{" }, lab.AuditUnknown, ""},
		"a list with a stray bracket": {func(tr *trial) { tr.stored = append(tr.stored, "]") },
			lab.AuditUnknown, ""},
	} {
		for _, runtime := range []string{architecture.Go, architecture.Java} {
			tr := trial{history: []string{booked("ok", "1", "2")},
				stored: []string{kept("1", "AMS"), kept("2", "SMA")}}
			c.spoil(&tr)
			s := System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 2, OK: 2}}}
			v := variant(architecture.Monolith, map[string]string{architecture.KnobRuntime: runtime})
			got := s.AuditLive(t.Context(), v, point(map[string]float64{Visits: 1}),
				tr.leftover(t, runtime == architecture.Go))
			if got.Verdict != c.verdict || c.count != "" && got.Counts[c.count] != 1 {
				t.Errorf("%s in %s: %s %v %v, want %s and one %s", name, runtime, got.Verdict, got.Counts, got.Problems,
					c.verdict, c.count)
			}
		}
	}
	if got := (System{}).Audit(lab.Variant{}, lab.Point{}, nil); got.Verdict != lab.AuditUnknown {
		t.Errorf("a trial that was not played to its end is %s", got.Verdict)
	}
}

// leftover returns the trial as the audit finds it: the bookings in a file that was handed over, or at a unit
// that still runs.
func (tr trial) leftover(t *testing.T, handsOver bool) lab.Leftover {
	t.Helper()
	left := loadedtest.Left(t, tr.history...)
	if handsOver {
		testset.Must(t, os.WriteFile(filepath.Join(left.Dir, airlineunit.BookingsFile),
			[]byte(strings.Join(tr.stored, "\n")), 0o600))
		return left
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/internal/bookings" {
			t.Errorf("the audit asks for %s", r.URL.Path)
		}
		fmt.Fprint(w, strings.Join(tr.stored, "\n"))
	}))
	t.Cleanup(server.Close)
	left.Foreign = map[string]string{architecture.Monolith: server.Listener.Addr().String()}
	return left
}

// TestAListOfBookingsThatBreaksOff is not taken for the whole list: the rest would count as lost.
func TestAListOfBookingsThatBreaksOff(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, kept("1", "AMS"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic(http.ErrAbortHandler) // which closes the connection
	}))
	t.Cleanup(server.Close)
	left := loadedtest.Left(t, booked("ok", "1", "2"))
	left.Foreign = map[string]string{architecture.Monolith: server.Listener.Addr().String()}
	s := System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 2, OK: 2}}}
	v := variant(architecture.Monolith, map[string]string{architecture.KnobRuntime: architecture.Java})
	got := s.AuditLive(t.Context(), v, point(map[string]float64{Visits: 1}), left)
	if got.Verdict != lab.AuditUnknown || !strings.Contains(fmt.Sprint(got.Problems), "unexpected EOF") {
		t.Errorf("%s %v %q, want unknown and an unexpected EOF", got.Verdict, got.Counts, got.Problems)
	}
}

// TestAListOfBookingsIsReadUpToItsLimit: the error names the limit.
func TestAListOfBookingsIsReadUpToItsLimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	list, err := listed(t.Context(), server.Listener.Addr().String(), 1<<20)
	testset.Must(t, err)
	text, err := io.ReadAll(list)
	if len(text) > 1<<20 || err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("%d bytes were read, error %v", len(text), err)
	}
	if err := list.Close(); err != nil {
		t.Error(err)
	}
}

func TestHAProxyIsNoCostOfTheUnits(t *testing.T) {
	use := func(cpu float64, memory int64) lab.Usage {
		return lab.Usage{Units: 1, CPUSeconds: cpu, MeanMemoryBytes: memory, PeakMemoryBytes: 2 * memory}
	}
	metered := lab.Metered{WindowSeconds: 10, Roles: map[string]lab.Usage{
		lab.RoleGenerator: use(100, 1000), front: use(1, 10), "auth": use(2, 20), "bookings": use(3, 30),
	}}
	s := System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 8, OK: 5,
		Measures: []lab.Measure{{Quantity: lab.Goodput, Value: 9}}}}}
	left := loadedtest.Left(t, `{"end":"ok","begun_unix_ns":101000000000,"finished_ns":500000000}`)
	left.Spawned = time.Unix(100, 0)
	got, err := s.Measure(t.Context(), lab.Variant{}, point(map[string]float64{lab.FactorUsers: 2}), metered,
		left)
	testset.Must(t, err)
	for name, want := range map[string]float64{
		"memory": 50, "peak_memory": 100, "cpu_per_operation": 1, "front_cpu_per_operation": 0.2, "goodput": 9,
		"error_share": 0.375, "time_to_first_answer": 1.5,
	} {
		if got.Values[name] != want {
			t.Errorf("%s is %g, want %g", name, got.Values[name], want)
		}
	}
	for role, lacks := range map[string]string{front: "cpu_seconds", "auth": "mean_memory_bytes"} {
		used := metered.Roles[role]
		used.Unavailable = map[string]string{lacks: "nobody meters it"}
		metered.Roles[role] = used
	}
	got, err = s.Measure(t.Context(), lab.Variant{}, point(map[string]float64{lab.FactorUsers: 2}), metered,
		left)
	testset.Must(t, err)
	for _, name := range []string{"memory", "front_cpu_per_operation"} {
		if value, known := got.Values[name]; known {
			t.Errorf("%s is %g, and was not metered", name, value)
		}
	}
}

func TestAnExplanationTakesOneStepAtATime(t *testing.T) {
	from := variant(architecture.Monolith, map[string]string{architecture.KnobRuntime: architecture.Node})
	to := variant(architecture.Services, map[string]string{architecture.KnobPool: "on",
		kit.KnobLogging: kit.LogRequests})
	to.Deployment = lab.DockerBridge
	stops, got := loadedtest.Steps(t, System{}, from, to)
	want := "runtime node -> go, architecture monolith -> services, pool off -> on, logging off -> requests, " +
		"deployment process -> docker-bridge"
	if got != want {
		t.Fatalf("%s, want %s", got, want)
	}
	last := stops[len(stops)-1]
	if last.Architecture != to.Architecture || last.Deployment != to.Deployment ||
		last.Knobs[architecture.KnobPool] != "on" || stops[0].Knobs[architecture.KnobPool] != "off" {
		t.Errorf("the way ends in %+v", last)
	}
	secured := variant(architecture.Services, map[string]string{architecture.KnobPool: "on",
		architecture.KnobCalls: architecture.GRPC, kit.KnobSecurity: kit.TLS, kit.KnobLogging: kit.LogRequests})
	for _, ends := range [][2]lab.Variant{{from, secured}, {secured, from}} {
		if stops, got := loadedtest.Steps(t, System{}, ends[0], ends[1]); stops == nil {
			t.Error(got)
		}
	}
	if _, _, err := (System{}).Steps(from, from); err == nil {
		t.Error("there is a way from a variant to itself")
	}
}

// TestWhatCanBeReplicated: HAProxy, and units that load no data, keep all data in a server, and are called by
// no other unit.
func TestWhatCanBeReplicated(t *testing.T) {
	for _, c := range []struct {
		architecture, store, sessions string
		want                          []string
	}{
		{architecture.Services, architecture.Embedded, architecture.Token, []string{front}},
		{architecture.Services, architecture.Mongo, architecture.Ask, []string{airlineunit.UnitBookings, front}},
		{architecture.Services, architecture.Mongo, architecture.Token,
			[]string{airlineunit.UnitAuth, airlineunit.UnitBookings, front}},
		{architecture.Monolith, architecture.Mongo, architecture.Ask, []string{front}},
	} {
		v := variant(c.architecture, map[string]string{architecture.KnobStore: c.store,
			architecture.KnobSessions: c.sessions})
		layout, _ := layoutOf(t, v, point(map[string]float64{lab.FactorUsers: 3}))
		var got []string
		for _, unit := range layout.Units {
			if unit.Scalable {
				got = append(got, unit.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s, %s: %v can be replicated, want %v", c.architecture, c.store, c.sessions, got, c.want)
		}
	}
}

// TestUnitsAreAskedWithoutAProxy: a request goes to the unit itself, even if the environment names a proxy.
func TestUnitsAreAskedWithoutAProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1") // nothing listens there
	t.Setenv("NO_PROXY", "")
	unit := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer unit.Close()
	// No proxy is ever asked for 127.0.0.1, which is reached by this address, too.
	address := strings.Replace(unit.Listener.Addr().String(), "127.0.0.1", "0.0.0.0", 1)
	testset.Must(t, healthy(t.Context(), address))
}
