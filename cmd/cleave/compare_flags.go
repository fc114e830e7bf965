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
	"github.com/spf13/pflag"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	designFlags
	request  loadFlags // what is sent, without a scenario
	ways     []string  // to deploy every system; none: each has its own
	scenario string
	path     string
	rates    []string
	users    []int
	arrivals string
	capacity bool
	cores    string
	lengthen float64
	faults   []string
	url      string // the way into compose files
	command  bool   // compose files run through the compose command
	build    bool
	builds   [][]string // commands that build images of compose files
	notes    []string
	nameBy   string
}

func (f *compareFlags) register(command *cobra.Command) {
	r := &f.request
	f.given, r.given = command.Flags().Changed, command.Flags().Changed
	addGroup(command, "What is sent", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.scenario, "scenario", "", "scenario `file` with the requests and the right answers")
		flags.StringVar(&f.path, "path", "/", "path that every system is asked for, without a scenario")
	}, r.addRequest)
	addGroup(command, "Load", func(flags *pflag.FlagSet) {
		flags.StringSliceVarP(&f.rates, "rate", "r", nil,
			"open loop: `flows` per second, comma-separated: 500,1000")
		flags.IntSliceVarP(&f.users, "users", "u", nil, "closed loop: `number` of users, comma-separated: 1,16")
		flags.StringVar(&f.arrivals, "arrivals", lab.JitteredArrivals,
			"open loop: `kind` of arrivals: jittered (at a random moment of its interval), constant or poisson")
		f.addLength(flags, 10*time.Second)
	}, r.addClient)
	addGroup(command, "Answers", r.addAnswers, func(flags *pflag.FlagSet) {
		flags.StringVar(&r.objective, "objective", "",
			"`conditions` that a rate must meet, e.g. 'p99<50ms,errors<0.1%'")
		flags.BoolVar(&f.capacity, "capacity", false,
			"also search for the highest rate of each system that meets the objective")
	})
	addGroup(command, "Trust", r.addAllowed, func(flags *pflag.FlagSet) {
		flags.BoolVar(&f.trust, "trust", false, "start what compose files, or the plan of somebody else's result "+
			"folder, ask for without asking")
	})
	addGroup(command, "Deployment", func(flags *pflag.FlagSet) {
		flags.StringSliceVar(&f.ways, deployFlagName, nil,
			"`deployment` of commands, or several to compare each in (process,docker-host): "+
				strings.Join(lab.Deployments(), ", "))
		flags.StringVar(&f.url, "url", "", "`URL` of what is loaded of a compose file or manifests: a published "+
			"port (http://127.0.0.1:8080/), or a service with its port (http://web:80/)")
		flags.BoolVar(&f.command, "compose-command", false,
			"run compose files through the command docker compose, not each service as a unit")
		flags.BoolVar(&f.build, "build", false, "build the images of services that have build, before all trials")
		flags.StringVar(&f.cores, "cores", "auto",
			"processors as `SYSTEM/GENERATOR`, e.g. 0,1/2; auto: the last for the generator; none: all for both")
	}, addClusters)
	addGroup(command, "Experiment", func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&f.faults, "fault", nil, "fault in every load, and its end: "+
			"`KIND:TARGET[@AFTER][+HEAL]`, e.g. kill:cart@5s+1s (docs/faults.md)")
		f.addBlocks(flags, 8, "system at each point",
			"play 3 blocks of 3 s to see that all works; differences below 20 % stay undecided")
		flags.Float64Var(&f.lengthen, "lengthen", 4,
			"maximum `factor` for the length of loads whose trials are not steady (1: no longer loads)")
	}, f.addDesign, f.addPlay)
	addGroup(command, "Output", f.addOutput, f.addVerdict, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.nameBy, "name-by", "",
			"`kind` of difference that names processes of one program: folder, port, or an argument "+
				"by its name (--service) or number (1); else their folders, or their ports")
	})
}

// defaultObjective is what a capacity is searched for when none is given.
const defaultObjective = "p99<100ms,errors<0.1%"

// load reads the load of every trial, and the folder of the scenario's files.
func (f *compareFlags) load(secrets *secret.Vault) (lab.Load, string, error) {
	var mistakes []error
	note := func(err error) { mistakes = append(mistakes, err) }
	if f.capacity && f.request.objective == "" {
		f.request.objective = defaultObjective
	}
	load := f.measuredLoad()
	load.Arrivals, load.Objective = f.arrivals, f.request.objective
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
	note(f.checkDesign())
	_, load.Cores, err = f.pin()
	note(err)
	if !(f.lengthen >= 1 && f.lengthen <= study.MostLengthened) {
		note(fmt.Errorf("--lengthen is %g, expected a number from 1 to %d", f.lengthen, study.MostLengthened))
	}
	return load, dir, errors.Join(mistakes...)
}

// checkNameBy returns the mistake in what names the processes of commands.
func (f *compareFlags) checkNameBy(definitions []external.Definition) error {
	if f.nameBy == "" {
		return nil
	}
	number, _ := strconv.Atoi(f.nameBy) // 0 where it is none
	known := f.nameBy == lab.NameByFolder || f.nameBy == lab.NameByPort || number > 0 ||
		number == 0 && strings.HasPrefix(f.nameBy, "-")
	switch {
	case !known:
		return fmt.Errorf("--name-by is %q, expected %s, %s, the name of an argument such as --service, or its "+
			"number from 1 on", f.nameBy, lab.NameByFolder, lab.NameByPort)
	case !slices.ContainsFunc(definitions, func(d external.Definition) bool { return d.Kind() == "command" }):
		return errors.New("--name-by: none of the systems is a command, whose processes it could name: leave it " +
			"out")
	}
	return nil
}

// client returns how the generator connects, as far as flags say it.
func (f *compareFlags) client() (lab.LoadClient, error) {
	client := lab.LoadClient{HTTP2: f.request.http2, TraceShare: float64(f.request.traceShare)}
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

// file returns the scenario's, or one around the path.
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

// points returns the loads at which the systems are compared, and one more for the
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

// trialTimeout returns how many seconds a trial may take.
func (f *compareFlags) trialTimeout(load lab.Load, definitions []external.Definition) float64 {
	limit := load.Duration + load.LongestWarmUp() + 2*time.Minute.Seconds() + longestStart(definitions)
	if f.capacity {
		// about twenty probes, some of them repeated, and one that is longer
		limit += 45 * (load.Duration + 10)
	}
	return limit
}

// longestHealth is how long all services of a compose file may take until they are healthy.
const longestHealth = 5 * time.Minute

// longestStart returns how many seconds a system may take until it can be loaded: each of the things
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
		if len(d.Services) > 0 {
			longest += longestHealth.Seconds()
		}
	}
	return longest
}
