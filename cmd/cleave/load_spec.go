package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/convert"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/oracle"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/search"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/shell"
)

// Limits of files that flags name, in bytes.
const (
	maxCertificates = 1 << 20
	maxProtoSet     = 16 << 20
)

// read returns the spec and the objective that the flags describe. source is a URL or the path of a scenario.
// The error names all mistakes.
func (f *loadFlags) read(source string) (trial.Spec, objective.Objective, error) {
	var wrong mistakes
	s := trial.Spec{
		Target: f.target, Unix: f.unix, OneUse: f.noKeepAlive, Insecure: f.insecure, Loops: f.loops,
		Connections: f.connections, Streams: f.streams, Timeout: scenario.Duration(f.timeout), Pacing: f.pacing,
		TraceShare: float64(f.traceShare),
	}
	if f.http2 {
		s.Protocol = trial.HTTP2
	}
	var err error
	s.Scenario, s.Dir, err = f.scenario(source)
	wrong.add(err)
	s.Load, err = f.load(s.Scenario.Load)
	wrong.add(err, f.readFiles(&s))
	goal, err := f.readObjective()
	wrong.add(err, f.outputs.check(f))
	// Zero means the default in these fields.
	for _, name := range []string{"users", "duration", "seed", "connections", "streams", "timeout", "loops"} {
		value := f.value(name)
		isZero := value == "0" || value == "0s"
		if f.isSet(name) && isZero {
			wrong.addf("--%s is %s: leave it out for the default, or give a value above zero", name, value)
		}
	}
	if f.isSet("seed") || s.Scenario.Seed == 0 {
		s.Scenario.Seed = max(f.seed, 1)
	}
	return s, goal, wrong.err()
}

// readObjective returns the objective, and checks the flags that need one.
func (f *loadFlags) readObjective() (goal objective.Objective, err error) {
	switch {
	case f.isSet("resolution") && !f.search:
		err = errors.New("--resolution belongs to --search")
	case !(f.resolution >= search.FinestResolution && f.resolution <= search.CoarsestResolution):
		err = fmt.Errorf("--resolution is %g, expected a ratio from %g to %g", f.resolution,
			search.FinestResolution, search.CoarsestResolution)
	case f.search && f.objective == "":
		err = errors.New("--search needs --objective: the highest rate that meets it is looked for")
	case f.search && f.abort:
		err = errors.New("--abort belongs to one load: a --search plays every trial to its end")
	case f.abort && f.objective == "":
		err = errors.New("--abort needs --objective: it says when a load is lost")
	case f.objective != "":
		goal, err = objective.Parse(f.objective)
	}
	return goal, err
}

// scenario returns the scenario of a file, or one for a URL, and the folder to which its paths are relative.
func (f *loadFlags) scenario(source string) (scenario.File, string, error) {
	if strings.Contains(source, "://") {
		file, err := f.request(source)
		return file, "", err
	}
	misplaced := slices.DeleteFunc([]string{"method", "header", "body", "expect-status", "expect-body",
		"expect-json", "expect-header"}, func(name string) bool { return !f.isSet(name) }) // only a URL needs them
	if len(misplaced) > 0 {
		return scenario.File{}, "", fmt.Errorf("--%s: a scenario says itself what is sent: write it into %s",
			strings.Join(misplaced, ", --"), source)
	}
	text, err := inputfile.Read(source, scenario.MaxBytes)
	// The hint precedes err: a recording may be larger than a scenario, and is recognized by its name.
	if hint := importHint(source, text); hint != nil {
		return scenario.File{}, "", hint
	}
	if err != nil {
		return scenario.File{}, "", fmt.Errorf("scenario: %w: give a file, or a URL such as http://127.0.0.1:8080/",
			err)
	}
	file, err := scenario.Parse(source, text)
	if err != nil {
		return scenario.File{}, "", err
	}
	dir, err := filepath.Abs(filepath.Dir(source)) // agents run elsewhere
	return *file, dir, err
}

// importHint returns an error for a file that load import can convert to a scenario, and nil for any other.
func importHint(path string, text []byte) error {
	kind := map[string]string{convert.HAR: "a recording", convert.OpenAPI: "a description in OpenAPI",
		convert.JMX: "a test plan of JMeter", convert.Curl: "a list of curl commands",
		convert.Postman: "a collection of Postman", convert.Log: "an access log",
		convert.K6: "a script of k6"}[convert.Recognize(path, text)]
	if kind == "" {
		return nil
	}
	return fmt.Errorf("%s is %s and no scenario: make one of it with cleave load import %s -o scenario.yaml",
		path, kind, shell.Quote(path))
}

// request returns a scenario with one request to a URL.
func (f *loadFlags) request(url string) (scenario.File, error) {
	body, bodyErr := loadBody(f.body)
	r := trial.Request{URL: url, Method: f.method, Headers: f.headers, Body: body,
		Expect: scenario.Expect{Status: f.expectStatus, Body: f.expectBody}}
	var jsonErr, headerErr error
	r.Expect.JSON, jsonErr = parsePairs("--expect-json", f.expectJSON, oracle.SplitJSON)
	r.Expect.Header, headerErr = parsePairs("--expect-header", f.expectHeader, splitHeader)
	file, err := r.Scenario()
	convertTypedHeaders(&file)
	return file, errors.Join(bodyErr, jsonErr, headerErr, err)
}

// parsePairs splits the texts of a repeatable flag into keys and values. It returns nil if there are none.
func parsePairs(
	flag string, texts []string, split func(string) (string, string, error),
) (map[string]string, error) {
	var all map[string]string
	var wrong mistakes
	for _, text := range texts {
		key, value, err := split(text)
		if err != nil {
			wrong.addf("%s: %w", flag, err)
			continue
		}
		if _, twice := all[key]; twice {
			wrong.addf("%s: %q is expected twice", flag, key)
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[key] = value
	}
	return all, wrong.err()
}

// splitHeader reads "Name: text".
func splitHeader(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok || strings.TrimSpace(name) == "" {
		return "", "", fmt.Errorf("%q: write 'Name: text'", text)
	}
	return strings.TrimSpace(name), strings.TrimSpace(value), nil
}

// firstUsers is the number of users of the first load of a search without a rate. From its rate the search
// derives where to begin.
const firstUsers = 8

// load returns the load that the flags describe. own is the load of the scenario, or nil. A load model on the
// command line replaces it; other flags change single values of it.
func (f *loadFlags) load(own *scenario.Load) (scenario.Load, error) {
	var l scenario.Load
	hasModel := f.rate+f.ramp+f.steps+f.spike+f.replay != "" || f.users != 0
	if own != nil {
		l = *own
		if hasModel {
			l = scenario.Load{Duration: own.Duration, Arrivals: own.Arrivals}
			if f.users != 0 {
				l.Arrivals = ""
			}
		}
	}
	if hasModel {
		l.Rate = f.rate
		l.Users = f.users
	}
	wrong := mistakes{f.setRamp(&l), f.setSteps(&l), f.setSpike(&l)}
	if f.replay != "" {
		path, err := filepath.Abs(f.replay)
		wrong.add(err)
		l.Replay = path
		if own != nil && !f.isSet("duration") {
			l.Duration = 0 // the arrivals say how long it lasts, not the scenario
		}
	}
	if f.arrivals != "" {
		l.Arrivals = f.arrivals
	}
	for _, one := range []struct {
		flag  string
		value time.Duration
		field *scenario.Duration
	}{{"think", f.think, &l.Think}, {"ramp-up", f.rampUp, &l.RampUp}, {"duration", f.duration, &l.Duration}} {
		if f.isSet(one.flag) {
			*one.field = scenario.Duration(one.value)
		}
	}
	switch {
	case hasModel || own != nil:
	case f.search:
		// The search begins below the rate that these users reach. Each loop of each agent needs a user.
		l.Users = max(firstUsers, f.loops*max(f.agents, len(f.agent), 1))
	case f.isSet("connections"):
		l.Users = f.connections
	default:
		wrong.addf("no load: give --rate, --ramp, --steps, --spike or --replay for an open loop or --users (-c) " +
			"for a closed one")
	}
	return l, wrong.err()
}

// splitParts splits the text of a flag by colons. It returns an error unless the text has as many parts as
// form, and nothing for an empty text.
func splitParts(flag, text, form string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ":")
	if len(parts) != len(strings.Split(form, ":")) {
		return nil, fmt.Errorf("--%s is %q, expected %s", flag, text, form)
	}
	return parts, nil
}

// setRamp sets the ramp of --ramp, if any.
func (f *loadFlags) setRamp(l *scenario.Load) error {
	parts, err := splitParts("ramp", f.ramp, "FROM:TO")
	if len(parts) > 0 {
		l.Ramp = &scenario.Ramp{From: parts[0], To: parts[1]}
	}
	return err
}

// setSteps sets the steps of --steps, if any.
func (f *loadFlags) setSteps(l *scenario.Load) error {
	parts, err := splitParts("steps", f.steps, "FROM:BY:COUNT:EACH")
	if len(parts) == 0 {
		return err
	}
	count, countErr := strconv.Atoi(parts[2])
	each, eachErr := time.ParseDuration(parts[3])
	if countErr != nil || eachErr != nil {
		return fmt.Errorf("--steps is %q: %q is to be a whole number and %q a time such as 1m", f.steps, parts[2],
			parts[3])
	}
	l.Steps = &scenario.Stairs{From: parts[0], By: parts[1], Count: count, Each: scenario.Duration(each)}
	return nil
}

// setSpike sets the peak of --spike, if any.
func (f *loadFlags) setSpike(l *scenario.Load) error {
	parts, err := splitParts("spike", f.spike, "BASE:PEAK:AT:FOR")
	if len(parts) == 0 {
		return err
	}
	at, atErr := time.ParseDuration(parts[2])
	length, lengthErr := time.ParseDuration(parts[3])
	if atErr != nil || lengthErr != nil {
		return fmt.Errorf("--spike is %q: %q and %q are to be times such as 10s", f.spike, parts[2], parts[3])
	}
	l.Spike = &scenario.Spike{Base: parts[0], Peak: parts[1], At: scenario.Duration(at),
		For: scenario.Duration(length)}
	return nil
}

// readFiles reads the files that flags name.
func (f *loadFlags) readFiles(s *trial.Spec) error {
	var rootsErr, protoErr error
	s.Roots, rootsErr = readFlagFile("ca", f.ca, maxCertificates)
	s.ProtoSet, protoErr = readFlagFile("proto-set", f.protoSet, maxProtoSet)
	allowed, err := readFlagFile("allow", f.allow, consent.MaxList)
	if f.allowed = string(allowed); f.allowed != "" {
		s.Guard.Allowed, err = consent.ReadList(strings.NewReader(f.allowed), f.allow)
	}
	return errors.Join(rootsErr, protoErr, err)
}

// loadBody returns the text itself, or the content of the file that is named after @.
func loadBody(text string) ([]byte, error) {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text), nil
	}
	body, err := inputfile.Read(path, scenario.MaxBody)
	if err != nil {
		return nil, fmt.Errorf("--body: %w", err)
	}
	return body, nil
}

// maxAgents is the largest number of agents on this host. More are a typing error.
const maxAgents = 1000

// agentCommands returns one command for each agent to start. Without agents, this process
// sends the load.
func (f *loadFlags) agentCommands() ([][]string, error) {
	switch {
	case f.agents < 0 || f.agents > maxAgents:
		return nil, fmt.Errorf("--agents is %d, expected 1 to %d processes", f.agents, maxAgents)
	case f.agents > 0 && len(f.agent) > 0:
		return nil, errors.New("give either --agents for processes here or --agent, once for each")
	}
	var commands [][]string
	for _, text := range f.agent {
		argv, err := shell.Split(text)
		if err == nil && len(argv) == 0 {
			err = errors.New("the command is empty")
		}
		if err != nil {
			return nil, fmt.Errorf("--agent: %w", err)
		}
		commands = append(commands, argv)
	}
	if f.agents > 0 {
		own, _, err := programs()
		if err != nil {
			return nil, err
		}
		commands = slices.Repeat([][]string{{own, "agent"}}, f.agents)
	}
	return commands, nil
}
