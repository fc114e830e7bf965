package system

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/people/records"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

func point(levels map[string]float64) lab.Point { return lab.Point{Name: "point", Levels: levels} }

func variant(name, deployment string, knobs map[string]string) lab.Variant {
	return lab.Variant{Name: name, System: people.Name, Architecture: name, Deployment: deployment, Knobs: knobs}
}

func TestLayoutsOfArchitectures(t *testing.T) {
	for name, want := range map[string]string{
		architecture.Monolith: "people@ generator@",
		architecture.Services: "gateway@ persons@ addresses@ profiles@ generator@",
		architecture.ServicesTwoHosts: "gateway@front persons@services addresses@services profiles@services " +
			"generator@",
	} {
		g := &loadedtest.Generator{}
		layout, err := System{Generator: g}.Layout(variant(name, lab.DockerHost, nil),
			point(map[string]float64{lab.FactorUsers: 3}), 5)
		testset.Must(t, err)
		key := hex.EncodeToString(keyOf(5))
		var units []string
		for _, u := range layout.Units {
			units = append(units, u.Name+"@"+u.Node)
			if strings.Contains(strings.Join(slices.Concat(u.Args, u.Env), " "), key) {
				t.Errorf("%s: the key is in the arguments or the environment of %s", name, u.Name)
			}
			if has := string(u.Files[peopleunit.KeyFile]) == key; has != (u.Name != lab.RoleGenerator) {
				t.Errorf("%s: %s has the key: %t", name, u.Name, has)
			}
		}
		if got := strings.Join(units, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if layout.Services[0].Node != layout.Units[0].Node || layout.Prepare[0].Node != layout.Units[0].Node {
			t.Errorf("%s: the database is on %q, and prepared on %q", name, layout.Services[0].Node,
				layout.Prepare[0].Node)
		}
		if g.Job.Users != 3 || g.Job.Unit != layout.Units[0].Name || layout.Lead != lab.RoleGenerator {
			t.Errorf("%s: job %+v", name, g.Job)
		}
	}
}

// TestUnitsGetIdentities for TLS between them; the generator gets none.
func TestUnitsGetIdentities(t *testing.T) {
	v := variant(architecture.Services, lab.Process, map[string]string{kit.KnobSecurity: kit.TLS})
	layout, err := System{Generator: &loadedtest.Generator{}}.Layout(v,
		point(map[string]float64{lab.FactorUsers: 3}), 5)
	testset.Must(t, err)
	for _, u := range layout.Units {
		if has := u.Files[hosting.IdentityFile(u.Name)] != nil; has != (u.Name != lab.RoleGenerator) {
			t.Errorf("%s can identify itself: %t", u.Name, has)
		}
	}
}

// TestTwoChoicesNeedReplicas of a unit that the gateway calls: replicas of the gateway do not count, since no
// unit calls it.
func TestTwoChoicesNeedReplicas(t *testing.T) {
	v := variant(architecture.Services, lab.Process, map[string]string{kit.KnobBalancing: kit.TwoChoices})
	for unit, refused := range map[string]bool{"": true, architecture.UnitGateway: true,
		string(people.Persons): false} {
		v.Replicas = map[string]int{unit: 2}
		_, err := System{Generator: &loadedtest.Generator{}}.Layout(v,
			point(map[string]float64{lab.FactorUsers: 3}), 5)
		if (err != nil) != refused {
			t.Errorf("two of %q: %v, want refused: %t", unit, err, refused)
		}
	}
}

func TestTwoHostsNeedADeploymentThatHasThem(t *testing.T) {
	check := System{}.Describe().Check
	for deployment, possible := range map[string]bool{lab.DockerHost: true, lab.DockerBridge: false,
		lab.Process: true, lab.SSH: true, lab.Kubernetes: true, "": true} {
		if err := check(variant(architecture.ServicesTwoHosts, deployment, nil)); (err == nil) != possible {
			t.Errorf("%q: %v", deployment, err)
		}
	}
}

func TestCasesAreTheKindsOfRecords(t *testing.T) {
	for level, want := range map[float64]string{1: "persons", 2: "addresses", 3: "profiles",
		4: "persons addresses profiles"} {
		text, err := scenario(point(map[string]float64{Case: level}))
		testset.Must(t, err)
		var s struct{ Flows []struct{ Name string } }
		testset.Must(t, json.Unmarshal(text, &s))
		var kinds []string
		for _, f := range s.Flows {
			kinds = append(kinds, f.Name)
		}
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("case %g: %s, want %s", level, got, want)
		}
	}
	if _, err := scenario(point(map[string]float64{Case: 1.5})); err == nil {
		t.Error("there is a case 1.5")
	}
}

// trial holds the history and the database of a trial that created one person and fetched it.
type trial struct {
	history []string          // lines of JSON
	stored  map[string][]byte // sealed, by id
}

const firstID, tag = "11111111-1111-4111-8111-111111111111", "abcdefghijklmnop"

// sealed returns a person as units store it.
func sealed(t *testing.T, id, tag string) []byte {
	t.Helper()
	var values []string
	for _, property := range people.Persons.Properties() {
		values = append(values, valueOf(property, tag))
	}
	return sealedAs(t, id, values)
}

// sealedAs returns a person with these values as units store it.
func sealedAs(t *testing.T, id string, values []string) []byte {
	t.Helper()
	s, err := seal.New(seal.GCM, keyOf(7))
	testset.Must(t, err)
	text, err := proto.Marshal(&peoplepb.Content{Values: values})
	testset.Must(t, err)
	key := uuid.MustParse(id)
	return s.Seal(append([]byte("persons "), key[:]...), text)
}

// historyLine returns the line of the history for an attempted operation.
func historyLine(operation, end, status, id, tag string) string {
	return fmt.Sprintf(`{"operation":%q,"end":%q,"status":%q,"noted":{"id":%q,"tag":%q}}`, operation, end,
		status, id, tag)
}

// leftover writes the history to a file and the records to a database, and returns where they are.
func (tr trial) leftover(t *testing.T) lab.Leftover {
	t.Helper()
	address := "sqlite://" + t.TempDir()
	store, err := wide.Open(t.Context(), address, wide.Options{Keyspace: people.Name})
	testset.Must(t, err)
	table := records.Table(people.Persons)
	err = store.CreateTables(t.Context(), table)
	for id, text := range tr.stored {
		if err == nil {
			err = store.Insert(t.Context(), table.Name, uuid.MustParse(id), text)
		}
	}
	testset.Must(t, err)
	testset.Must(t, store.Close())
	left := loadedtest.Left(t, tr.history...)
	left.Seed = 7
	left.Addresses = map[string]string{peopleunit.ServiceDatabase: address}
	return left
}

// TestTheAuditFindsBrokenRules breaks each rule of the audit in turn, in a trial that is otherwise correct.
func TestTheAuditFindsBrokenRules(t *testing.T) {
	const otherID = "22222222-2222-4222-8222-222222222222"
	for name, c := range map[string]struct {
		spoil   func(tr *trial)
		verdict lab.AuditVerdict
		count   string
	}{
		"all is right": {func(*trial) {}, lab.AuditValid, ""},
		"lost":         {func(tr *trial) { tr.stored = nil }, lab.AuditInvalid, countLost},
		"not found": {func(tr *trial) {
			tr.history[1] = historyLine("fetch persons", "fail", "404", "", "")
		}, lab.AuditInvalid, countLost},
		"a wrong answer": {func(tr *trial) {
			tr.history[1] = historyLine("fetch persons", "fail", "200", "", "")
		}, lab.AuditInvalid, countChanged},
		"an answer that never came": {func(tr *trial) {
			tr.history[1] = historyLine("fetch persons", "info", "503", "", "")
		}, lab.AuditValid, ""},
		"tampered": {func(tr *trial) { tr.stored[firstID][40] ^= 1 }, lab.AuditInvalid, countChanged},
		"another last name": {func(tr *trial) {
			tr.stored[firstID] = sealedAs(t, firstID, []string{valueOf("firstName", tag), "Byron"})
		}, lab.AuditInvalid, countChanged},
		"in plain text": {func(tr *trial) { tr.stored[firstID] = []byte("firstName " + tag) },
			lab.AuditInvalid, countChanged},
		"stored twice": {func(tr *trial) { tr.stored[otherID] = sealed(t, otherID, tag) }, lab.AuditInvalid,
			countDoubled},
		"under another id": {func(tr *trial) { tr.stored = map[string][]byte{otherID: sealed(t, otherID, tag)} },
			lab.AuditInvalid, countChanged},
		"from nowhere": {func(tr *trial) { tr.stored[otherID] = sealed(t, otherID, "ponmlkjihgfedcba") },
			lab.AuditInvalid, countMadeUp},
		"refused and stored": {func(tr *trial) {
			tr.history[0] = historyLine("create persons", "fail", "400", "", tag)
		}, lab.AuditInvalid, countMadeUp},
		"unknown and stored": {func(tr *trial) {
			tr.history[0] = historyLine("create persons", "info", "", "", tag)
		}, lab.AuditUnknown, loaded.CountRecovered},
		"nothing was tested": {func(tr *trial) { *tr = trial{} }, lab.AuditUnknown, ""},
		"a torn history":     {func(tr *trial) { tr.history = append(tr.history, "{") }, lab.AuditUnknown, ""},
	} {
		tr := trial{
			history: []string{historyLine("create persons", "ok", "201", firstID, tag),
				historyLine("fetch persons", "ok", "200", "", "")},
			stored: map[string][]byte{firstID: sealed(t, firstID, tag)},
		}
		c.spoil(&tr)
		s := System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 2, OK: 2}}}
		got := s.AuditLive(t.Context(), variant(architecture.Monolith, lab.Process, nil),
			point(map[string]float64{Records: 1}), tr.leftover(t))
		if got.Verdict != c.verdict || c.count != "" && got.Counts[c.count] != 1 {
			t.Errorf("%s: %s %v %v, want %s and one %s", name, got.Verdict, got.Counts, got.Problems, c.verdict,
				c.count)
		}
	}
	if got := (System{}).Audit(lab.Variant{}, lab.Point{}, nil); got.Verdict != lab.AuditUnknown {
		t.Errorf("a trial that was not played to its end is %s", got.Verdict)
	}
}

// TestAnIDIsChangedOnlyIfNoStoredRecordHasIt, in either order of the records in the database.
func TestAnIDIsChangedOnlyIfNoStoredRecordHasIt(t *testing.T) {
	c := &created{id: firstID, end: loaded.EndedOK}
	j := &judge{Findings: loaded.Findings{Counts: map[string]int64{}},
		created: map[people.Kind]map[string]*created{people.Persons: {tag: c}}}
	sealer, err := seal.New(seal.GCM, keyOf(7))
	testset.Must(t, err)
	for _, id := range []string{"22222222-2222-4222-8222-222222222222", firstID,
		"33333333-3333-4333-8333-333333333333"} {
		j.addStored(people.Persons, id, sealer, uuid.MustParse(id), [][]byte{sealed(t, id, tag)})
	}
	if len(j.Problems) > 0 || c.stored != 3 || c.storedID != firstID {
		t.Errorf("%v, %d stored, as %s; want 3 as %s", j.Problems, c.stored, c.storedID, firstID)
	}
}

// TestACheckShowsEveryRule: a variant that breaks one is not valid, and its row must say why.
func TestACheckShowsEveryRule(t *testing.T) {
	for _, rule := range rules() {
		if !slices.ContainsFunc(System{}.CheckTable().Columns,
			func(c lab.CheckColumn) bool { return c.Count == rule }) {
			t.Errorf("the table of a check has no column %s", rule)
		}
	}
}

func TestPlainTextInTheDatabaseIsFound(t *testing.T) {
	j := &judge{Findings: loaded.Findings{Counts: map[string]int64{}},
		created: map[people.Kind]map[string]*created{people.Persons: {tag: {id: firstID, end: loaded.EndedOK}}}}
	sealer, err := seal.New(seal.GCM, keyOf(7))
	testset.Must(t, err)
	key := uuid.MustParse(firstID)
	j.addStored(people.Persons, firstID, sealer, key, [][]byte{sealed(t, firstID, tag)})
	if j.Counts[countReadable] != 0 || len(j.Problems) > 0 {
		t.Errorf("%v", j.Problems)
	}
	j.checkEncrypted(people.Persons, firstID, tag, [][]byte{[]byte("name: " + tag)})
	if j.Counts[countReadable] != 1 {
		t.Error("plain text is not found")
	}
}

func TestUsageOfEachPartOfTheSystem(t *testing.T) {
	front := lab.UnitHost{KernelRun: "front", Processors: 4}
	back := lab.UnitHost{KernelRun: "back", Processors: 16}
	metered := lab.Metered{WindowSeconds: 10, Roles: map[string]lab.Usage{}}
	add := func(name, role string, host lab.UnitHost, cpu float64, memory int64) {
		used := lab.Usage{Units: 1, CPUSeconds: cpu, MeanMemoryBytes: memory, PeakMemoryBytes: 2 * memory}
		metered.Units = append(metered.Units,
			lab.UnitUsage{Unit: lab.Unit{Name: name, Role: role}, Host: host, Usage: used})
		of := metered.Roles[role]
		of.Units++
		of.CPUSeconds += cpu
		of.MeanMemoryBytes += memory
		of.PeakMemoryBytes += 2 * memory
		metered.Roles[role] = of
	}
	add(lab.RoleGenerator, lab.RoleGenerator, lab.UnitHost{}, 100, 1000)
	add("gateway", "gateway", front, 0.5, 4)
	add("gateway-sidecar", loaded.RoleSidecar, front, 0.5, 6)
	add("persons-1", "persons", back, 1, 10)
	add("persons-2", "persons", back, 0.5, 5)
	add("persons-sidecar", loaded.RoleSidecar, back, 0.5, 5)
	add("profiles", "profiles", back, 3, 30)
	add("database", "database", front, 4, 40)
	s := System{Generator: &loadedtest.Generator{Report: lab.LoadReport{Sent: 8, OK: 5,
		Measures: []lab.Measure{{Quantity: lab.Goodput, Value: 9}}}}}
	measure := func(p lab.Point) map[string]float64 {
		got, err := s.Measure(t.Context(), lab.Variant{}, p, metered,
			lab.Leftover{Reports: []lab.UnitReport{{Unit: lab.RoleGenerator}}})
		testset.Must(t, err)
		return got.Values
	}
	got := measure(point(map[string]float64{lab.FactorUsers: 2}))
	for name, want := range map[string]float64{
		"memory": 100, "memory_front": 50, "memory_services": 50, "memory_database": 40, "peak_memory": 200,
		"cpu_per_operation": 2, "goodput": 9, "error_share": 0.375,
		"cpu_share": 10.0 / 10 / 20, "cpu_share_front": 5.0 / 10 / 4, "cpu_share_services": 5.0 / 10 / 16,
		"cpu_share_database": 4.0 / 10 / 4,
	} {
		if got[name] != want {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	for i := range metered.Units {
		if metered.Units[i].Unit.Role == "persons" {
			metered.Units[i].Host = lab.UnitHost{} // its host is unknown
		}
	}
	got = measure(point(map[string]float64{lab.FactorUsers: 2}))
	for name, known := range map[string]bool{"cpu_share": false, "cpu_share_front": true,
		"cpu_share_services": false, "cpu_share_database": true} {
		if _, is := got[name]; is != known {
			t.Errorf("%s is known: %v, and the processors of a host are not", name, is)
		}
	}
	if got := measure(point(map[string]float64{Records: 2})); got["goodput"] != 0.5 {
		t.Errorf("goodput of a counted load is %g, want right answers per metered second", got["goodput"])
	}
}

// TestUsageThatWasNotMeasuredIsLeftOut: a part with such a unit has no figure, in place of one that is too
// low.
func TestUsageThatWasNotMeasuredIsLeftOut(t *testing.T) {
	unit := func(role string, unavailable map[string]string) lab.UnitUsage {
		return lab.UnitUsage{Unit: lab.Unit{Name: role, Role: role},
			Host:  lab.UnitHost{KernelRun: "a", Processors: 4},
			Usage: lab.Usage{CPUSeconds: 1, MeanMemoryBytes: 10, Unavailable: unavailable}}
	}
	metered := lab.Metered{WindowSeconds: 10, Units: []lab.UnitUsage{unit("gateway", nil), unit("persons", nil),
		unit("database", map[string]string{"cpu_seconds": "planted", "mean_memory_bytes": "planted"})}}
	got := map[string]float64{}
	for _, part := range parts() {
		part.measure(got, metered)
	}
	want := []string{"cpu_share_services", "memory_services"}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
		t.Errorf("measured are %v, want %v", names, want)
	}
}

func TestAnExplanationTakesOneStepAtATime(t *testing.T) {
	monolith := variant(architecture.Monolith, lab.Process, nil)
	services := variant(architecture.Services, lab.Process, nil)
	twoHosts := variant(architecture.ServicesTwoHosts, lab.DockerHost, nil)
	grpc := variant(architecture.Services, lab.Process,
		map[string]string{architecture.KnobCalls: architecture.GRPC, architecture.KnobPool: "9"})
	secured := variant(architecture.ServicesTwoHosts, lab.Process,
		map[string]string{kit.KnobSecurity: kit.TLS})
	for _, c := range []struct {
		from, to lab.Variant
		want     string
	}{
		{secured, monolith, "hosts two -> one, security tls -> none, placement apart -> together"},
		{secured, variant(architecture.Monolith, lab.DockerBridge, nil), "deployment process -> docker-host, " +
			"hosts two -> one with deployment docker-host -> docker-bridge, security tls -> none, " +
			"placement apart -> together"},
		{monolith, services, "placement together -> apart"},
		{monolith, twoHosts, "deployment process -> docker-host, placement together -> apart, deployment " +
			"docker-host -> docker-bridge, hosts one -> two with deployment docker-bridge -> docker-host"},
		{services, grpc, "calls http -> grpc, pool 8 -> 9"},
		{twoHosts, services, "hosts two -> one with deployment docker-host -> process"},
		{services, services, "services and services are the same: nothing is to be explained"},
	} {
		stops, got := loadedtest.Steps(t, System{}, c.from, c.to)
		if got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from.Name, c.to.Name, got, c.want)
		}
		for _, last := range stops[max(0, len(stops)-1):] {
			if lacks := architecture.Catalogue().Changes(last, c.to); len(lacks) > 0 ||
				last.Deployment != c.to.Deployment {
				t.Errorf("the last variant lacks %v, and is deployed in %s", lacks, last.Deployment)
			}
		}
	}
}

func TestBackingsOfPeople(t *testing.T) {
	s := System{}
	v := variant(architecture.Monolith, lab.Process, nil)
	if got, err := s.OnBackings(v, []string{"cassandra"}); err != nil ||
		got[architecture.KnobStore] != "cassandra" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.OnBackings(variant("castle", "", nil), []string{"sqlite"}); err == nil {
		t.Errorf("a castle: %v", got)
	}
	for _, kinds := range [][]string{{"mongo"}, {"sqlite", "cassandra"}} {
		if got, err := s.OnBackings(v, kinds); err == nil {
			t.Errorf("%v: %v", kinds, got)
		}
	}
}
