package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/report/browsertest"
)

// open opens a page of a server in a new tab.
func open(t *testing.T, browser context.Context, address string) *browsertest.Tab {
	t.Helper()
	browser, cancel := context.WithTimeout(browser, 4*patience)
	t.Cleanup(cancel)
	return browsertest.Open(t, browser, address, address[:strings.LastIndex(address, ":")])
}

func TestInBrowser(t *testing.T) {
	ctx := browsertest.New(t)
	if script, err := report.ServeScript(); err != nil || script == "" {
		t.Fatalf("the script is not built: type: make web (%v)", err)
	}
	t.Run("ListFilterCompareAndNotes", func(t *testing.T) { testList(t, ctx) })
	t.Run("ReportInItsSandbox", func(t *testing.T) { testReport(t, ctx) })
	t.Run("ThousandsOfRuns", func(t *testing.T) { testThousands(t, ctx) })
	t.Run("ARunToItsEnd", func(t *testing.T) { testFollowed(t, ctx) })
	t.Run("TheHeadlineOverRuns", func(t *testing.T) { testHistory(t, ctx) })
	t.Run("TwoVariantsOfARun", func(t *testing.T) { testVariants(t, ctx) })
	t.Run("TwoTrials", func(t *testing.T) { testTrials(t, ctx) })
	t.Run("HostileRuns", func(t *testing.T) { testHostile(t, ctx) })
}

const shown = `[...document.querySelectorAll("#runs tbody tr")].filter(r => !r.hidden).length`

func testList(t *testing.T, ctx context.Context) {
	_, at := serveDir(t, folderOfRuns(t, 3, nil), false)
	p := open(t, ctx, at+"/")
	p.Shot("serve-list")
	p.Follow(chromedp.Click("#runs tbody tr:first-child a"))
	p.Run(chromedp.WaitReady(".bars svg"))
	p.Run(chromedp.SendKeys(".notes input[name=tags]", "base"), chromedp.SendKeys(".notes textarea", "a note"))
	p.Shot("serve-run")
	p.Follow(chromedp.Click(".notes button"))
	p.Run(chromedp.WaitReady(`.notes input[value="base"]`))
	p.Follow(chromedp.Click(".brand a"))
	p.Run(chromedp.SendKeys(".filter input", "a note"))
	if n := browsertest.Ask[int](p, shown); n != 1 {
		t.Errorf("the filter shows %d runs, want the one with the note", n)
	}
	p.Run(chromedp.SendKeys(".filter input", strings.Repeat(kb.Backspace, 10)))
	if n := browsertest.Ask[int](p, shown); n != 3 {
		t.Errorf("without a filter %d runs are shown", n)
	}
	if n := browsertest.Ask[int](p, `document.querySelectorAll(".filter select").length`); n != 3 {
		t.Errorf("the list is filtered by %d columns, want study, state and tag", n)
	}
	if n := browsertest.Ask[int](p, `[...document.querySelectorAll("input, select, textarea")].filter(e => `+
		`!e.getAttribute("aria-label") && !e.closest("label")).length`); n != 0 {
		t.Errorf("%d fields have no label", n)
	}
	for _, width := range []int64{1100, 400} {
		p.Run(browsertest.Size(width, 900))
		if wide := browsertest.Ask[int64](p, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("the page is %d wide at a width of %d", wide, width)
		}
	}
	p.Shot("serve-narrow")
	p.Run(browsertest.Prefer("dark"))
	p.Shot("serve-dark")
	// By the keyboard alone: two boxes and the button.
	p.Run(chromedp.Focus("#runs tbody tr:first-child input"), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Tab),
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady("details"))
	p.Shot("serve-compare")
	if title := browsertest.Ask[string](p, "document.title"); !strings.Contains(title, " against ") {
		t.Errorf("two runs lead to %q", title)
	}
}

func testReport(t *testing.T, ctx context.Context) {
	root := folderOfRuns(t, 1, nil)
	s, at := serveDir(t, root, false)
	runs, _, err := s.shelf.Runs()
	testset.Must(t, err)
	p := open(t, ctx, at+"/report/"+runs[0].Name)
	p.Run(chromedp.WaitReady(".plot svg"))
	if origin := browsertest.Ask[string](p, "self.origin"); origin != "null" {
		t.Errorf("a report has the origin %s", origin)
	}
	// A report by an attacker could try this.
	thief := fmt.Sprintf(`<script>document.title = "tries"; fetch("%s/").then(r => r.text()).then(
		() => document.title = "reads", () => document.title = "refused")</script>`, at)
	found, err := filepath.Glob(filepath.Join(root, "*", "*", "report.html"))
	if err == nil {
		err = os.WriteFile(found[0], []byte(thief), 0o600)
	}
	testset.Must(t, err)
	q := open(t, ctx, at+"/report/"+runs[0].Name)
	q.Run(chromedp.Poll(`document.title == "refused" || document.title == "reads"`, nil))
	if title := browsertest.Ask[string](q, "document.title"); title != "refused" {
		t.Errorf("a report %s the other pages", title)
	}
	q.Forgive() // the browser reports the refused request
}

// testHistory checks the history of a headline whose level changes.
func testHistory(t *testing.T, ctx context.Context) {
	root := folderOfRuns(t, 40, nil)
	s, at := serveDir(t, root, false)
	runs, _, err := s.shelf.Runs()
	testset.Must(t, err)
	for i, run := range runs[:39] { // the files of all runs are links to those of the oldest
		name := filepath.Join(root, filepath.FromSlash(run.Name), "analysis.json")
		text, err := os.ReadFile(name)
		testset.Must(t, err)
		changed := changedRun(t, text, i)
		testset.Must(t, errors.Join(os.Remove(name), os.WriteFile(name, changed, 0o600)))
	}
	p := open(t, ctx, at+"/run/"+runs[0].Name)
	p.Follow(chromedp.Click(`a[href^="/history/"]`))
	p.Run(chromedp.WaitReady("[data-history] svg"))
	p.Shot("serve-history")
	if text := browsertest.Ask[string](p, `document.querySelector("main").textContent`); !strings.Contains(text,
		"on 1.3") || !strings.Contains(text, "the environment is another from then on") ||
		!strings.Contains(text, "kernel: 6.1, then 6.2") {
		t.Errorf("the history says %.2000s", text)
	}
	p.Run(browsertest.Size(400, 900), chromedp.Reload(), chromedp.WaitReady("[data-history] svg"))
	p.Shot("serve-history-narrow")
	if wide := browsertest.Ask[int64](p, "document.documentElement.scrollWidth"); wide > 400 {
		t.Errorf("the page is %d wide", wide)
	}
}

// changedRun returns an analysis with changed ratios. The newest fifteen runs have larger ones, and another
// kernel.
func changedRun(t *testing.T, text []byte, age int) []byte {
	t.Helper()
	var a lab.Analysis
	testset.Must(t, json.Unmarshal(text, &a))
	factor := 1 + 0.02*math.Sin(float64(7*age))
	kernel := "6.1"
	if age < 15 {
		factor, kernel = 1.3*factor, "6.2"
	}
	a.Environment["kernel"] = lab.Fact{Value: kernel}
	for i := range a.Comparisons {
		c := &a.Comparisons[i]
		c.Ratio.Ratio *= factor
		for _, end := range []*float64{c.Low, c.High} {
			if end != nil {
				*end *= factor
			}
		}
	}
	changed, err := json.Marshal(a)
	testset.Must(t, err)
	return changed
}

// testThousands logs the time until 2,000 runs that were not read before can be searched, and limits it
// generously, since the host may be busy.
func testThousands(t *testing.T, ctx context.Context) {
	_, at := serveDir(t, folderOfRuns(t, 2000, nil), false)
	begin := time.Now()
	p := open(t, ctx, at+"/")
	p.Run(chromedp.Poll(`document.querySelector("[role=status]")?.textContent ==
		"2000 of 2000, the first 200 are shown"`, nil))
	took := time.Since(begin)
	t.Logf("2,000 runs can be searched after %v", took)
	if took > patience {
		t.Errorf("2,000 runs can be searched after %v", took)
	}
	p.Run(chromedp.SendKeys(".filter input", "00:01"))
	if n := browsertest.Ask[int](p, shown); n == 0 || n == 2000 {
		t.Errorf("the filter shows %d of 2,000 runs", n)
	}
	p.Run(chromedp.Click(".filter button:first-of-type"), chromedp.Click(".filter button:last-of-type"))
	if n := browsertest.Ask[int](p, shown); n != 2000 {
		t.Errorf("all are %d of 2,000 runs", n)
	}
}

func testHostile(t *testing.T, ctx context.Context) {
	_, at := serveDir(t, hostileRuns(t), false)
	p := open(t, ctx, at+"/")
	p.Shot("serve-hostile")
	const made = `document.querySelectorAll("img, main script").length`
	if n := browsertest.Ask[int](p, made); n != 0 {
		t.Errorf("%d elements of the list were made from texts", n)
	}
	p.Follow(chromedp.Click("#runs tbody tr:first-child a"))
	if n := browsertest.Ask[int](p, made); n != 0 {
		t.Errorf("%d elements of a run were made from texts", n)
	}
}
