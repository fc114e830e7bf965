package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	reader "github.com/joshdk/go-junit"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// hostile is a name with markup of every format and control characters of terminals.
const hostile = "a|b`<i>&\"'</i>`]]>\n| c | @all **x** $y$ =1\u202e\x1b[31m"

// sample returns a run with intervals, claims of all verdicts and gates of all standings.
func sample(t *testing.T) Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "analysis.json"))
	testset.Must(t, err)
	r := Run{Name: "20240101T080000Z-1", Began: time.Date(2024, 1, 1, 8, 0, 0, 0, time.UTC)}
	testset.Must(t, json.Unmarshal(data, &r.Analysis))
	beyond := lab.Change{Variant: hostile, Point: "s1", Ratio: lab.Ratio{Ratio: 1.5}}
	r.Gates = []lab.GateVerdict{{Gate: "elapsed>1.05x", Failed: []lab.Change{beyond}},
		{Gate: "cpu>1.05x", Open: []lab.Change{beyond}}, {Gate: "cpu<2x"}}
	r.Analysis.Claims = []lab.Judgement{{ID: "one", Text: hostile, Verdict: lab.ClaimSupported},
		{ID: "two", Text: "two", Verdict: lab.ClaimContradicted, Reason: hostile},
		{ID: "three", Text: "three", Verdict: lab.ClaimUndecided, Reason: "too few blocks"}}
	rename(&r.Analysis, r.Analysis.Variants[0].Name, hostile)
	return r
}

// rename changes the name of the first variant, which is the baseline, and of the study.
func rename(a *lab.Analysis, was, name string) {
	a.Variants[0].Name = name
	a.Title = name
	a.Audit[name] = lab.AuditSum{Verdict: lab.AuditInvalid, Problems: []string{name}}
	for i := range a.Results {
		if a.Results[i].Variant == was {
			a.Results[i].Variant = name
		}
	}
	for i := range a.Comparisons {
		if a.Comparisons[i].Baseline == was {
			a.Comparisons[i].Baseline = name
		}
	}
	a.Baseline = name
}

func written(t *testing.T, format string, r Run) []byte {
	t.Helper()
	var b bytes.Buffer
	testset.Must(t, Write(&b, format, r))
	return b.Bytes()
}

func TestJUnitIsReadByItsReader(t *testing.T) {
	r := sample(t)
	for mustKnow, want := range map[bool]reader.Totals{
		false: {Tests: 11, Passed: 6, Skipped: 2, Failed: 3}, true: {Tests: 11, Passed: 6, Skipped: 1, Failed: 4}} {
		r.MustKnow = mustKnow
		suites, err := reader.Ingest(written(t, JUnit, r))
		testset.Must(t, err)
		if len(suites) != 1 || suites[0].Totals != want {
			t.Errorf("a verdict required: %v: read %+v, want one suite of %+v", mustKnow, suites, want)
		}
		for _, c := range suites[0].Tests {
			if strings.ContainsAny(c.Name+c.Message, "\x1b\u202e\n") {
				t.Errorf("the case %q (%q) steers terminals", c.Name, c.Message)
			}
		}
		if name := suites[0].Tests[0].Name; !strings.HasPrefix(name, "a|b`<i>&\"'</i>`]]>") {
			t.Errorf("the first case is called %q", name)
		}
	}
}

// TestBencherMeetsItsSchema checks the document by the schema that Bencher publishes.
func TestBencherMeetsItsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/bmf.schema.json")
	testset.Must(t, err)
	r := sample(t)
	data := written(t, Bencher, r)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = schema.Validate(document)
	}
	if err != nil {
		t.Error(err)
	}
	var read map[string]map[string]metricValue
	testset.Must(t, json.Unmarshal(data, &read))
	for _, result := range r.Analysis.Results {
		got := read[place(result)][result.Metric]
		if got.Value != result.Mean || *got.Lower != *result.Low || *got.Upper != *result.High {
			t.Errorf("%s of %s is %v, want %v", result.Metric, place(result), got, result)
		}
	}
}

func TestBenchmarkActionHasMetricsThatAreBetterLow(t *testing.T) {
	r := sample(t)
	r.Analysis.Metrics[1].Better = lab.HigherIsBetter
	decoder := json.NewDecoder(bytes.NewReader(written(t, BenchmarkAction, r)))
	decoder.DisallowUnknownFields()
	var read []benchmark
	testset.Must(t, decoder.Decode(&read))
	names := map[string]bool{}
	for _, b := range read {
		if b.Name == "" || b.Unit == "" || !strings.HasPrefix(b.Range, "[") || names[b.Name] ||
			strings.HasSuffix(b.Name, ": "+r.Analysis.Metrics[1].Name) {
			t.Errorf("the entry %+v is incomplete, repeated, or of a metric of which more is better", b)
		}
		names[b.Name] = true
	}
	if len(read) == 0 {
		t.Error("there is no entry")
	}
}

// TestItsReaderReadsBenchmarkAction reads the document with the code of github-action-benchmark.
func TestItsReaderReadsBenchmarkAction(t *testing.T) {
	testset.Need(t, "it needs Node.js and the reader's library")
	data := written(t, BenchmarkAction, sample(t))
	file := filepath.Join(t.TempDir(), "results.json")
	testset.Must(t, os.WriteFile(file, data, 0o600))
	command := exec.Command("node", filepath.Join("testdata", "benchmark-action", "extract.cjs"), file)
	command.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(cached(t, "zod-4.1.5"), "node_modules"))
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the reader: %v\n%s", err, text)
	}
	var wrote, read []benchmark
	testset.Must(t, errors.Join(json.Unmarshal(data, &wrote), json.Unmarshal(text, &read)))
	if len(read) == 0 || !slices.Equal(read, wrote) {
		t.Errorf("the reader has %+v, want %+v", read, wrote)
	}
	for _, b := range read { // the reader puts the name between backticks into a cell of a table, with the unit
		if strings.ContainsAny(b.Name+b.Unit, "`|") {
			t.Errorf("%q ends a cell of the reader's comment", b.Name)
		}
	}
}

// cached returns a folder that scripts/need.sh installs; the test is skipped where it is missing.
func cached(t *testing.T, name string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	folder := filepath.Join(cache, "cleave", name)
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("%s is not installed: %v: type scripts/need.sh test-all", name, err)
	}
	return folder
}

// TestOtavaReadsTheSeries checks that Otava finds the change in the rows of 20 runs.
func TestOtavaReadsTheSeries(t *testing.T) {
	testset.Need(t, "Otava takes seconds to start")
	r := sample(t)
	var table []byte
	for i := range 20 {
		r.Began = r.Began.Add(24 * time.Hour)
		if i == 10 {
			for k := range r.Analysis.Results {
				r.Analysis.Results[k].Mean *= 2
			}
		}
		head, row, _ := bytes.Cut(written(t, Otava, r), []byte("\n2024"))
		if i == 0 {
			table = append(table, head...)
		}
		table = append(append(table, "\n2024"...), bytes.TrimSuffix(row, []byte("\n"))...)
	}
	program := filepath.Join(cached(t, "otava-0.8.0"), "bin", "otava")
	dir := t.TempDir()
	config := `tests:
  cleave:
    type: csv
    file: series.csv
    time_column: time
    attributes: [run]
    metrics:
      uds: {column: "uds at s1: elapsed", direction: -1}
`
	table = append(table, '\n')
	for name, data := range map[string][]byte{"series.csv": table, "otava.yaml": []byte(config)} {
		testset.Must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	command := exec.Command(program, "analyze", "cleave", "--since", "2023-12-01")
	command.Dir = dir
	command.Env = append(os.Environ(), "OTAVA_CONFIG="+filepath.Join(dir, "otava.yaml"))
	text, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "+100.0%") {
		t.Errorf("otava: %v, want the change of 100 %%:\n%s", err, text)
	}
}

func TestMarkdownKeepsHostileNamesPlain(t *testing.T) {
	r := sample(t)
	text := string(written(t, Markdown, r))
	for _, bad := range []string{"<i>", "a|b", "**x**", "@all", "$y$", "\x1b", "\u202e", "`]]"} {
		if strings.Contains(text, bad) {
			t.Errorf("the summary has %q:\n%.3000s", bad, text)
		}
	}
	for _, want := range []string{"❌ failed", "❔ open", "✅ kept", "✅ supported", "❌ contradicted",
		"undecided", "**How sure:**", "**Not tested:**", "All comparisons"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary has no %q:\n%.3000s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|")-strings.Count(line, `\|`) > 7 {
			t.Errorf("a row has too many cells: %s", line)
		}
	}
}

func TestAgainstHasGatesAndChanges(t *testing.T) {
	r := sample(t)
	a := lab.Against{Gates: r.Gates, Metrics: r.Analysis.Metrics, Confidence: 0.95, Margin: 0.05,
		Changes: []lab.Change{{Metric: r.Analysis.Metrics[0].Name, Variant: hostile, Point: "s1", Before: 1,
			After: 2, Ratio: lab.Ratio{Ratio: 2}, Verdict: lab.Slower, Words: "slower"}}}
	a.Before.Trials = 40
	a.After.Trials = 36
	var b bytes.Buffer
	testset.Must(t, WriteAgainst(&b, Markdown, a, true))
	text := b.String()
	if !strings.Contains(text, "| slower |") || !strings.Contains(text, "a verdict was required") ||
		!strings.Contains(text, "36 later and 40 earlier trials counted") {
		t.Errorf("the summary lacks what has changed, the open gate or the numbers of trials:\n%s", text)
	}
	b.Reset()
	testset.Must(t, WriteAgainst(&b, JUnit, a, false))
	suites, err := reader.Ingest(b.Bytes())
	if err != nil || suites[0].Totals != (reader.Totals{Tests: 3, Passed: 1, Skipped: 1, Failed: 1}) {
		t.Errorf("read %+v, %v", suites, err)
	}
}
