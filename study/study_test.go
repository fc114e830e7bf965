package study_test

import (
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/studies"
	"github.com/cleave-lab/cleave/study"
	"github.com/cleave-lab/cleave/systems/big"
)

var update = flag.Bool("update", false, "rewrite golden files")

func systems() map[string]lab.SystemInfo {
	return map[string]lab.SystemInfo{big.Name: big.System{}.Describe()}
}

func parseBuiltIn(t *testing.T) *study.File {
	t.Helper()
	data, err := studies.Read("rego2021")
	testset.Must(t, err)
	return parsed(t, data, systems())
}

// parsed returns the file of a text, which must have no mistakes.
func parsed(t *testing.T, text []byte, systems map[string]lab.SystemInfo) *study.File {
	t.Helper()
	file, err := study.Parse("study.yaml", text, systems)
	testset.Must(t, err)
	return file
}

// resolved returns the study of a file with some options, which must be allowed.
func resolved(t *testing.T, file *study.File, options study.Options) lab.Study {
	t.Helper()
	s, err := file.Resolve(options)
	testset.Must(t, err)
	return s
}

func TestEveryMistakeIsReportedAtOnceWithItsLine(t *testing.T) {
	data, err := os.ReadFile("testdata/every-mistake.yaml")
	testset.Must(t, err)
	_, err = study.Parse("every-mistake.yaml", data, systems())
	var problems study.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Parse: %v, want problems", err)
	}
	golden := filepath.Join("testdata", "every-mistake.golden")
	if *update {
		testset.Must(t, os.WriteFile(golden, []byte(err.Error()+"\n"), 0o644))
	}
	want, err := os.ReadFile(golden)
	testset.Must(t, err)
	if got := problems.Error() + "\n"; got != string(want) {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

func TestParseRefusesFilesThatAreNoStudy(t *testing.T) {
	for name, test := range map[string]struct{ data, want string }{
		"empty":         {"", "the file is empty"},
		"not yaml":      {"a: [1", "this is no YAML"},
		"a list":        {"- 1\n", "expected keys with values"},
		"alias":         {"name: &x rego\ntitle: *x\n", "anchors and aliases are not allowed"},
		"two documents": {"name: a\n---\nname: b\n", "more than one document"},
		"too deep":      {"a:\n" + nested(12), "nested deeper than"},
		"too large":     {"# " + strings.Repeat("x", 300<<10), "at most"},
		"too many":      {"notes: [" + strings.Repeat("1,", 30_000) + "]", "more than 20000 values"},
		"wrong schema":  {"schema: cleave-study/99\n", `this cleave reads "cleave-study/1"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := study.Parse("x.yaml", []byte(test.data), systems())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Parse: %v, want it to say %q", err, test.want)
			}
		})
	}
}

// nested returns YAML with the given number of levels below the first key.
func nested(levels int) string {
	var text strings.Builder
	for i := range levels {
		text.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return text.String()
}

func TestBuiltInStudyHasTheParameterSetsOfItsSource(t *testing.T) {
	file := parseBuiltIn(t)
	want := map[string][2]float64{
		"s1": {10, 50000}, "s2": {20, 50000}, "s3": {30, 50000}, "s4": {40, 50000}, "s5": {50, 50000},
		"s6": {10, 100000}, "s7": {10, 150000}, "s8": {10, 200000}, "s9": {10, 250000},
	}
	if len(file.Study.Points) != len(want) {
		t.Errorf("%d points, want %d", len(file.Study.Points), len(want))
	}
	for _, p := range file.Study.Points {
		got := [2]float64{p.Levels["workers"], p.Levels["pings"]}
		if got != want[p.Name] || p.Levels["neighbourhoods"] != 10 {
			t.Errorf("point %v, want 10 neighbourhoods and workers, pings %v", p, want[p.Name])
		}
	}
}

func TestResolveAppliesOptions(t *testing.T) {
	file := parseBuiltIn(t)
	seed := uint64(7)
	s, err := file.Resolve(study.Options{Scale: new(0.01), Blocks: new(4), Points: []string{"s2", "s1"},
		Seed: &seed})
	testset.Must(t, err)
	if s.Design.Blocks != 4 || s.Design.Seed != 7 || s.Design.Scale != 0.01 || len(s.Points) != 2 {
		t.Errorf("design %+v with %d points", s.Design, len(s.Points))
	}
	if s.Points[0].Levels["pings"] != 500 || s.Points[0].Levels["workers"] != 10 {
		t.Errorf("scaled point is %v, want 500 pings and 10 workers", s.Points[0])
	}
	if file.Study.Points[0].Levels["pings"] != 50000 {
		t.Error("Resolve has changed the file's own points")
	}
	twin, found := s.Variant("uds" + study.TwinSuffix)
	if !found || twin.TwinOf != "uds" || twin.Architecture != "uds" {
		t.Errorf("twin of uds is %+v, found %t", twin, found)
	}
	if len(s.Trends) != 0 {
		t.Errorf("%d trends through two points, want none", len(s.Trends))
	}
}

func TestQuickNarrowsRestrictedVariantsAndTwins(t *testing.T) {
	s := resolved(t, parseBuiltIn(t), study.Options{Quick: true})
	for name, want := range map[string]string{"shm": "s1", "http": "", "uds" + study.TwinSuffix: "s1"} {
		v, found := s.Variant(name)
		if got := strings.Join(v.Points, " "); !found || got != want {
			t.Errorf("%s plays at %q, found %t; want %q", name, got, found, want)
		}
	}
}

func TestResolveRefusesUnknownPointsScalesAndBlocks(t *testing.T) {
	file := parseBuiltIn(t)
	for want, options := range map[string]study.Options{
		`there is no point "s10" (did you mean "s1"?)`: {Points: []string{"s10"}},
		"scale is -1":     {Scale: new(-1.0)},
		"scale is 0":      {Scale: new(0.0)},
		"scale is NaN":    {Scale: new(math.NaN())},
		"blocks is -1":    {Blocks: new(-1)},
		"blocks is 0":     {Blocks: new(0)},
		"blocks is 1001,": {Blocks: new(1001)},
	} {
		if _, err := file.Resolve(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%+v): %v, want it to say %q", options, err, want)
		}
	}
}

func expand(t *testing.T, seed uint64) lab.Plan {
	t.Helper()
	s := resolved(t, parseBuiltIn(t), study.Options{Quick: true, Seed: &seed})
	plan, err := study.Expand(s, "quick", time.Unix(0, 0))
	testset.Must(t, err)
	return plan
}

func TestPlanIsMadeOfCompleteBlocksInSeededOrder(t *testing.T) {
	plan := expand(t, 1)
	type cell struct {
		block          int
		variant, point string
	}
	seen := map[cell]int{}
	seeds := map[[2]any]uint64{}
	for i, trial := range plan.Trials {
		if trial.Number != i+1 {
			t.Fatalf("trial %d stands at place %d", trial.Number, i+1)
		}
		seen[cell{trial.Block, trial.Variant, trial.Point}]++
		place := [2]any{trial.Block, trial.Point}
		if seed, ok := seeds[place]; ok && seed != trial.Seed {
			t.Errorf("variants of block %d at %s have different seeds", trial.Block, trial.Point)
		}
		seeds[place] = trial.Seed
	}
	for block := 1; block <= plan.Study.Design.Blocks; block++ {
		for _, v := range plan.Study.Variants {
			for _, p := range plan.Study.Points {
				want := 0
				if v.RunsAt(p.Name) {
					want = 1
				}
				if got := seen[cell{block, v.Name, p.Name}]; got != want {
					t.Errorf("block %d holds %s at %s %d times, want %d", block, v.Name, p.Name, got, want)
				}
			}
		}
	}
}

func TestPlanRepeatsWithItsSeedAndChangesWithAnother(t *testing.T) {
	a := expand(t, 1)
	again := expand(t, 1)
	other := expand(t, 2)
	if !slices.Equal(a.Trials, again.Trials) {
		t.Error("the same seed gives another plan")
	}
	if slices.Equal(a.Trials, other.Trials) {
		t.Error("another seed gives the same plan")
	}
	var first, second []string
	for _, trial := range a.Trials {
		switch trial.Block {
		case 1:
			first = append(first, trial.Variant+trial.Point)
		case 2:
			second = append(second, trial.Variant+trial.Point)
		}
	}
	if slices.Equal(first, second) {
		t.Error("two blocks have the same order")
	}
	orders := map[string]bool{}
	for block := 1; block <= a.Study.Design.Blocks; block++ {
		for _, p := range a.Study.Points {
			orders[variantsInOrder(a, block, p.Name)] = true
		}
	}
	if len(orders) <= len(a.Study.Points) {
		t.Errorf("variants come in %d orders over all blocks and points, want more than there are points",
			len(orders))
	}
}

// variantsInOrder lists the variants of a block at a point as they are played.
func variantsInOrder(plan lab.Plan, block int, point string) string {
	var order []string
	for _, trial := range plan.Trials {
		if trial.Block == block && trial.Point == point {
			order = append(order, trial.Variant)
		}
	}
	return strings.Join(order, " ")
}

func TestFactorsCrossIntoPoints(t *testing.T) {
	data := `
schema: cleave-study/1
name: crossed
title: crossed
system: big
baseline: threads
variants: {threads: {architecture: threads}}
factors: {neighbourhoods: [2], workers: [3, 4], pings: [5, 6]}
`
	file := parsed(t, []byte(data), systems())
	var names []string
	for _, p := range file.Study.Points {
		names = append(names, p.Name)
	}
	want := []string{"neighbourhoods2-workers3-pings5", "neighbourhoods2-workers3-pings6",
		"neighbourhoods2-workers4-pings5", "neighbourhoods2-workers4-pings6"}
	if !slices.Equal(names, want) {
		t.Errorf("points %v, want %v", names, want)
	}
}

// TestMistakesInFactorsAreReportedOnce: although each is in several points.
func TestMistakesInFactorsAreReportedOnce(t *testing.T) {
	_, err := study.Parse("x.yaml", []byte("schema: cleave-study/1\nname: x\ntitle: x\nsystem: big\n"+
		"baseline: threads\nvariants: {threads: {architecture: threads}}\n"+
		"factors: {neighbourhoods: [2, 3], workers: [many, 4], pings: [5], speed: [6]}\n"), systems())
	var problems study.Problems
	if !errors.As(err, &problems) || len(problems) != 2 || !strings.Contains(err.Error(), `workers is "many"`) ||
		!strings.Contains(err.Error(), `no parameter "speed"`) {
		t.Errorf("%v, want two problems", err)
	}
}

func TestBuiltInStudiesFitThePublishedSchema(t *testing.T) {
	for _, name := range studies.Names() {
		data, err := studies.Read(name)
		testset.Must(t, err)
		if err := validate(t, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	mistakes, err := os.ReadFile("testdata/every-mistake.yaml")
	testset.Must(t, err)
	if err := validate(t, mistakes); err == nil {
		t.Error("a study full of mistakes fits the schema")
	}
}

// validate checks a study file against the schema that editors use.
func validate(t *testing.T, data []byte) error {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(data, &document); err != nil {
		return err
	}
	asJSON, err := json.Marshal(document)
	testset.Must(t, err)
	return schema.Validate("study", asJSON)
}

func TestASystemJudgesItsVariants(t *testing.T) {
	info := lab.SystemInfo{
		Name: "shop", Operation: "order",
		Architectures: []lab.Architecture{{Name: "monolith",
			Knobs: []lab.Knob{{Name: "pool", Values: []string{"16"}, Free: true}}}},
		Parameters: []lab.Parameter{{Name: "rate", Min: 1, Max: 1000}},
		Metrics:    []lab.Metric{{Name: "capacity", Title: "capacity", Unit: "1/s", Better: lab.HigherIsBetter}},
		Check: func(v lab.Variant) error {
			if v.Knobs["pool"] == "0" {
				return errors.Join(errors.New("a pool of 0 serves nobody"), errors.New("use 1 to 200"))
			}
			return nil
		},
	}
	text := func(pool, metric string) []byte {
		return []byte(`schema: cleave-study/1
name: own
title: A test
question: Does it hold?
system: shop
baseline: one
variants:
  one: {architecture: monolith}
  two: {architecture: monolith, knobs: {pool: "` + pool + `"}}
points:
  p: {rate: 10}
design: {blocks: 2}
claims:
  - {id: c, text: t, source: s, kind: slower, metric: ` + metric + `, variant: two, against: one}
`)
	}
	known := map[string]lab.SystemInfo{"shop": info}
	file := parsed(t, text("40", "capacity"), known)
	if m := resolved(t, file, study.Options{}).Metrics; len(m) != 1 || m[0].Name != "capacity" {
		t.Errorf("metrics of the study: %v, want the system's", m)
	}
	_, err := study.Parse("own.yaml", text("0", "elapsed"), known)
	for _, want := range []string{"own.yaml:9: variant two: a pool of 0 serves nobody; use 1 to 200",
		`there is no metric "elapsed"; there are capacity`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
