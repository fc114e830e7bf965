package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/cleave-lab/cleave"

// rule lists the rooms that one room may import. Rooms are named by their folder; the
// longest matching name counts.
type rule struct {
	room string
	// rooms lists the rooms that this one may import, with their subfolders.
	rooms []string
	// outside lists prefixes of third-party packages that it may import; "*" means any that
	// the dependency list explains.
	outside []string
	// joined lists rooms that only tests of this one may import.
	joined []string
	why    string
}

// rules returns the table of DESIGN.md. A room may always import the subfolders of its own folder. The table
// is computed once, because Go's test cache records every listed folder and checks it again.
var rules = sync.OnceValue(func() []rule {
	noun := []string{"lab"}
	any := []string{"*"}
	return append(benches(), []rule{
		{"lab", nil, nil, nil,
			"lab holds the nouns that all rooms share; whatever it imported, everybody would"},
		{"unit", []string{"lab", "binding/accept"}, any, []string{"deploy/launch"},
			"a unit's side of what a deployer gives it serves every unit, whatever it hosts"},
		{"run", noun, nil, nil,
			"the conductor plays any experiment through the interfaces of lab; cmd hands it the rooms"},
		{"inputfile", nil, nil, nil,
			"a file is opened with the same care whatever it holds; how large it may be, its own room says"},
		{"yamlfile", nil, []string{"go.yaml.in/yaml/"}, nil,
			"a file is read the same way whatever it holds; what it means, its own room says"},
		{"bounded", nil, nil, nil,
			"what strangers send is cut at a limit the same way whoever they are"},
		{"secret", nil, nil, nil,
			"values that must not be published are kept the same way whatever they are for"},
		{"study", []string{"lab", "yamlfile"}, any, []string{"studies", "systems"},
			"a study file is parsed and expanded without knowing systems, deployers or results"},
		{"studies", noun, nil, []string{"stats"},
			"the built-in studies are files with their published figures, not code"},
		{"systems", []string{"lab", "bounded", "inputfile", "yamlfile", "unit", "binding", "backing"}, any,
			[]string{"deploy/launch"},
			"business code knows neither how it is deployed, loaded, metered nor reported"},
		{"systems/loaded", noun, nil, []string{"deploy/launch", "deploy/fleet"},
			"what systems under load have in common knows none of them, nor the load engine"},
		{"systems/kit", noun, nil, nil, "what systems are built from knows none of them"},
		{"systems/kit/hosting", []string{"lab", "unit", "binding", "systems/kit"}, any, nil,
			"a unit hosts, calls and serves components of any system"},
		{"systems/kit/front", []string{"lab", "unit", "binding"}, any, nil,
			"what all public interfaces have is the same for every system"},
		{"systems/rehearsal",
			[]string{"lab", "unit", "binding", "backing", "model", "systems/kit", "systems/loaded"}, any, nil,
			"what plays a model knows the model, and nobody who makes one or simulates it"},
		{"systems/external", []string{"lab", "bounded", "inputfile", "yamlfile", "secret", "systems/loaded"}, any,
			[]string{"backing/database", "internal/servers"},
			"what somebody else wrote is known by its definition, which may refer to secrets"},
		{"systems/big/bigtest", []string{"lab", "unit", "deploy/launch", "systems/big"}, any, nil,
			"the stand-in for a deployer in tests starts units as the deployer does"},
		{"binding", []string{"lab", "bounded"}, any, nil,
			"a binding carries calls; it must serve every system and every deployment alike"},
		{"binding/event", []string{"lab", "bounded", "backing", "binding/spans"}, any, nil,
			"an event leaves with the transaction that made it: the outbox is a table, and the way from there is a " +
				"broker"},
		{"backing", []string{"lab"}, any, []string{"binding/spans"},
			"a backing service is described and used without knowing who does so, nor who runs it"},
		{"backing/named", []string{"lab", "deploy/launch", "backing"}, any, nil,
			"what processes that are gone have left on the user's servers is known by them"},
		{"backing/database/databasetest", []string{"lab", "backing", "internal/servers"}, any, nil,
			"tests of databases run over real servers"},
		{"deploy/launch", nil, any, nil,
			"how a process is started and known again is the same for a server, a unit and a test"},
		{"relay", []string{"lab", "binding/accept"}, nil, nil,
			"what is sent is passed on, and slowed, the same way whoever stands on either side"},
		{"deploy", []string{"lab", "bounded", "relay", "binding/accept"}, any, nil,
			"a deployer starts what a layout says; knowing a system would tie variants to deployments"},
		{"deploy/deploytest", []string{"lab", "unit", "meter", "deploy/launch"}, any, nil,
			"the suite of all deployers is a conductor with its meter, and the unit that it deploys"},
		{"load", []string{"lab", "inputfile", "relay", "unit", "yamlfile"}, any, nil,
			"the load engine must be usable alone, against anything"},
		{"load/agent", []string{"lab", "bounded", "inputfile", "relay", "unit", "yamlfile", "load", "stats"}, any,
			nil,
			"the load engine must be usable alone; when a warm-up is over, a trial is judged by the rule of reports"},
		{"traces", []string{"lab", "inputfile", "binding/spans"}, any, nil,
			"users' spans are read without knowing a system; a path is walked as that of our own spans is"},
		{"model", []string{"lab", "yamlfile"}, []string{"go.yaml.in/yaml/"}, nil,
			"a model is what was measured; who makes spans, meters or predicts is no matter of the file"},
		{"meter", noun, any, nil,
			"the meter reads processes; what they are for must not change a reading"},
		{"profiler", []string{"lab", "inputfile"}, []string{"github.com/google/pprof/profile"}, nil,
			"a profiler divides the time of any program; what is the application's own, its system says"},
		{"profiler/sampler", noun, []string{"golang.org/x/sys/unix"}, nil,
			"who looks at programs from outside knows processes, and not what they are for"},
		{"profiler/counters", noun, []string{"golang.org/x/sys/unix"}, nil,
			"who counts instructions knows threads, and not what they are for"},
		{"fault", noun, any, nil,
			"a fault is injected into units, not into a known system"},
		{"stats", noun, []string{"gonum.org/"}, nil,
			"statistics are numbers in, estimates and verdicts out, with one numeric library that can be checked"},
		{"predict", []string{"lab", "model", "stats", "report/figure"}, nil, nil,
			"a prediction is made of a model alone; who made the model, and who measures, is no matter of it"},
		{"predict/sim", nil, nil, []string{"stats"},
			"a simulator knows programs, pools and processors, and not what they stand for"},
		{"store", []string{"lab", "inputfile"}, any, nil,
			"result folders outlive every other room; they are written from the nouns alone"},
		{"report", []string{"lab", "stats", "studies/published"}, any, nil,
			"a report is made from records; it starts, loads and measures nothing"},
		{"report/serve", []string{"lab", "report"}, any, []string{"store"},
			"who shows runs in the browser reads no folder: cmd hands it the shelf"},
		{"cmd/unit", []string{"lab", "unit", "systems", "binding", "backing"}, any, nil,
			"what is deployed must stay small and quick to start: no deployers, no load engine, no reports"},
		{"cmd", []string{""}, any, nil,
			"the command line joins all rooms"},
		{"scripts", nil, nil, []string{"deploy/compose/dockertest"},
			"what tests a script runs it, and imports nothing that it is made of"},
		{"docs/schema", noun, []string{"github.com/santhosh-tekuri/jsonschema/"}, nil,
			"schemas describe the nouns and nothing else"},
		{"internal", nil, nil, nil,
			"what checks the house must not depend on it"},
		{"internal/figures", []string{"lab", "stats", "report/figure"}, nil, nil,
			"figures are made of numbers; what they are of is the matter of the benchmark"},
		{"internal/trials", []string{"lab", "deploy", "meter", "run"}, nil, nil,
			"a benchmark's trial is deployed and played as any other, without knowing the system"},
		{"internal/servers", []string{"lab", "backing", "deploy/fleet", "internal/trials"}, any, nil,
			"a server that stands alone is run as those of trials are, without knowing what for"},
	}...)
})

// benches returns the rules of the programs behind `make bench-*`.
func benches() []rule {
	var all []rule
	for _, pattern := range []string{"../../*/bench", "../../systems/*/bench"} {
		folders, _ := filepath.Glob(pattern) // fails only for an invalid pattern
		for _, folder := range folders {
			all = append(all, rule{strings.TrimPrefix(folder, "../../"), []string{""}, []string{"*"}, nil,
				"a program that measures joins the rooms, as cmd does; nobody imports it"})
		}
	}
	return all
}

// forTests returns the rooms that the tests of any room may import.
func forTests() []string {
	return []string{module + "/docs/schema", module + "/internal/gobuild", module + "/internal/servers",
		module + "/internal/testset", "github.com/google/go-cmp/", "github.com/rogpeppe/go-internal/"}
}

// edge is one import.
type edge struct {
	from, to string
	inTest   bool
}

// ruleFor returns the rule of the room to which a package belongs.
func ruleFor(path string) (rule, bool) {
	room := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	var best rule
	for _, r := range rules() {
		if within(room, r.room) && len(r.room) > len(best.room) {
			best = r
		}
	}
	return best, best.room != ""
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

// check returns an error with the reason if an import is not allowed.
func check(e edge) error {
	r, known := ruleFor(e.from)
	if !known {
		return fmt.Errorf("%s belongs to no room: give it one in the table of internal/house", e.from)
	}
	if e.inTest && slices.ContainsFunc(forTests(), func(p string) bool { return strings.HasPrefix(e.to, p) }) {
		return nil
	}
	allowed := r.rooms
	if e.inTest {
		allowed = slices.Concat(r.rooms, r.joined)
	}
	target, ours := strings.CutPrefix(e.to, module)
	target = strings.TrimPrefix(target, "/")
	if ours && target == "" {
		return nil // the embedded files at the top of the module
	}
	if ours && (within(target, r.room) || slices.ContainsFunc(allowed,
		func(room string) bool { return within(target, room) })) {
		return nil
	}
	if !ours && (standard(e.to) || slices.ContainsFunc(r.outside,
		func(p string) bool { return p == "*" || strings.HasPrefix(e.to, p) })) {
		return nil
	}
	from := e.from
	if e.inTest {
		from = "a test of " + from
	}
	return fmt.Errorf("%s must not import %s: %s", from, e.to, r.why)
}

// standard reports whether a path is the standard library's: those have no dot
// in their first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// pkg has the fields of `go list -json` that the rules need.
type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	Name         string
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

// packages lists every package of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// listed returns all packages from go list. It runs once for all tests, because it takes a second of CPU
// time.
var listed = sync.OnceValues(func() (all []pkg, err error) {
	command := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Name,GoFiles,CgoFiles,Imports,"+
		"TestImports,XTestImports,Deps", module+"/...")
	var complaints strings.Builder
	command.Stderr = &complaints
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, complaints.String())
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		all = append(all, p)
	}
})

// edges returns all imports of a package and of its tests. The imports of a package that imports testing
// count as those of a test.
func (p pkg) edges() []edge {
	var all []edge
	for _, to := range p.Imports {
		all = append(all, edge{p.ImportPath, to, slices.Contains(p.Imports, "testing")})
	}
	for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
		all = append(all, edge{p.ImportPath, to, true})
	}
	return all
}

func TestArrowsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		for _, e := range p.edges() {
			if err := check(e); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestEveryRuleHasItsRoom: every rule is for a folder that exists.
func TestEveryRuleHasItsRoom(t *testing.T) {
	for _, r := range rules() {
		if info, err := os.Stat(filepath.Join(root(t), r.room)); err != nil || !info.IsDir() {
			t.Errorf("the table has the room %s, and there is no such folder: take its rule out", r.room)
		}
	}
}

// TestArrowsAreGuarded checks the rules with imports that they must allow or refuse.
// Long because it is one table.
func TestArrowsAreGuarded(t *testing.T) {
	cases := []struct {
		from, to string
		inTest   bool
		reason   string // empty: allowed
	}{
		{"lab", "encoding/json", false, ""},
		{"lab", module + "/stats", false, "nouns that all rooms share"},
		{"lab", "golang.org/x/sys/unix", false, "nouns that all rooms share"},
		{"run", module + "/lab", false, ""},
		{"run", module + "/meter", false, "through the interfaces of lab"},
		{"run", module + "/deploy/process", true, "through the interfaces of lab"},
		{"run", "gopkg.in/yaml.v3", false, "through the interfaces of lab"},
		{"stats", "gonum.org/v1/gonum/stat", false, ""},
		{"stats", module + "/lab", false, ""},
		{"stats", "example.org/statistics", false, "one numeric library"},
		{"stats", module + "/store", true, "one numeric library"},
		{"yamlfile", "go.yaml.in/yaml/v3", false, ""},
		{"yamlfile", module + "/lab", false, "whatever it holds"},
		{"study", module + "/yamlfile", false, ""},
		{"study", module + "/load/scenario", false, "without knowing systems"},
		{"load/scenario", module + "/yamlfile", false, ""},
		{"model", module + "/yamlfile", false, ""},
		{"model", module + "/traces", false, "no matter of the file"},
		{"load/scenario", module + "/study", false, "usable alone"},
		{"study", module + "/systems/big", true, ""},
		{"study", module + "/systems/big", false, "without knowing systems"},
		{"report/analysis", module + "/stats", false, ""},
		{"report/analysis", module + "/studies/published", false, ""},
		{"report/page", module + "/report/analysis", false, ""},
		{"report/analysis", module + "/store", false, "made from records"},
		{"report", module + "/studies", false, "made from records"},
		{"systems/big", module + "/binding/http", false, ""},
		{"systems/big", module + "/deploy/process", false, "neither how it is deployed"},
		{"systems/big", module + "/meter", false, "neither how it is deployed"},
		{"systems/big/bench", module + "/meter", false, ""},
		{"systems/external", module + "/systems/loaded", false, ""},
		{"systems/loaded", module + "/systems/shop", false, "knows none of them"},
		{"meter/bench", module + "/internal/figures", false, ""},
		{"meter", module + "/internal/figures", false, "what they are for"},
		{"load/bench", module + "/internal/figures", false, ""},
		{"load/bench", module + "/stats", false, ""},
		{"load/engine", module + "/stats", false, "usable alone"},
		{"internal/figures", module + "/stats", false, ""},
		{"internal/figures", module + "/meter", false, "matter of the benchmark"},
		{"internal/trials", module + "/meter", false, ""},
		{"internal/trials", module + "/systems/big", false, "without knowing the system"},
		{"internal/tally", module + "/lab", false, "must not depend on it"},
		{"binding/http", module + "/systems/big", false, "serve every system"},
		{"deploy/process", module + "/deploy/leftovers", false, ""},
		{"deploy/process", module + "/deploy/launch", false, ""},
		{"deploy/process", module + "/backing/server", false, "what a layout says"},
		{"deploy/process", module + "/load", false, "what a layout says"},
		{"backing/server", module + "/deploy/launch", false, "nor who runs it"},
		{"backing/server", module + "/internal/servers", false, "nor who runs it"},
		{"backing/broker", module + "/internal/servers", true, ""},
		{"deploy/launch", module + "/lab", false, "the same for a server, a unit and a test"},
		{"meter", module + "/deploy/process", true, "what they are for"},
		{"predict", module + "/model", false, ""},
		{"predict", module + "/store", false, "of a model alone"},
		{"predict/sim", module + "/stats", true, ""},
		{"predict/sim", module + "/stats", false, "not what they stand for"},
		{"predict/sim", module + "/model", false, "not what they stand for"},
		{"store", module + "/docs/schema", true, ""},
		{"store", module + "/docs/schema", false, "outlive every other room"},
		{"store", module + "/laboratory", false, "outlive every other room"},
		{"cmd/cleave", module + "/meter", false, ""},
		{"cmd/unit", module + "/systems/big", false, ""},
		{"cmd/unit", module + "/deploy/process", false, "small and quick to start"},
		{"cmd/unit", module + "/report", false, "small and quick to start"},
		{"helpers", "fmt", false, "belongs to no room"},
	}
	for _, c := range cases {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			err := check(edge{module + "/" + c.from, c.to, c.inTest})
			switch {
			case c.reason == "" && err != nil:
				t.Errorf("forbidden: %v", err)
			case c.reason != "" && err == nil:
				t.Error("allowed")
			case c.reason != "" && !strings.Contains(err.Error(), c.reason):
				t.Errorf("reason = %v, want one with %q", err, c.reason)
			}
		})
	}
}

// closures lists the packages that the binaries of a folder must not contain, not even indirectly.
func closures() map[string][]string {
	return map[string][]string{
		"cmd/cleave": {"docs/schema", "internal", "testing"},
		"cmd/unit": {"docs/schema", "internal", "testing", "deploy", "run", "report", "stats", "study", "studies",
			"store", "meter", "load"},
	}
}

// surplus returns a complaint for each package that a binary contains and must not.
func surplus(p pkg) []string {
	var found []string
	for folder, all := range closures() {
		if !within(p.ImportPath, module+"/"+folder) {
			continue
		}
		for _, unwanted := range all {
			for _, dependency := range p.Deps {
				if within(dependency, module+"/"+unwanted) || unwanted == dependency {
					found = append(found, fmt.Sprintf("%s contains %s", p.ImportPath, dependency))
				}
			}
		}
	}
	return found
}

func TestBinariesHoldOnlyWhatTheyNeed(t *testing.T) {
	for _, p := range packages(t) {
		for _, complaint := range surplus(p) {
			t.Error(complaint)
		}
	}
}

func TestBinaryRuleCanFail(t *testing.T) {
	cases := []struct {
		binary string
		deps   []string
		want   int
	}{
		{"cmd/unit/big", []string{"fmt", "internal/abi", module + "/lab", module + "/systems/big"}, 0},
		{"cmd/unit/big", []string{module + "/deploy/process", "testing"}, 2},
		{"cmd/cleave", []string{module + "/deploy/process", "internal/testlog"}, 0},
		{"cmd/cleave", []string{module + "/docs/schema", module + "/internal/tally"}, 2},
	}
	for _, c := range cases {
		if found := surplus(pkg{ImportPath: module + "/" + c.binary, Deps: c.deps}); len(found) != c.want {
			t.Errorf("%s with %v: %v, want %d complaints", c.binary, c.deps, found, c.want)
		}
	}
}
