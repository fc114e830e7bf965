package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/model"
)

// TestModelsOfPeopleAndSocial: the models of these systems in one process are complete. They have all
// components with metered CPU time, the calls between them, rates in operations, and stores with writes. One
// is rehearsed, and the audit checks its calls.
func TestModelsOfPeopleAndSocial(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	dir := t.TempDir()
	m := makeModel(t, dir, "people")
	for _, kind := range []string{"persons", "addresses", "profiles"} {
		expectCalls(t, m, "POST /"+kind, "gateway", kind+" Records/Create commits")
		expectCalls(t, m, "GET /"+kind+"/{id}", "gateway", kind+" Records/Fetch")
	}
	code, printed := finish(t, program(dir, "rehearse", "people.yaml", "--split", "persons", "--blocks", "1",
		"--duration", "1s", "--warm-up", "0s", "--rate", "40", "--no-gates"))
	if code != exitFine && (code < exitLoadNotReached || code == exitInvariant) {
		t.Errorf("rehearse: exit code %d\n%s", code, printed)
	}
	m = makeModel(t, dir, "social")
	if !slices.ContainsFunc(m.Stores, func(s model.Store) bool { return s.Name == "posts-documents" }) {
		t.Errorf("the posts have no store of their own: %+v", m.Stores)
	}
	expectCalls(t, m, "POST /posts", "front", "compose Composer/Compose", "users Users/Find",
		"unique-ids UniqueIDs/Next", "texts Texts/Prepare", "media Media/Attach", "posts Posts/Store commits",
		"user-timelines UserTimelines/Add commits", "home-timelines HomeTimelines/Add commits",
		"social-graph SocialGraph/Followers")
	expectCalls(t, m, "GET /home-timelines/{user}", "front", "home-timelines HomeTimelines/Read")
	expectCalls(t, m, "GET /user-timelines/{user}", "front", "user-timelines UserTimelines/Read")
}

// makeModel makes the model of a system in one process.
func makeModel(t *testing.T, dir, system string) model.Model {
	t.Helper()
	path := filepath.Join(dir, system+".yaml")
	code, printed := finish(t, program(dir, "model", system, "--architecture", "monolith", "--blocks", "1",
		"--duration", "2s", "--warm-up", "1s", "--no-gates", "--out", path))
	if code != exitFine {
		t.Fatalf("model %s: exit code %d\n%s", system, code, printed)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	var rates []float64
	for _, measured := range m.Measured {
		rates = append(rates, measured.Rate)
	}
	if slices.Sort(rates); !slices.Equal(rates, []float64{40, 120}) || strings.Contains(printed, "note:") {
		t.Errorf("%s was measured at %v operations per second, want 40 and 120:\n%s", system, rates, printed)
	}
	return m
}

// expectCalls checks that an operation begins in a component and makes each of these calls once, at any
// depth. Only the call that finds users may occur more often, because posts mention users. All calls must
// have metered CPU time.
func expectCalls(t *testing.T, m model.Model, operation, front string, want ...string) {
	t.Helper()
	i := slices.IndexFunc(m.Operations, func(o model.Operation) bool { return o.Name == operation })
	if i < 0 {
		t.Errorf("%s has no operation %s", m.Name, operation)
		return
	}
	root := m.Operations[i].Call
	if root.Component != front {
		t.Errorf("%s begins in %s, want %s", operation, root.Component, front)
	}
	found := map[string]float64{}
	root.Executions(func(call *model.Call, times float64) {
		name := call.Component + " " + call.Name
		for _, v := range call.Visits {
			if v.Commits >= 1 {
				name += " commits"
			}
		}
		found[name] += times
		if call.CPU.Source != model.Meter || call.CPU.Mean <= 0 {
			t.Errorf("%s: the CPU time of %s is %+v", operation, name, call.CPU)
		}
	})
	for _, call := range want {
		if times := found[call]; times < 1 || times > 2 {
			t.Errorf("%s has the calls %v, want %s once", operation, found, call)
		}
	}
}

// TestAModelWithoutSpans: the model of a system of the user that sends no spans has a call for each operation
// of its clients, with the time that they wait and the metered CPU time.
func TestAModelWithoutSpans(t *testing.T) {
	testset.Need(t, "it plays whole trials")
	dir := t.TempDir()
	server := filepath.Join(serverFolder(t), "server")
	writeFiles(t, dir, map[string]string{"load.yaml": `
schema: cleave-scenario/1
name: load
flows:
  - {name: look, weight: 3, steps: [{name: look, request: GET /look}]}
  - {name: count, steps: [{name: count, request: GET /count}]}
`})
	code, printed := finish(t, program(dir, "model", "plain="+server+" -port {port} -busy 2ms", "--scenario",
		"load.yaml", "--rate", "20", "--blocks", "1", "--duration", "1s", "--warm-up", "0s", "--no-gates",
		"--out", "made.yaml"))
	if code != exitFine {
		t.Fatalf("model: exit code %d\n%s", code, printed)
	}
	for _, want := range []string{`note: no spans came from the trials`, `, without spans, 20\d\d-\d\d-\d\d\n`,
		`look: \d+ % of all operations, .* in the mean`, `\n +\S+ look +1 +\d[.\d]* ms .* meter, n \d\d\n`,
		`count: \d+ % of all operations`, `as it is +20/s `, `as it is +60/s `,
	} {
		if !regexp.MustCompile(want).MatchString(printed) {
			t.Errorf("the model does not show %s:\n%s", want, printed)
		}
	}
	if strings.Contains(printed, "<=") {
		t.Errorf("CPU times are self times:\n%s", printed)
	}
}
