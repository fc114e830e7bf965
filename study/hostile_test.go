package study_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/study"
)

// FuzzParse: every mistake has a message, and a line of the file or 0. A study without mistakes resolves,
// expands to a bounded plan, and survives being written and read as JSON, the form in result folders.
func FuzzParse(f *testing.F) {
	const head = "schema: cleave-study/1\nname: x\ntitle: x\nsystem: big\nbaseline: a\nvariants: {a: " +
		"{architecture: threads}, b: {architecture: http}}\n"
	for _, rest := range []string{
		"points: {p: {neighbourhoods: 1, workers: 2, pings: 1}}",
		"factors: {neighbourhoods: [1, 2], workers: [2, 1e1], pings: [1]}\n" +
			"design: {blocks: 1000, noise_floor: [a]}",
		"points: {p: {pings: .inf}}", "design: {trial_timeout: 2562047h}", "name: ''", "title: !foo x",
		"points: {? [a] : b}", "notes: [a, b, {c: d}]", "<<: {a: b}",
	} {
		f.Add([]byte(head + rest))
	}
	for _, path := range []string{"testdata/every-mistake.yaml", "../studies/rego2021.yaml"} {
		data, err := os.ReadFile(path)
		testset.Must(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := study.Parse("fuzz.yaml", data, systems())
		if err != nil {
			var problems study.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("%v is no list of problems", err)
			}
			for _, p := range problems {
				if p.File != "fuzz.yaml" || p.Line < 0 || p.Line > len(data)+1 || strings.TrimSpace(p.Message) == "" {
					t.Errorf("problem %+v", p)
				}
			}
			return
		}
		resolved, err := file.Resolve(study.Options{})
		if err != nil {
			t.Fatalf("a study that parses does not resolve: %v", err)
		}
		plan, err := study.Expand(resolved, "full", time.Unix(0, 0))
		if len(plan.Trials) > 100_000 && err == nil {
			t.Errorf("a plan of %d trials", len(plan.Trials))
		}
		written, err := json.Marshal(resolved)
		testset.Must(t, err)
		var back lab.Study
		testset.Must(t, json.Unmarshal(written, &back))
		if again, err := json.Marshal(back); err != nil || !bytes.Equal(written, again) {
			t.Errorf("read back, the study differs (%v):\n%s\n%s", err, written, again)
		}
	})
}

// TestAPlanOfTooManyVariantsIsCheckedNoFurther, since the time of further checks grows with the square of
// their number.
func TestAPlanOfTooManyVariantsIsCheckedNoFurther(t *testing.T) {
	s := stallStudy(t)
	for i := range 200 {
		s.Variants = append(s.Variants, lab.Variant{Name: fmt.Sprintf("v%d", i), TwinOf: "nobody"})
	}
	err := study.CheckPlan("plan.json", lab.Plan{Study: s}, kiosk())
	var problems study.Problems
	if !errors.As(err, &problems) || len(problems) != 1 ||
		!strings.Contains(err.Error(), "variants, at most 100 are allowed") {
		t.Errorf("%v, want the number of variants alone", err)
	}
}

// TestTooManyBlocksAreNotAnalysed, since the time of an analysis grows with their number.
func TestTooManyBlocksAreNotAnalysed(t *testing.T) {
	s := stallStudy(t)
	for until, allowed := range map[string]int{"": study.MaxBlocks, lab.UntilDecided: lab.MostLooked} {
		s.Design.Until = until
		for _, blocks := range []int{allowed, allowed + 1} {
			s.Design.Blocks = blocks
			if err := study.CheckNames("plan.json", lab.Plan{Study: s}); (err != nil) != (blocks > allowed) {
				t.Errorf("%d blocks, until %q: %v", blocks, until, err)
			}
		}
	}
}

// TestMistakesStandAtTheirLine: a problem has the line of the value, or that of its key if the value is
// empty.
func TestMistakesStandAtTheirLine(t *testing.T) {
	for name, want := range map[string]string{
		"name: ''":         "own.yaml:3: name is empty, expected a text",
		"name:":            "own.yaml:3: name is empty, expected a text",
		"name: ~":          "own.yaml:3: name is empty, expected a text",
		"name: My Study":   `own.yaml:3: name is "My Study"`,
		"name: !foo study": "own.yaml:3: the tag !foo",
		"name: x\nschema":  "own.yaml:4: the study has the key \"schema\" twice",
	} {
		_, err := study.Parse("own.yaml", []byte("# A comment.\nschema: cleave-study/1\n"+
			strings.Replace(name, "schema", "schema: x", 1)+"\ntitle: t\n"), systems())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	const whole = "schema: cleave-study/1\nname: x\ntitle: t\nsystem: big\nbaseline: a\nvariants: {a: " +
		"{architecture: threads}, a.twin: {architecture: http}}\n"
	for rest, want := range map[string]string{
		"points: {p: {neighbourhoods: 1, workers: 2, pings: 1}}\n" +
			"factors: {pings: []}": "own.yaml:8: factor pings has no levels",
		"factors: {neighbourhoods: [1], workers: [2], pings: [1, 1]}": `own.yaml:7: there are two points "neighbourhoods1-workers2-pings1"`,
		"points: {p: {neighbourhoods: 1, workers: 2, pings: 1}}\n" +
			"design: {noise_floor: [a]}": "own.yaml:6: variant a.twin has the name of the twin",
	} {
		if _, err := study.Parse("own.yaml", []byte(whole+rest), systems()); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rest, err, want)
		}
	}
	_, err := study.Parse("own.yaml", []byte("title: t\nname: x\nschema: cleave-study/9\n"), systems())
	if err == nil || !strings.Contains(err.Error(), `own.yaml:3: schema is "cleave-study/9"`) {
		t.Errorf("%v, want the line of the schema", err)
	}
	_, err = study.Parse("own.yaml", []byte("design: {trial_timeout: 2562047h}"), systems())
	if err == nil || !strings.Contains(err.Error(), "at most 168h") {
		t.Errorf("%v, want a limit of time spans", err)
	}
}
