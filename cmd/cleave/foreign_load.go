package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// load returns the load of every trial, and the folder of the scenario's files.
func (f *foreignFlags) load() (lab.Load, string, error) {
	var wrong mistakes
	load := f.measuredLoad()
	load.Arrivals = cmp.Or(f.arrivals, load.Arrivals)
	load.Objective = f.request.objective
	file, dir, err := f.file()
	wrong.add(err)
	own := file.Load
	isOpen := own != nil && own.Users == 0 && own.Replay == ""
	if isOpen && own.Arrivals == "" {
		changed := *own // it gets the arrivals of --arrivals
		changed.Arrivals = load.Arrivals
		file.Load = &changed
	}
	if err == nil {
		load.Scenario, err = json.Marshal(maskScenario(f.secrets, file))
		wrong.add(err)
	}
	_, err = newGenerator(load.Objective) // checks the objective
	wrong.add(err)
	allowed, err := readFlagFile("allow", f.request.allow, consent.MaxList)
	wrong.add(err)
	load.Consent = string(allowed)
	load.Client, err = f.client()
	wrong.add(err)
	_, load.Cores, err = f.pin()
	wrong.add(err)
	return load, dir, wrong.err()
}

// client returns the settings of the generator's connections from the flags.
func (f *foreignFlags) client() (lab.LoadClient, error) {
	client := lab.LoadClient{HTTP2: f.request.http2, TraceShare: float64(f.request.traceShare)}
	if f.isSet("connections") {
		if client.Connections = f.request.connections; client.Connections < 1 {
			return client, fmt.Errorf("--connections is %d, expected a number from 1 on", client.Connections)
		}
	}
	if f.isSet("timeout") {
		if client.Timeout = f.request.timeout.Seconds(); client.Timeout <= 0 {
			return client, fmt.Errorf("--timeout is %v, expected a time such as 5s", f.request.timeout)
		}
	}
	var err error
	client.Roots, err = readFlagFile("ca", f.request.ca, maxCertificates)
	return client, err
}

// file returns the scenario of --scenario, or one with a request of --path, and the folder of its files.
func (f *foreignFlags) file() (scenario.File, string, error) {
	if f.scenario != "" {
		if f.isSet("path") {
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

// pin returns the numbers of the processors of the systems and of the generator, as --cores says; nil: they
// are not pinned.
func (f *foreignFlags) pin() (system, generator []int, err error) {
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
	left, right, _ := strings.Cut(f.cores, "/") // without a slash, right is no list of processors
	system, err = coreList(left)
	if err == nil {
		generator, err = coreList(right)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--cores is %q, expected SYSTEM/GENERATOR such as 0,1/2, auto or none: %w",
			f.cores, err)
	}
	return system, generator, nil
}

// coreList parses numbers of processors: "0,1".
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

// trialSlack is the time of a trial in addition to its waits, which have their own limits.
const trialSlack = 30 * time.Second

// trialTimeout returns the time limit of a trial, in seconds.
func trialTimeout(load lab.Load, definitions []external.Definition) float64 {
	longest := 0.0
	for _, d := range definitions {
		longest = max(longest, d.LongestQueries().Seconds())
	}
	return load.Duration + load.LongestWarmUp() + (kubernetes.MarksPatience + trialSlack).Seconds() +
		longestStart(definitions) + longest
}

// searchTimeout returns the additional time limit of the trials of a study that searches for a capacity, in
// seconds: about twenty probes, some of them repeated, and a longer one. It is 0 for other studies.
func searchTimeout(s lab.Study) float64 {
	for _, p := range s.Points {
		if _, searches := p.Level(lab.FactorSearchFrom); searches {
			return 45 * (s.Load.Duration + 10)
		}
	}
	return 0
}

// longestHealth limits the time until all services of a compose file are healthy.
const longestHealth = 5 * time.Minute

// longestStart returns the time limit for the start of the slowest system, in seconds. There can be several
// waits one after the other, each of which may take ready.timeout.
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
		start := steps * d.Ready.Timeout
		if len(d.Services) > 0 {
			start += longestHealth.Seconds()
		}
		longest = max(longest, start)
	}
	return longest
}

// checkSystems checks load and targets before anything is played, asks for consent, and packs the scenario's
// files. Systems that do not run yet cannot prove the consent of their owners. If there is a consent list,
// the generator fetches their proofs in the trial.
func (f *foreignFlags) checkSystems(ctx context.Context, s *lab.Study, dir string) error {
	allowed, err := consent.ReadList(strings.NewReader(s.Load.Consent), f.request.allow)
	if err != nil {
		return err // without the list, no target has consent
	}
	var wrong mistakes
	playsOwnLoad := false
	for _, v := range s.Variants {
		for _, p := range s.Points {
			// The check needs a port; the real one is known when the system has started.
			job := lab.LoadJob{Load: *s.Load, Target: strings.ReplaceAll(v.External.URL, "{port}", "80")}
			rate, _ := p.Level(lab.FactorRate)
			users, _ := p.Level(lab.FactorUsers)
			from, _ := p.Level(lab.FactorSearchFrom)
			operations, counted := p.Level(external.Operations)
			// All operations of a counted load may be sent within one second. firstRate begins a search at twice
			// its rate at most.
			job.Rate = max(rate, 2*from, operations)
			job.Users = int(users)
			if counted {
				job.Duration = loaded.Longest
			}
			if job.Rate == 0 && job.Users == 0 {
				playsOwnLoad = true
			}
			spec, err := checkLoad(job, dir, f.secrets)
			preparesLater := v.Architecture != "url" && s.Load.Consent != ""
			if err == nil && !preparesLater {
				spec.Guard.Allowed = allowed
				// The conductor lengthens warm-up and load if trials are not steady.
				planned := float64(spec.Load.Duration + seconds(s.Load.LongestWarmUp()))
				longest := planned * max(1, s.Design.Lengthen)
				spec.Load.Duration = scenario.Duration(min(longest, float64(study.Longest)))
				_, err = spec.Prepare(ctx)
			}
			if err != nil {
				wrong.addf("%s: %w", v.Name, err)
				break
			}
		}
	}
	f.noteSpans(*s)
	if err := wrong.err(); err != nil {
		return err
	}
	// Only now, because a packed scenario does not name the files on this host any more.
	return packFiles(s.Load, playsOwnLoad, dir)
}

// noteSpans adds a note if a study asks for spans, but services have a destination for them in their own
// file.
func (f *foreignFlags) noteSpans(s lab.Study) {
	asks := s.Load.Client.TraceShare > 0 || slices.ContainsFunc(s.Points, func(p lab.Point) bool {
		share, _ := p.Level(lab.FactorTraceShare)
		return share > 0
	})
	if !asks {
		return
	}
	for _, v := range s.Variants {
		for _, service := range v.External.Services {
			for _, set := range service.Container.Env {
				name, _, _ := strings.Cut(set, "=")
				if name != "OTEL_EXPORTER_OTLP_ENDPOINT" && name != "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" {
					continue
				}
				note := fmt.Sprintf("service %s: its file sets %s, so its spans do not come to Cleave: leave that out "+
					"(env of change, in a system file)", service.Name, name)
				if !slices.Contains(f.notes, note) {
					f.notes = append(f.notes, note)
				}
			}
		}
	}
}

// packFiles puts the files that the scenario names into the load, so that the plan is enough to play it. The
// file of arrivals is among them if the load of the scenario is played.
func packFiles(load *lab.Load, playsOwnLoad bool, dir string) error {
	job := lab.LoadJob{Load: *load}
	if !playsOwnLoad {
		job.Rate = 1 // any rate replaces the load of the scenario
	}
	work, err := agentJob(job)
	if err != nil {
		return err
	}
	work.Spec.Dir = dir
	packed, err := work.Pack()
	if err != nil || len(packed.Files) == 0 {
		return err
	}
	file := packed.Spec.Scenario
	if file.Load != nil {
		own := *file.Load
		own.Replay = packed.Spec.Load.Replay
		file.Load = &own
	}
	load.Files = packed.Files
	load.Scenario, err = json.Marshal(file)
	return err
}
