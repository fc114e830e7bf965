package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/external"
)

// makePlan returns the plan that a command makes.
func makePlan(t *testing.T, args ...string) lab.Plan {
	t.Helper()
	var out, errOut bytes.Buffer
	root := newRoot(strings.NewReader(""), &out, &errOut)
	root.SetArgs(append(args, "--plan", "--json", "-"))
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("cleave %s: %v", strings.Join(args, " "), err)
	}
	var plan lab.Plan
	if err := json.Unmarshal(out.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	return plan
}

// checkStored checks a plan as if it was read from a file.
func checkStored(plan lab.Plan) error {
	known := systemInfos(plan.Study.Model)
	known[external.Name] = external.System{}.Describe()
	return study.CheckPlan("plan.json", plan, known)
}

// TestOwnPlansMayBePlayedAgain: the rules for stored plans refuse none that this
// program makes.
func TestOwnPlansMayBePlayedAgain(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"compose.yaml": "services:\n  web: {image: \"web:1\", ports: [\"80\"]}\n"})
	file := filepath.Join(dir, "compose.yaml")
	own := [][]string{
		{"compare", file, "--rate", "1", "--deploy", "docker-bridge,swarm,kubernetes"},
		{"check", file, "--fault", "kill:web"}, {"bottleneck", file, "--resource", "cpu", "--deploy", "swarm"},
		{"explain", file, "--rate", "1", "--to", "web.cpu=0.5 deployment=kubernetes"},
		{"explain", "shop", "--from", "sync", "--factors", "logging,security=mtls", "--until", "decided"},
		{"bottleneck", "people", "--level", "case=1"},
		{"compare", "a=./server {port}", "b=http://127.0.0.1:2", "--rate", "0.5,1000", "--capacity", "--no-gates"},
		{"explain", "shop"}, {"explain", "shop", "--quick", "--capacity", "--rate", "0.5"},
		{"check", "shop", "--fault", "kill:every-unit"}, {"check", "shop"},
		{"compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "--users", "1,2"},
	}
	for _, name := range studies.Names() {
		own = append(own, []string{"reproduce", name}, []string{"reproduce", name, "--quick"},
			[]string{"reproduce", name, "--scale", "0.1", "--blocks", "1"})
	}
	for _, args := range own {
		if err := checkStored(makePlan(t, args...)); err != nil {
			t.Errorf("the plan of cleave %s is refused: %v", strings.Join(args, " "), err)
		}
	}
}

// TestHostilePlansAreRefused changes valid plans one by one. Long because it is a table.
func TestHostilePlansAreRefused(t *testing.T) {
	built := makePlan(t, "reproduce", "rego2021", "--quick")
	compared := makePlan(t, "compare", "a=./server {port}", "b=http://127.0.0.1:2", "--rate", "10", "--blocks",
		"1")
	for name, test := range map[string]struct {
		plan   lab.Plan
		change func(*lab.Plan)
		want   string
	}{
		"a path as a name":      {built, func(p *lab.Plan) { p.Study.Name = "../../x" }, "name is"},
		"an absolute path":      {built, func(p *lab.Plan) { p.Study.Name = "/tmp/x" }, "name is"},
		"no name":               {built, func(p *lab.Plan) { p.Study.Name = "" }, "name is"},
		"an escape in the name": {built, func(p *lab.Plan) { p.Study.Name = "x\x1b[2J" }, "name is"},
		"an escape in the title": {built, func(p *lab.Plan) { p.Study.Title = "x\x1b]0;y\x07" },
			"control characters"},
		"an escape in a note": {built, func(p *lab.Plan) { p.Study.Notes = []string{"\x1b[2J"} },
			"control characters"},
		"a variant as a path": {built, func(p *lab.Plan) { p.Study.Variants[0].Name = "../x" },
			"variant is called"},
		"a point as a path": {built, func(p *lab.Plan) { p.Study.Points[0].Name = "../x" },
			"point is called"},
		"an unknown system": {built, func(p *lab.Plan) { p.Study.System = "sh" }, "no system"},
		"no system":         {built, func(p *lab.Plan) { p.Study.System = "" }, "no system"},
		"an unknown architecture": {built, func(p *lab.Plan) { p.Study.Variants[0].Architecture = "" },
			"no architecture"},
		"a negative limit": {built, func(p *lab.Plan) {
			p.Study.Variants[0].Limits = map[string]lab.Limits{"worker": {Memory: -1}}
		}, "limits.worker.memory is -1"},
		"an unknown deployment": {built, func(p *lab.Plan) { p.Study.Variants[0].Deployment = "compose" },
			"no deployment"},
		"a command in a built-in": {built, func(p *lab.Plan) {
			p.Study.Variants[0].External = &lab.ExternalSystem{Command: []string{"sh"}}
		}, "is of an external system"},
		"a list of hosts": {built, func(p *lab.Plan) {
			p.Study.Load = &lab.Load{Duration: 1, Consent: "allow:"}
		}, "list of hosts"},
		"a level beyond its limits": {built, func(p *lab.Plan) { p.Study.Points[0].Levels["workers"] = 1e12 },
			"workers is 1e+12"},
		"too many blocks":  {built, func(p *lab.Plan) { p.Study.Design.Blocks = 1e9 }, "design.blocks"},
		"too many repeats": {built, func(p *lab.Plan) { p.Study.Design.MaxRepeats = 1e9 }, "max_repeats"},
		"a negative time limit": {built, func(p *lab.Plan) { p.Study.Design.TrialTimeout = -1 },
			"trial_timeout"},
		"a rate for no time": {compared, func(p *lab.Plan) { p.Study.Load.Duration = 0 },
			"load.duration is 0"},
		"a trial of nothing": {built, func(p *lab.Plan) { p.Trials[0].Variant = "none" },
			"is none of the study"},
		"a number twice": {built, func(p *lab.Plan) { p.Trials[1].Number = 1 }, "is none of the study"},
		"a twin that is another": {compared, func(p *lab.Plan) {
			p.Study.Variants[1].External = &lab.ExternalSystem{Command: []string{"sh"}}
		}, "is no twin"},
		"faults of a system of one": {built, func(p *lab.Plan) {
			p.Study.Faults = []lab.Fault{{Kind: lab.FaultKill, Target: "x", After: 1}}
		}, "takes no faults"},
	} {
		t.Run(name, func(t *testing.T) {
			var hostile lab.Plan
			text, err := json.Marshal(test.plan)
			if err == nil {
				err = json.Unmarshal(text, &hostile)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := checkStored(hostile); err != nil {
				t.Fatalf("refused before it is hostile: %v", err)
			}
			test.change(&hostile)
			err = checkStored(hostile)
			if err == nil || !strings.Contains(err.Error(), test.want) || exitCode(err) != exitBadPlan {
				t.Errorf("got %v, want code %d and %q", err, exitBadPlan, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the message has an escape character: %q", err)
			}
		})
	}
}

// TestGatesAreOpenedByEveryCommandThatHasThem: --no-gates does the same in all of these commands.
func TestGatesAreOpenedByEveryCommandThatHasThem(t *testing.T) {
	for _, command := range [][]string{
		{"reproduce", "rego2021"}, {"explain", "network"}, {"explain", "shop"}, {"bottleneck", "shop"},
		{"compare", "a=./server {port}", "b=http://127.0.0.1:2", "--rate", "5"},
	} {
		for flag, want := range map[string]float64{"--no-gates=false": study.Defaults().Gates.MaxStealShare,
			"--no-gates": 1} {
			plan := makePlan(t, append(slices.Clone(command), flag)...)
			if got := plan.Study.Design.Gates.MaxStealShare; got != want {
				t.Errorf("cleave %s %s counts trials with up to %g of the processors withheld, want %g",
					strings.Join(command, " "), flag, got, want)
			}
		}
	}
}
