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

// rule lists the rooms that one room may import. A room is named by its folder. A package belongs to the room
// with the longest name that is its folder or a parent of it.
type rule struct {
	room string
	// rooms lists the rooms that this one may import, with their subfolders.
	rooms []string
	// outside lists prefixes of third-party packages that it may import; "*" means any that
	// the dependency list explains.
	outside []string
	// inTests lists the rooms that only tests of this one may import.
	inTests []string
	// why is the reason of the rule, for the message about a wrong import.
	why string
}

// rules returns the table of DESIGN.md. A room may always import the subfolders of its own folder. The table
// is computed once, because Go's test cache records every listed folder and checks it again.
var rules = sync.OnceValue(func() []rule {
	nouns := []string{"lab"}
	anyModule := []string{"*"}
	return append(benches(), []rule{
		{"lab", nil, nil, nil,
			"lab holds the nouns that all rooms share; what it imported, all rooms would import"},
		{"unit", []string{"lab", "binding/accept"}, anyModule, []string{"deploy/launch"},
			"it is the unit's side of the contract with a deployer, and serves every unit, whatever it hosts"},
		{"run", nouns, nil, nil,
			"the conductor plays any experiment through the interfaces of lab; cmd hands it the rooms"},
		{"inputfile", nil, nil, nil,
			"all input files are opened with the same checks; each room decides how large its files may be"},
		{"yamlfile", nil, []string{"go.yaml.in/yaml/"}, nil,
			"all YAML files are read in the same way; each room decides what its files mean"},
		{"bounded", nil, nil, nil,
			"data from strangers are cut at a limit in the same way everywhere"},
		{"secret", nil, nil, nil,
			"values that must not be published are kept in the same way, whatever they are for"},
		{"shell", nil, nil, nil,
			"commands are split and quoted in the same way, wherever users type or read them"},
		{"study", []string{"lab", "yamlfile"}, anyModule, []string{"studies", "systems"},
			"a study file is parsed and expanded without knowing systems, deployers or results"},
		{"studies", nouns, nil, []string{"stats"},
			"the built-in studies are files with their published figures, not code"},
		{"systems", []string{"lab", "bounded", "inputfile", "yamlfile", "unit", "binding", "backing"}, anyModule,
			[]string{"deploy/launch"},
			"business code knows neither how it is deployed, loaded, metered nor reported"},
		{"systems/loaded", nouns, nil, []string{"deploy/launch", "deploy/fleet"},
			"the common part of systems under load knows neither a system nor the load engine"},
		{"systems/kit", nouns, nil, nil, "the kit from which systems are built knows no system"},
		{"systems/kit/hosting", []string{"lab", "unit", "binding", "systems/kit"}, anyModule, nil,
			"a unit hosts, calls and serves components of any system"},
		{"systems/kit/front", []string{"lab", "unit", "binding"}, anyModule, nil,
			"the common part of all public interfaces is the same for every system"},
		{"systems/rehearsal",
			[]string{"lab", "unit", "binding", "backing", "model", "systems/kit", "systems/loaded"}, anyModule, nil,
			"the system that plays a model knows the model, but neither its makers nor the simulator"},
		{"systems/external",
			[]string{"lab", "bounded", "inputfile", "yamlfile", "secret", "shell", "systems/loaded"}, anyModule,
			[]string{"backing/database", "internal/servers"},
			"a user's system is known only by its definition, which may refer to secrets"},
		{"systems/big/bigtest", []string{"lab", "unit", "deploy", "internal/trials", "systems/big"}, anyModule, nil,
			"tests of an architecture deploy its units as a trial does"},
		{"binding", []string{"lab", "bounded"}, anyModule, nil,
			"a binding carries calls; it must serve every system and every deployment alike"},
		{"binding/event", []string{"lab", "bounded", "backing", "binding/spans"}, anyModule, nil,
			"an event is stored in an outbox table, by the transaction that made it, and leaves through a broker"},
		{"backing", []string{"lab"}, anyModule, []string{"binding/spans"},
			"a backing service is described and used without knowing its users, nor who runs it"},
		{"backing/named", []string{"lab", "deploy/launch", "backing"}, anyModule, nil,
			"leftovers of dead processes on the user's servers are recognized by the labels of the processes"},
		{"backing/database/databasetest", []string{"lab", "backing", "internal/servers"}, anyModule, nil,
			"tests of databases use real servers"},
		{"deploy/launch", nil, anyModule, nil,
			"processes are started and recognized in the same way for a server, a unit and a test"},
		{"relay", []string{"lab", "binding/accept"}, nil, nil,
			"a relay passes data on, and slows it, in the same way for any two sides"},
		{"deploy", []string{"lab", "bounded", "inputfile", "relay", "binding/accept"}, anyModule, nil,
			"a deployer starts what a layout says; knowing a system would tie variants to deployments"},
		{"deploy/deploytest", []string{"lab", "unit", "meter", "deploy/launch"}, anyModule, nil,
			"the suite of all deployers acts as a conductor with a meter, and has the unit that it deploys"},
		{"load", []string{"lab", "inputfile", "relay", "secret", "unit", "yamlfile"}, anyModule, nil,
			"the load engine must be usable alone, against anything"},
		{"load/agent",
			[]string{"lab", "bounded", "inputfile", "relay", "secret", "unit", "yamlfile", "load", "stats"},
			anyModule, nil,
			"the load engine must be usable alone; the end of a warm-up is found by the same rule as in reports"},
		{"traces", []string{"lab", "inputfile", "binding/spans"}, anyModule, nil,
			"users' spans are read without knowing a system; their critical paths are found like those of our spans"},
		{"model", []string{"lab", "yamlfile"}, []string{"go.yaml.in/yaml/"}, nil,
			"a model holds what was measured; it does not depend on how it was measured, or what it is used for"},
		{"meter", nouns, anyModule, nil,
			"the meter reads processes; what they are for must not change a reading"},
		{"profiler", []string{"lab", "inputfile"}, []string{"github.com/google/pprof/profile"}, nil,
			"a profiler divides the time of any program; its system declares which code is the application's own"},
		{"profiler/sampler", nouns, []string{"golang.org/x/sys/unix"}, nil,
			"a sampler knows processes, and not what they are for"},
		{"profiler/counters", nouns, []string{"golang.org/x/sys/unix"}, nil,
			"counters know threads, and not what they are for"},
		{"fault", nouns, anyModule, nil,
			"a fault is injected into units, not into a known system"},
		{"stats", nouns, []string{"gonum.org/"}, nil,
			"statistics are numbers in, estimates and verdicts out, with one numeric library that can be checked"},
		{"predict", []string{"lab", "model", "stats", "report/figure"}, nil, nil,
			"a prediction is made of a model alone; it does not depend on how the model was made"},
		{"predict/sim", nil, nil, []string{"stats"},
			"a simulator knows programs, pools and processors, and not what they stand for"},
		{"store", []string{"lab", "inputfile", "shell"}, anyModule, nil,
			"result folders outlive every other room; they are written from the nouns alone"},
		{"report", []string{"lab", "stats", "studies/published"}, anyModule, nil,
			"a report is made from records; it starts, loads and measures nothing"},
		{"report/serve", []string{"lab", "report"}, anyModule, []string{"store"},
			"the server for browsers reads no folder: cmd hands it the shelf"},
		{"cmd/unit", []string{"lab", "unit", "systems", "binding", "backing"}, anyModule, nil,
			"what is deployed must stay small and quick to start: no deployers, no load engine, no reports"},
		{"cmd", []string{""}, anyModule, nil,
			"the command line joins all rooms"},
		{"scripts", nil, nil, []string{"deploy/compose/dockertest"},
			"a test of a script runs the script, and imports nothing of what it builds"},
		{"docs/schema", nouns, []string{"github.com/santhosh-tekuri/jsonschema/"}, nil,
			"schemas describe the nouns and nothing else"},
		{"internal", nil, nil, nil,
			"tools that check the house must not depend on it"},
		{"internal/figures", []string{"lab", "stats", "report/figure"}, nil, nil,
			"figures are made of numbers; what they measure is up to the benchmark"},
		{"internal/trials", []string{"lab", "deploy", "meter", "run"}, nil, nil,
			"a benchmark's trial is deployed and played as any other, without knowing the system"},
		{"internal/servers", []string{"lab", "backing", "deploy/fleet", "internal/trials"}, anyModule, nil,
			"a server without a trial is run like those of trials, whatever it is for"},
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

// forTests returns the prefixes of the packages that the tests of any room may import.
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

// check returns an error with the reason of the rule if an import is not allowed.
func check(e edge) error {
	r, known := ruleFor(e.from)
	if !known {
		return fmt.Errorf("%s belongs to no room: add a rule for it to the table in internal/house", e.from)
	}
	if e.inTest && slices.ContainsFunc(forTests(), func(p string) bool { return strings.HasPrefix(e.to, p) }) {
		return nil
	}
	allowed := r.rooms
	if e.inTest {
		allowed = slices.Concat(r.rooms, r.inTests)
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
	if !ours && (isStandard(e.to) || slices.ContainsFunc(r.outside,
		func(p string) bool { return p == "*" || strings.HasPrefix(e.to, p) })) {
		return nil
	}
	from := e.from
	if e.inTest {
		from = "a test of " + from
	}
	return fmt.Errorf("%s must not import %s: %s", from, e.to, r.why)
}

// isStandard reports whether a path is of the standard library: these have no dot in their first element.
func isStandard(path string) bool {
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
			t.Errorf("the table has the room %s, and there is no such folder: remove its rule", r.room)
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
		{"yamlfile", module + "/lab", false, "in the same way"},
		{"study", module + "/yamlfile", false, ""},
		{"study", module + "/load/scenario", false, "without knowing systems"},
		{"load/scenario", module + "/yamlfile", false, ""},
		{"model", module + "/yamlfile", false, ""},
		{"model", module + "/traces", false, "does not depend on how"},
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
		{"systems/loaded", module + "/systems/shop", false, "knows neither a system"},
		{"meter/bench", module + "/internal/figures", false, ""},
		{"meter", module + "/internal/figures", false, "what they are for"},
		{"load/bench", module + "/internal/figures", false, ""},
		{"load/bench", module + "/stats", false, ""},
		{"load/engine", module + "/stats", false, "usable alone"},
		{"internal/figures", module + "/stats", false, ""},
		{"internal/figures", module + "/meter", false, "up to the benchmark"},
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
		{"deploy/launch", module + "/lab", false, "the same way for a server, a unit and a test"},
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

// unwantedPackages returns the packages that the binaries must not contain, not even indirectly, by the
// folder of the binaries.
func unwantedPackages() map[string][]string {
	return map[string][]string{
		"cmd/cleave": {"docs/schema", "internal", "testing"},
		"cmd/unit": {"docs/schema", "internal", "testing", "deploy", "run", "report", "stats", "study", "studies",
			"store", "meter", "load"},
	}
}

// surplus returns a complaint for each package that a binary contains and must not.
func surplus(p pkg) []string {
	var found []string
	for folder, all := range unwantedPackages() {
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
