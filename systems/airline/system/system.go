// Package system is the airline as a system under test: which units a variant consists
// of, what work it is given, how a trial is audited and measured. It starts nothing, and
// asks units only whether they are ready and what they have stored.
//
// Entry points: System, with a generator and the load of the study.
package system

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/airline/store"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// Factors of points, in addition to those of loaded.Base.
const (
	Visits    = "visits"        // customers who log in, book and log out, as fast as they are answered
	Cores     = lab.FactorCores // processors that all units of the system share
	Customers = "customers"
)

// System is the airline under the load of a study.
type System struct {
	loaded.Unplayed
	Generator lab.Generator
	Load      lab.Load
	Spans     string // a folder for the spans of all trials; empty: they are not kept
}

var (
	_ lab.Measurer    = System{}
	_ lab.LiveAuditor = System{}
	_ lab.Checkable   = System{}
	_ lab.Explainable = System{}
	_ lab.Demanding   = System{}
	_ lab.Profiled    = System{}
)

// base returns the part of the airline that all systems under load share.
func (s System) base() loaded.Base {
	return loaded.Base{Generator: s.Generator, Load: s.Load, Counted: Visits}
}

// mostCores is the greatest level of Cores; the study went to 16.
const mostCores = 1024

// Describe implements lab.System.
func (s System) Describe() lab.SystemInfo {
	return lab.SystemInfo{
		Name: airline.Name, Operation: "request",
		Summary: "an airline after Acme Air, in Go, Java and Node.js: customers log in, look for flights, " +
			"book and cancel them",
		Architectures: architecture.Catalogue().All(),
		Parameters: append(s.base().Parameters(Visits), []lab.Parameter{
			{Name: Cores, Summary: "processors that all units of the system share, the same for every variant (all)",
				Min: 1, Max: mostCores, Optional: true},
			{Name: Customers, Summary: "customers of the airline (10000)", Min: 1, Max: 1e6, Optional: true},
		}...),
		Metrics: metrics(), Restartable: true,
		Check: func(v lab.Variant) error {
			_, err := architecture.New(v.Architecture, v.Knobs)
			return err
		},
		Host: checkCores,
	}
}

// checkCores returns an error if a point asks for more processors than this host has.
func checkCores(p lab.Point) error {
	if asked, _ := p.Level(Cores); int(asked) > runtime.NumCPU() {
		return fmt.Errorf("%g cores are asked for, this host has %d", asked, runtime.NumCPU())
	}
	return nil
}

// tools returns the programs that build and run the airline in a runtime, with the packages that bring them.
func tools(runtime string) map[string]string {
	const jdk = "openjdk-17-jdk-headless"
	return map[string]map[string]string{
		architecture.Java: {"java": jdk, "javac": jdk, "mvn": "maven"},
		architecture.Node: {"node": "nodejs", "npm": "npm"},
	}[runtime]
}

// install returns the command that builds the airline in a runtime, after installing the tools that are
// missing here.
func install(runtime string) string {
	var missing *lab.MissingError
	if errors.As(lab.MissingPrograms("it", tools(runtime)), &missing) {
		return lab.InstallAll([]string{missing.Install, build})
	}
	return build
}

// Needs implements lab.Demanding: what builds and runs the airline in Java and Node.js.
func (s System) Needs() []lab.Need {
	var all []lab.Need
	for _, runtime := range []string{architecture.Java, architecture.Node} {
		packages := tools(runtime)
		for _, tool := range slices.Sorted(maps.Keys(packages)) {
			need := lab.Need{Name: tool}
			path, err := exec.LookPath(tool)
			if need.Is = path; err != nil {
				need.Missing = "there is no " + tool + " in PATH"
				need.Install = lab.AptInstall(packages[tool])
			}
			all = append(all, need)
		}
		need := lab.Need{Name: airline.Name + " in " + runtime, Is: program(runtime)}
		if _, err := os.Stat(need.Is); err != nil {
			need.Missing = "it is not built"
			need.Install = install(runtime)
		}
		all = append(all, need)
	}
	return all
}

// build is the command that makes the programs, and programsVariable names the folder
// that has them, where they are not beside this program.
const (
	build            = "make airline"
	programsVariable = "CLEAVE_AIRLINE"
)

// programs returns the folder with the programs that are not in Go, as an absolute path without links: units
// have other working directories, and containers other file systems. The folder may not exist.
func programs() string {
	folder := os.Getenv(programsVariable)
	if own, err := os.Executable(); folder == "" && err == nil {
		folder = filepath.Join(filepath.Dir(own), airline.Name)
	}
	if whole, err := filepath.Abs(folder); err == nil {
		folder = whole
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	return folder
}

// program returns the path of the program that runs a unit in a runtime other than Go.
func program(runtime string) string { return filepath.Join(programs(), runtime, "run") }

const (
	// descriptors is the limit on open files of a process: connections of clients and units.
	descriptors = 4096
	// front is HAProxy, the first unit of every architecture.
	front = "front"
	// keyFile is the file in a unit's folder with the key of tokens.
	keyFile = "key"
)

// Layout implements lab.System.
func (s System) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return lab.Layout{}, err
	}
	if err := checkCores(p); err != nil {
		return lab.Layout{}, fmt.Errorf("point %s: %w", p, err)
	}
	if _, set := p.Level(Cores); set && v.Deployment == lab.SSH {
		return lab.Layout{}, fmt.Errorf("point %s sets %s, which are processors of this host, and units by ssh "+
			"are on others: limit the units instead", p, Cores)
	}
	layout := lab.Layout{Lead: lab.RoleGenerator, Descriptors: descriptors, Code: code(design)}
	if design.Store == architecture.Mongo {
		layout.Services = []lab.ServiceSpec{{Name: airlineunit.ServiceDatabase, Kind: architecture.Mongo,
			Holds: &lab.Holdings{Tables: store.Collections()}}}
	}
	own, others := processors(p)
	for _, name := range design.Units {
		spec := unit(design, name, p, seed)
		spec.Cores = own
		layout.Units = append(layout.Units, spec)
	}
	if err := hosting.Protect(layout.Units, design.Security); err != nil {
		return lab.Layout{}, err
	}
	if design.Sidecar != kit.NoSidecar {
		layout.Units = loaded.Sidecars(layout.Units, design.Calls == architecture.GRPC,
			design.Security != kit.Plain)
	}
	proxy := loaded.Proxy(front, routes(design.Units), design.Units)
	proxy.Cores = others
	job := lab.LoadJob{Target: "http://" + airline.Name, Seed: seed, Variant: v.Name}
	if job.Scenario, job.Files, err = visits(p); err != nil {
		return lab.Layout{}, err
	}
	generator, err := s.base().Unit(job, p, front)
	if len(generator.Cores) == 0 {
		generator.Cores = others
	}
	layout.Units = append(layout.Units, proxy, generator)
	return layout, err
}

// processors returns the processors of the system's units, and those of all other units, at a point that sets
// Cores. nil stands for any: for both if the point does not set it, for the others if none are left for them.
func processors(p lab.Point) (own, others []int) {
	asked, set := p.Level(Cores)
	if !set {
		return nil, nil
	}
	for n := range runtime.NumCPU() {
		if n < int(asked) {
			own = append(own, n)
		} else {
			others = append(others, n)
		}
	}
	return own, others
}

// customers returns the number of customers.
func customers(p lab.Point) int {
	if asked, set := p.Level(Customers); set {
		return int(asked)
	}
	return 10_000
}

// unit returns one process of the airline.
func unit(d architecture.Design, name string, p lab.Point, seed uint64) lab.UnitSpec {
	data := firstData(p)
	unit := lab.UnitSpec{
		Name: name, Role: name,
		Runnable: lab.Runnable{
			Env: []string{
				"AIRLINE_UNIT=" + name, "AIRLINE_DATA={dir}/data",
				"AIRLINE_STORE=" + map[string]string{architecture.Embedded: "embedded",
					architecture.Mongo: "mongodb"}[d.Store],
				"AIRLINE_CUSTOMERS=" + strconv.Itoa(data.Customers), "AIRLINE_AIRPORTS=" + strconv.Itoa(data.Airports),
				"AIRLINE_DAYS=" + strconv.Itoa(data.Days), "AIRLINE_FLIGHTS=" + strconv.Itoa(data.Flights),
				"AIRLINE_FIRST_DAY=" + data.FirstDay.Format(time.DateOnly),
				"AIRLINE_SESSION_SECONDS=3600",
				"AIRLINE_SESSIONS=" + map[bool]string{false: architecture.Ask, true: architecture.Token}[d.Token],
				"AIRLINE_POOL=" + map[bool]string{false: "off", true: "on"}[d.Pool],
				"AIRLINE_CALLS=" + d.Calls, "AIRLINE_SECURITY=" + d.Security, "AIRLINE_RESILIENCE=" + d.Resilience,
				"AIRLINE_LOGGING=" + d.Logging, "AIRLINE_SPANS=" + strconv.FormatFloat(d.Spans, 'g', -1, 64),
			},
		},
		Lifecycle:  lab.Lifecycle{Ready: healthy},
		Networking: lab.Networking{Listens: true},
	}
	unit.Peers = airlineunit.Asks(name, d.Token)
	unit.Scalable = scalable(d, name)
	unit.Uses = []lab.Use{} // nil would stand for all peers and services
	for _, other := range unit.Peers {
		unit.Uses = append(unit.Uses, lab.Use{To: other, How: d.Calls})
	}
	if d.Store == architecture.Mongo {
		unit.Uses = append(unit.Uses, lab.Use{To: airlineunit.ServiceDatabase})
	}
	if d.Token {
		key := kit.TrialKey("the tokens of a trial of the airline", seed)
		unit.Files = map[string][]byte{keyFile: hex.AppendEncode(nil, key)}
		unit.Env = append(unit.Env, "AIRLINE_KEY={dir}/"+keyFile)
	}
	if d.Runtime == architecture.Go {
		unit.Own = airline.Name
		unit.Args = []string{"{}"}
		return unit
	}
	unit.Foreign = true
	unit.Served = true
	unit.Reads = []string{programs()}
	unit.Program = program(d.Runtime)
	unit.Install = install(d.Runtime)
	switch d.Runtime {
	case architecture.Java:
		unit.Env = append(unit.Env, "JAVA_OPTS=-Xmx"+heap(d))
	case architecture.Node:
		unit.Env = append(unit.Env, "AIRLINE_WORKERS="+workers(d, p))
	}
	return unit
}

// scalable reports whether a unit can run several times. All its data is in a server, and it
// loads none when it starts. No other unit calls it, since a unit knows one address of another.
func scalable(d architecture.Design, name string) bool {
	asked := func(by string) bool { return slices.Contains(airlineunit.Asks(by, d.Token), name) }
	loads := name != airlineunit.UnitAuth && name != airlineunit.UnitBookings
	return d.Store == architecture.Mongo && !loads && !slices.ContainsFunc(d.Units, asked)
}

// heap returns the largest heap of a Java unit. All units of a variant share a gigabyte. The initial size is
// left to Java: a larger one would be metered as used memory.
func heap(d architecture.Design) string { return strconv.Itoa(1024/len(d.Units)) + "m" }

// workers returns the processes of a unit of Node.js, which runs one thread in each: as many as the
// unit finds processors on its host, unless something else is asked for.
func workers(d architecture.Design, p lab.Point) string {
	asked, set := p.Level(Cores)
	switch {
	case d.Workers > 0:
		return strconv.Itoa(d.Workers)
	case set:
		return strconv.Itoa(int(asked))
	}
	return "cores"
}

// healthy asks a unit whether it has loaded its data and serves.
func healthy(ctx context.Context, address string) error {
	answer, err := get(ctx, address, "/health")
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

// direct makes the requests to units. Unlike http.DefaultTransport it ignores HTTP_PROXY, which is not meant
// for units.
var direct = &http.Transport{DisableKeepAlives: true}

// get returns the answer of a unit, whose body the caller closes. Any status but 200 is an error.
func get(ctx context.Context, address, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := direct.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("GET %s: %s", path, answer.Status), answer.Body.Close())
	}
	return answer, nil
}

// longestAnswer limits the time of an answer, in seconds.
const longestAnswer = 30

// routes returns the lines of HAProxy's configuration: it sends each request to the unit that answers it, and
// refuses the paths that only units use. The first unit gets the requests of no other: as services, that is
// auth with /login and /logout. HAProxy starts when all units are ready. It does not check their health: a
// connection that fails is tried again, at another replica if there is one.
func routes(units []string) []string {
	problem := func(kind, title string, status int) string {
		return fmt.Sprintf(`status %d content-type application/problem+json string '{"type":"/problems/%s","title":"%s","status":%d,"detail":"%s"}'`,
			status, kind, title, status, title)
	}
	unavailable := problem("unavailable", "A part of the airline does not answer; try again",
		http.StatusServiceUnavailable)
	lines := append(loaded.ProxyDefaults(longestAnswer), "  http-error "+unavailable, "frontend clients",
		loaded.ProxyBind)
	lines = append(lines,
		"  acl public path /login /logout /flights /bookings /health",
		"  acl public path_beg /customers/ /bookings/",
		"  http-request return "+problem("unknown-path", "There is nothing here", http.StatusNotFound)+
			" unless public")
	if len(units) > 1 {
		lines = append(lines,
			"  use_backend bookings if { path_beg /bookings } || { path_reg ^/customers/[^/]+/bookings }",
			"  use_backend customers if { path_beg /customers/ }",
			"  use_backend flights if { path /flights }")
	}
	lines = append(lines, "  default_backend "+units[0])
	for _, unit := range units {
		lines = append(lines, "backend "+unit, loaded.ProxyServer(unit))
	}
	return lines
}

// CheckPoint implements lab.Checkable.
func (s System) CheckPoint(operations int, over float64) lab.Point {
	return s.base().CheckPoint(operations, over)
}

// CheckTable implements lab.Checkable.
func (s System) CheckTable() lab.CheckTable {
	return loaded.CheckTable([]lab.CheckColumn{
		{Title: "booked", Count: countBooked}, {Title: "cancelled", Count: countCancelled},
		{Title: "stored", Count: countStored}, {Title: "lost", Count: countLost},
		{Title: "doubled", Count: countDoubled}, {Title: "halved", Count: countHalved},
		{Title: "made up", Count: countMadeUp}, {Title: "requests/s", Metric: lab.Goodput}},
		loaded.OutcomeColumns()...)
}
