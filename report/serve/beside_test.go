package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/browsertest"
	"github.com/cleave-lab/cleave/report/plain"
	"github.com/cleave-lab/cleave/store"
)

// loadedRun is the name of the run of loadedFolder.
const loadedRun = "shop-under-load/20260102T030000Z-0"

// loadedFolder makes a folder with a run of a system under load, which has a report and three trials.
func loadedFolder(t *testing.T, change func(*lab.Analysis, []lab.Trial)) string {
	t.Helper()
	data, err := os.ReadFile("../testdata/shop-under-load.json")
	testset.Must(t, err)
	var a lab.Analysis
	testset.Must(t, json.Unmarshal(data, &a))
	a.Study = "shop-under-load"
	trials := []lab.Trial{loadedTrial(1, "monolith", true), loadedTrial(2, "sync", true),
		loadedTrial(3, "sync", false)}
	for _, v := range a.Variants {
		a.Courses = append(a.Courses, lab.TrialCourse{Variant: v.Name, Point: a.Points[0].Name, Trial: 1, Block: 1,
			End: []float64{1, 2}, Rate: []float64{80, 81}, Median: make([]*float64, 2), P99: make([]*float64, 2)})
	}
	if change != nil {
		change(&a, trials)
	}
	root := t.TempDir()
	folder, err := store.Create(root, lab.Plan{Schema: lab.PlanSchema,
		Created: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), Study: lab.Study{Name: "shop-under-load",
			Title: a.Title, Variants: a.Variants, Points: a.Points, Metrics: a.Metrics}}, a.Environment)
	testset.Must(t, err)
	for _, trial := range trials {
		logs := map[string]string{"gateway-1": fmt.Sprintf("trial %d\nanswers %s\n", trial.Number, trial.Variant),
			"worker-" + trial.Variant: ""}
		testset.Must(t, folder.Save(trial, logs))
	}
	var document bytes.Buffer
	err = report.JSON(&document, a)
	testset.Must(t, errors.Join(err, folder.Write(store.AnalysisFile, document.Bytes())))
	return root
}

// loadedTrial returns a trial of three seconds.
func loadedTrial(number int, variant string, valid bool) lab.Trial {
	at := func(value float64) *float64 { return &value }
	slow := float64(number)
	return lab.Trial{Schema: lab.TrialSchema, Number: number, Attempt: 1, Block: 1, Variant: variant,
		Point: lab.Point{Name: "at-80"}, Started: time.Date(2026, 1, 2, 3, number, 5, 0, time.UTC), Valid: valid,
		Reason: map[bool]string{false: "the host was busy"}[valid], Operations: 240, ElapsedSeconds: 3,
		Metered: lab.Metered{Total: lab.Usage{CPUSeconds: slow},
			Course: &lab.UsageCourse{End: []float64{1, 2, 3}, Cores: []float64{1, 2, slow}, Memory: []int64{1, 2, 3}}},
		Measures: map[string]float64{"response_time_p50": 0.002 * slow},
		Spectra: map[string][]lab.Quantile{lab.ResponseTime: {{Share: 0.5, Value: 0.002 * slow},
			{Share: 0.99, Value: 0.02 * slow}, {Share: 0.999, Value: 0.04 * slow}}},
		Course: []lab.Slice{{End: 1, OK: 80, Median: at(0.002), P99: at(0.02)},
			{End: 2, OK: 78, Median: at(0.003 * slow), P99: at(0.03)},
			{End: 3, OK: 82, Median: at(0.002), P99: at(0.02)}}}
}

func besideOf(trials ...string) string { return "/beside?" + url.Values{"trial": trials}.Encode() }

func variantsOf(names ...string) string {
	return "/variants/" + loadedRun + "?" + url.Values{"variant": names}.Encode()
}

func TestTwoVariantsOfARun(t *testing.T) {
	_, at := serveDir(t, loadedFolder(t, nil), false)
	if page := get(t, at+"/run/"+loadedRun, 200); !strings.Contains(page, `action="/variants/`+loadedRun) {
		t.Error("a run does not lead to its variants")
	}
	page := get(t, at+variantsOf("sync", "monolith"), 200)
	for _, want := range []string{"<h1>sync beside monolith", "those of the report", `data-metric="response_time"`,
		`data-plot="course"`, "99 % at most"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %.3000s", want, page)
		}
	}
	for path, want := range map[string]int{variantsOf("sync"): 422, variantsOf("sync", "sync"): 422,
		variantsOf("sync", "none"): 404, strings.Replace(variantsOf("sync", "monolith"), "shop", "no", 1): 404} {
		get(t, at+path, want)
	}
}

func TestTwoTrialsAreShownWithTheirLogs(t *testing.T) {
	_, at := serveDir(t, loadedFolder(t, nil), false)
	list := get(t, at+"/trials?run="+loadedRun, 200)
	found := regexp.MustCompile(`name="trial" value="([^"]+)"`).FindAllStringSubmatch(list, -1)
	if len(found) != 3 || !strings.Contains(list, "no: the host was busy") {
		t.Fatalf("listed are %q in %s", found, list)
	}
	page := get(t, at+besideOf(found[0][1], found[2][1]), 200)
	for _, want := range []string{"A: trial 1, monolith", "B: trial 3, sync", "no: the host was busy", "3.00x",
		"answers sync", "This trial has no such log", "The log is empty", "2.00 ms", "6.00 ms",
		"Memory of the system"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	_, first, _ := strings.Cut(page, `data-beside="`)
	first, _, _ = strings.Cut(first, `"`)
	var drawn lab.Analysis
	err := json.Unmarshal([]byte(html.UnescapeString(first)), &drawn)
	if err != nil || len(drawn.Courses) != 2 || len(drawn.Spectra) != 2 ||
		!slices.Equal(drawn.Courses[1].Rate, []float64{80, 78, 82}) {
		t.Errorf("drawn is %+v, %v", drawn, err)
	}
	for path, want := range map[string]int{besideOf(loadedRun + "/0001"): 422, "/trials": 422,
		besideOf(loadedRun+"/0001", loadedRun+"/0001"): 422, besideOf(loadedRun+"/0001", loadedRun+"/9"): 404,
		besideOf(loadedRun+"/0001", loadedRun+"/.."): 404, "/trials?run=none": 404,
		besideOf(loadedRun+"/0001", "../../etc/passwd"): 404} {
		get(t, at+path, want)
	}
	both := get(t, at+"/trials?run="+loadedRun+"&run="+loadedRun, 200)
	if strings.Count(both, `name="trial"`) != 3 {
		t.Error("a run that is chosen twice is listed twice")
	}
}

// TestTrialsOfTwoRuns: the second run has a metric that the first one lacks.
func TestTrialsOfTwoRuns(t *testing.T) {
	root := loadedFolder(t, nil)
	again := loadedRun + "-2"
	first := filepath.Join(root, filepath.FromSlash(loadedRun))
	second := filepath.Join(root, filepath.FromSlash(again))
	testset.Must(t, os.CopyFS(second, os.DirFS(first)))
	for file, parts := range map[string][2]string{
		"plan.json":              {`"metrics": [`, `"metrics": [{"name": "rows", "title": "rows read", "unit": "1"},`},
		"trials/0001/trial.json": {`"measures": {`, `"measures": {"rows": 7,`},
	} {
		path := filepath.Join(second, filepath.FromSlash(file))
		data, err := os.ReadFile(path)
		testset.Must(t, err)
		testset.Must(t, os.WriteFile(path, bytes.Replace(data, []byte(parts[0]), []byte(parts[1]), 1), 0o600))
	}
	_, at := serveDir(t, root, false)
	list := get(t, at+"/trials?run="+loadedRun+"&run="+again, 200)
	if strings.Count(list, `name="trial"`) != 6 || !strings.Contains(list, `value="`+again+`/0001"`) {
		t.Errorf("the trials of two runs are %s", list)
	}
	page := get(t, at+besideOf(loadedRun+"/0001", again+"/0001"), 200)
	for _, want := range []string{"A: trial 1, monolith", "B: trial 1, monolith", `href="/run/` + again, "1.00x",
		"rows read"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	testset.Must(t, os.RemoveAll(filepath.Join(first, "trials")))
	if list := get(t, at+"/trials?run="+loadedRun, 200); !strings.Contains(list, "has no trial yet") {
		t.Errorf("without trials: %s", list)
	}
}

// hostileTrials makes a folder with a run whose trials and variants an attacker wrote.
func hostileTrials(t *testing.T) string {
	root := loadedFolder(t, func(a *lab.Analysis, trials []lab.Trial) {
		for i := range trials {
			trials[i].Variant = venom
			trials[i].Point.Name = venom
			trials[i].Reason = venom
			trials[i].Remarks = []string{venom}
		}
		for i := range a.Metrics {
			a.Metrics[i].Title = venom
		}
		a.Variants[0].Name = venom
		for i := range a.Spectra {
			a.Spectra[i].Variant = venom
		}
	})
	logs := filepath.Join(root, filepath.FromSlash(loadedRun), "trials", "0001", "logs")
	evil := filepath.Join(logs, "<img src=x onerror=alert(1)>.log")
	testset.Must(t, errors.Join(os.WriteFile(evil, []byte(venom), 0o600),
		os.Symlink("/etc/passwd", filepath.Join(logs, "a.log"))))
	return root
}

func TestHostileTrialsStayTexts(t *testing.T) {
	_, at := serveDir(t, hostileTrials(t), false)
	for _, path := range []string{"/trials?run=" + loadedRun, besideOf(loadedRun+"/0001", loadedRun+"/0002"),
		variantsOf(plain.Text(venom), "sync")} {
		page := get(t, at+path, 200)
		if strings.Contains(page, "<img") || strings.Contains(page, "<script>alert") ||
			strings.Contains(page, "\x1b") || strings.Contains(page, "root:") {
			t.Errorf("%s has elements of a text, or what is outside: %.3000s", path, page)
		}
	}
}

// testVariants chooses two variants of a run by the keyboard.
func testVariants(t *testing.T, ctx context.Context) {
	_, at := serveDir(t, loadedFolder(t, nil), false)
	p := open(t, ctx, at+"/run/"+loadedRun)
	p.Run(chromedp.Focus(`form[action^="/variants/"] select:first-of-type`), chromedp.KeyEvent(kb.Tab),
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter), chromedp.WaitReady("[data-plot=spectrum] svg"),
		chromedp.WaitReady("[data-plot=course] svg"), chromedp.WaitReady(".bars svg"))
	p.Shot("serve-variants")
	if n := browsertest.Ask[int](p, `document.querySelectorAll("#figures tbody tr:not([hidden])").length`); n < 20 {
		t.Errorf("%d figures are shown", n)
	}
	checkPage(t, p)
	p.Shot("serve-variants-narrow-dark")
}

// testTrials chooses two trials of a run.
func testTrials(t *testing.T, ctx context.Context) {
	_, at := serveDir(t, loadedFolder(t, nil), false)
	p := open(t, ctx, at+"/run/"+loadedRun)
	p.Follow(chromedp.Click(`a[href^="/trials"]`))
	p.Run(chromedp.WaitReady("#trials"), chromedp.WaitReady(".filter input"))
	p.Shot("serve-trials")
	checkPage(t, p)
	p.Run(chromedp.Focus("#trials tbody tr:nth-child(1) input"), chromedp.KeyEvent(" "),
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady("[data-plot=spectrum] svg"), chromedp.WaitReady("[data-plot=course] svg"))
	p.Shot("serve-trial-narrow-dark")
	if text := browsertest.Ask[string](p, `document.querySelector(".logs").textContent`); !strings.Contains(text,
		"answers monolith") || !strings.Contains(text, "answers sync") {
		t.Errorf("the logs are %q", text)
	}
	if n := browsertest.Ask[int](p, `document.querySelectorAll(
		"[data-plot=course][data-metric=rate] svg [aria-label=line] path").length`); n < 2 {
		t.Errorf("the rates have %d lines, want one for each trial", n)
	}
	checkPage(t, p)
	p.Run(browsertest.Size(1100, 1600), browsertest.Prefer("light"), chromedp.Reload(),
		chromedp.WaitReady("[data-plot=course] svg"))
	p.Shot("serve-trial")
}

// checkPage checks that all fields and drawings have labels, and that the page fits into a narrow window. It
// leaves the page narrow and dark.
func checkPage(t *testing.T, p *browsertest.Tab) {
	t.Helper()
	if n := browsertest.Ask[int](p, `[...document.querySelectorAll("input, select, textarea, pre, svg[role=img]")]`+
		`.filter(e => !e.getAttribute("aria-label") && !e.closest("label")).length`); n != 0 {
		t.Errorf("%d fields or drawings have no label", n)
	}
	p.Run(browsertest.Size(400, 900), browsertest.Prefer("dark"), chromedp.Reload(),
		chromedp.WaitReady("main table"))
	if wide := browsertest.Ask[int64](p, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("the page is %d wide at a width of 400", wide)
	}
}
