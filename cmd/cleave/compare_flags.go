package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	experimentFlags
	request  loadFlags // what is sent, without a scenario
	ways     []string  // to deploy every system; none: each has its own
	scenario string
	path     string
	rates    []string
	users    []int
	duration time.Duration
	warmUp   warmUp
	arrivals string
	capacity bool
	cores    string
	margin   float64
	lengthen float64
	given    func(flag string) bool
}

func (f *compareFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.SortFlags = false
	f.given = flags.Changed
	f.request.given = flags.Changed
	flags.StringSliceVarP(&f.rates, "rate", "r", nil,
		"open loop: `flows` per second, several with commas: 500,1000")
	flags.IntSliceVarP(&f.users, "users", "u", nil, "closed loop: `number` of users, several with commas: 1,16")
	flags.StringVar(&f.arrivals, "arrivals", lab.JitteredArrivals,
		"open loop: jittered (each at a random moment of its interval), constant or poisson")
	flags.DurationVarP(&f.duration, "duration", "d", 10*time.Second, "length of the measured load of a trial")
	registerWarmUp(flags, &f.warmUp)
	flags.StringVar(&f.scenario, "scenario", "", "scenario `file`: what is sent and what right answers are")
	flags.StringVar(&f.path, "path", "/", "without a scenario: what is asked of every system")
	flags.AddFlagSet(f.request.whatFlags().flags)
	flags.StringVar(&f.request.objective, "objective", "",
		"`conditions` for a rate to count as held, e.g. 'p99<50ms,errors<0.1%'")
	flags.BoolVar(&f.capacity, "capacity", false,
		"also search the highest rate of each that meets the objective")
	flags.StringVar(&f.request.allow, "allow", "",
		"`file` with other targets and their owners' consent (docs/consent.md)")
	flags.IntVarP(&f.request.connections, "connections", "c", trial.DefaultConnections,
		"open loop: size of the pool of connections")
	flags.DurationVar(&f.request.timeout, "timeout", trial.DefaultTimeout, "time limit of an operation")
	flags.BoolVar(&f.request.http2, "http2", false, "HTTP/2; with http:// in clear text (h2c)")
	flags.StringVar(&f.request.ca, "ca", "", "PEM `file` of certificates to trust instead of the host's")
	flags.StringVar(&f.cores, "cores", "auto",
		"processors as `SYSTEM/GENERATOR`, e.g. 0,1/2; auto: the last for the generator; none")
	flags.IntVar(&f.blocks, "blocks", 8, "how often every system is measured at every point")
	flags.Float64Var(&f.margin, "margin", 0.05, "smallest difference that matters, as a share")
	flags.Float64Var(&f.lengthen, "lengthen", 4,
		"up to how many `times` as long loads become where trials are not steady; 1: never")
	flags.BoolVar(&f.noGates, "no-gates", false, "count trials also when host or generator were disturbed")
	flags.BoolVar(&f.quick, "quick", false,
		"3 blocks of 3 s: to see that all works; differences below 20 % stay undecided")
	flags.StringSliceVar(&f.ways, deployFlagName, nil,
		"deploy commands in this `way`, or compare each in several (process,docker-host): "+
			strings.Join(lab.Deployments(), ", "))
	registerCluster(command)
	registerHosts(command)
	f.looks.register(flags)
	f.registerPlay(command)
	f.registerVerdict(command)
}

// quickly shortens what was not given.
func (f *compareFlags) quickly() {
	if !f.quick {
		return
	}
	if !f.given("blocks") {
		f.blocks = 3
	}
	if !f.given("duration") {
		f.duration = 3 * time.Second
	}
	if !f.given("warm-up") {
		f.warmUp.least = time.Second / 2
	}
}

// defaultObjective is what a capacity is searched for when none is given.
const defaultObjective = "p99<100ms,errors<0.1%"

// load reads what every trial is put under, and the folder of the scenario's
// files.
func (f *compareFlags) load(secrets *secret.Vault) (lab.Load, string, error) {
	var mistakes []error
	note := func(err error) { mistakes = append(mistakes, err) }
	if f.capacity && f.request.objective == "" {
		f.request.objective = defaultObjective
	}
	load := lab.Load{Duration: f.duration.Seconds(), WarmUp: f.warmUp.least.Seconds(),
		WarmUpLimit: f.warmUp.limit.Seconds(), Arrivals: f.arrivals, Objective: f.request.objective}
	file, dir, err := f.file()
	note(err)
	if l := file.Load; err == nil && l != nil && l.Users == 0 && l.Replay == "" && l.Arrivals == "" {
		own := *l
		own.Arrivals = f.arrivals
		file.Load = &own
	}
	if err == nil {
		load.Scenario, err = json.Marshal(maskScenario(secrets, file))
		note(err)
	}
	_, err = newGenerator(load.Objective)
	note(err)
	if f.request.allow != "" {
		text, err := inputfile.Read(f.request.allow, consent.MaxList)
		note(err)
		load.Consent = string(text)
	}
	load.Client, err = f.client()
	note(err)
	note(f.checkDesign(f.margin, f.duration, f.warmUp))
	_, load.Cores, err = f.pin()
	note(err)
	if !(f.lengthen >= 1 && f.lengthen <= study.MostLengthened) {
		note(fmt.Errorf("--lengthen is %g, expected a number from 1 to %d", f.lengthen, study.MostLengthened))
	}
	return load, dir, errors.Join(mistakes...)
}

// client is how the generator connects, as far as flags say it.
func (f *compareFlags) client() (lab.LoadClient, error) {
	client := lab.LoadClient{HTTP2: f.request.http2}
	if f.given("connections") {
		if client.Connections = f.request.connections; client.Connections < 1 {
			return client, fmt.Errorf("--connections is %d, expected a number from 1 on", client.Connections)
		}
		if len(f.users) > 0 {
			return client, errors.New("--connections: every one of --users has a connection of its own: leave it out")
		}
	}
	if f.given("timeout") {
		if client.Timeout = f.request.timeout.Seconds(); client.Timeout <= 0 {
			return client, fmt.Errorf("--timeout is %v, expected a time such as 5s", f.request.timeout)
		}
	}
	var err error
	if f.request.ca != "" {
		client.Roots, err = inputfile.Read(f.request.ca, maxCertificates)
	}
	return client, err
}

// file is the scenario's, or one around the path.
func (f *compareFlags) file() (scenario.File, string, error) {
	if f.scenario != "" {
		if f.given("path") {
			return scenario.File{}, "", fmt.Errorf("--path: a scenario says itself what is asked: write it into %s",
				f.scenario)
		}
		return f.request.scenario(f.scenario)
	}
	if !strings.HasPrefix(f.path, "/") {
		return scenario.File{}, "", fmt.Errorf("--path is %q, expected a path such as /index.html", f.path)
	}
	file, err := f.request.request("http://system" + f.path)
	file.Target = ""
	for i := range file.Flows {
		for j := range file.Flows[i].Steps {
			step := &file.Flows[i].Steps[j]
			step.Name = step.Request
		}
	}
	return file, "", err
}

// pin chooses the processors of systems and generator.
func (f *compareFlags) pin() (system, generator []int, err error) {
	switch f.cores {
	case "none":
		return nil, nil, nil
	case "auto":
		n := runtime.NumCPU()
		if n < 2 {
			return nil, nil, nil
		}
		for core := range n - 1 {
			system = append(system, core)
		}
		return system, []int{n - 1}, nil
	}
	left, right, both := strings.Cut(f.cores, "/")
	system, err = coreList(left)
	if err == nil && both {
		generator, err = coreList(right)
	}
	if err != nil || !both {
		return nil, nil, fmt.Errorf("--cores is %q, expected SYSTEM/GENERATOR such as 0,1/2, auto or none", f.cores)
	}
	return system, generator, nil
}

func coreList(text string) ([]int, error) {
	var cores []int
	for word := range strings.SplitSeq(text, ",") {
		core, err := strconv.Atoi(word)
		if err != nil || core < 0 {
			return nil, fmt.Errorf("%q is no processor", word)
		}
		cores = append(cores, core)
	}
	return cores, nil
}

// points are the loads at which the systems are compared, and one more for the
// capacity.
func (f *compareFlags) points(own *scenario.Load) ([]lab.Point, error) {
	if len(f.rates) > 0 && len(f.users) > 0 {
		return nil, errors.New("give --rate for open loops or --users for closed ones, not both")
	}
	var points []lab.Point
	add := func(name, factor string, level float64) error {
		if slices.ContainsFunc(points, func(p lab.Point) bool { return p.Name == name }) {
			return fmt.Errorf("%s stands there twice", name)
		}
		points = append(points, lab.Point{Name: name, Levels: map[string]float64{factor: level}})
		return nil
	}
	var mistakes []error
	from := 100.0
	for i, text := range f.rates {
		rate, err := schedule.ParseRate(text)
		if err == nil {
			err = add("rate-"+lab.Plain(rate), external.Rate, rate)
		}
		mistakes = append(mistakes, err)
		if i == 0 {
			from = rate
		}
	}
	for _, n := range f.users {
		if n < 1 {
			mistakes = append(mistakes, fmt.Errorf("--users is %d, expected a number from 1 on", n))
			continue
		}
		mistakes = append(mistakes, add("users-"+strconv.Itoa(n), external.Users, float64(n)))
	}
	if len(f.rates)+len(f.users) == 0 && own != nil {
		points = append(points, lab.Point{Name: "scenario", Levels: map[string]float64{}})
	}
	if f.capacity {
		mistakes = append(mistakes, add("capacity", external.SearchFrom, from))
	}
	if len(points) == 0 {
		mistakes = append(mistakes,
			errors.New("give --rate for an open loop, --users for a closed one, or --capacity"))
	}
	return points, errors.Join(mistakes...)
}

// design is how the experiment is played.
func (f *compareFlags) design(load lab.Load, definitions []external.Definition) lab.Design {
	d := study.Defaults()
	d.Blocks, d.Margin, d.MaxRepeats, d.Lengthen = f.blocks, f.margin, 1, f.lengthen
	d.NoiseFloor = []string{definitions[0].Name}
	if f.given("seed") {
		d.Seed = f.seed
	}
	d.TrialTimeout = load.Duration + load.LongestWarmUp() + 2*time.Minute.Seconds() + longestStart(definitions)
	if f.capacity {
		// about twenty probes, some of them repeated, and one that is longer
		d.TrialTimeout += 45 * (load.Duration + 10)
	}
	return d
}

// longestStart is how many seconds a system may take until it can be loaded: each of the things
// that are waited for, one after the other, may take ready.timeout.
func longestStart(definitions []external.Definition) float64 {
	longest := 0.0
	for _, d := range definitions {
		steps := 1.0 // an answer, or a connection
		if d.Ready.Log != "" {
			steps++
		}
		if len(d.Ready.Command) > 0 {
			steps++
		}
		longest = max(longest, steps*d.Ready.Timeout)
	}
	return longest
}
