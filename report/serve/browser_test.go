package serve

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/report"
)

// newBrowser starts one headless Chromium for all tests of a function.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	testset.Need(t, "it opens the pages in Chromium")
	if script, err := report.ServeScript(); err != nil || script == "" {
		t.Fatalf("the script is not built: type: make web (%v)", err)
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: type: apt-get install chromium")
	}
	folder, err := os.MkdirTemp("", "cleave-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // processes of the browser may write for a moment after its end
		for deadline := time.Now().Add(patience); os.RemoveAll(folder) != nil && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	})
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(folder), chromedp.WindowSize(1100, 900),
		chromedp.Env("TMPDIR="+folder), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is an open page and everything the browser complained about.
type tab struct {
	context.Context
	t        *testing.T
	mu       sync.Mutex
	problems []string
}

// open opens a page in a new tab. When the test ends, any error, policy violation or request to others fails
// it.
func open(t *testing.T, of context.Context, address string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(of)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*patience)
	t.Cleanup(cancel)
	p := &tab{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, func(event any) { p.listen(event, address[:strings.LastIndex(address, ":")]) })
	p.run(network.Enable(), cdplog.Enable(), runtime.Enable(), chromedp.Navigate(address))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Error(problem)
		}
	})
	return p
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

func (p *tab) listen(event any, host string) {
	problem := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + event.ExceptionDetails.Error()
	case *cdplog.EventEntryAdded:
		problem = "log " + string(event.Entry.Source) + ": " + event.Entry.Text
	case *page.EventJavascriptDialogOpening:
		problem = "dialog: " + event.Message
	case *network.EventRequestWillBeSent:
		if u := event.Request.URL; !strings.HasPrefix(u, host) && !strings.HasPrefix(u, "data:") &&
			!strings.HasPrefix(u, "blob:") {
			problem = "request: " + u
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

// in evaluates an expression in the page.
func in[T any](p *tab, expression string) T {
	p.t.Helper()
	var answer T
	p.run(chromedp.Evaluate(expression, &answer))
	return answer
}

// shot keeps a picture of the page in the folder CLEAVE_SHOTS.
func (p *tab) shot(name string) {
	p.t.Helper()
	folder := os.Getenv("CLEAVE_SHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.run(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func TestInBrowser(t *testing.T) {
	ctx := newBrowser(t)
	t.Run("ListFilterCompareAndNotes", func(t *testing.T) { testList(t, ctx) })
	t.Run("ReportInItsSandbox", func(t *testing.T) { testReport(t, ctx) })
	t.Run("ThousandsOfRuns", func(t *testing.T) { testThousands(t, ctx) })
	t.Run("ARunToItsEnd", func(t *testing.T) { testFollowed(t, ctx) })
	t.Run("HostileRuns", func(t *testing.T) { testHostile(t, ctx) })
}

const shown = `[...document.querySelectorAll("#runs tbody tr")].filter(r => !r.hidden).length`

func testList(t *testing.T, ctx context.Context) {
	_, at := begun(t, folderOfRuns(t, 3, nil), false)
	p := open(t, ctx, at+"/")
	p.shot("serve-list")
	p.run(chromedp.Click("#runs tbody tr:first-child a"), chromedp.WaitReady(".notes"))
	p.run(chromedp.SendKeys(".notes input[name=tags]", "base"), chromedp.SendKeys(".notes textarea", "a note"))
	p.shot("serve-run")
	p.run(chromedp.Click(".notes button"), chromedp.WaitReady(`.notes input[value="base"]`),
		chromedp.Click(".brand a"), chromedp.WaitReady("#runs"))
	p.run(chromedp.SendKeys(".filter input", "a note"))
	if n := in[int](p, shown); n != 1 {
		t.Errorf("the filter shows %d runs, want the one with the note", n)
	}
	p.run(chromedp.SendKeys(".filter input", strings.Repeat(kb.Backspace, 10)))
	if n := in[int](p, shown); n != 3 {
		t.Errorf("without a filter %d runs are shown", n)
	}
	if n := in[int](p, `[...document.querySelectorAll("input, select, textarea")].filter(e => `+
		`!e.getAttribute("aria-label") && !e.closest("label")).length`); n != 0 {
		t.Errorf("%d fields have no label", n)
	}
	for _, width := range []int64{1100, 400} {
		p.run(emulation.SetDeviceMetricsOverride(width, 900, 1, false))
		if wide := in[int64](p, "document.documentElement.scrollWidth"); wide > width {
			t.Errorf("the page is %d wide at a width of %d", wide, width)
		}
	}
	p.shot("serve-narrow")
	p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: "dark"}}))
	p.shot("serve-dark")
	// By the keyboard alone: two boxes and the button.
	p.run(chromedp.Focus("#runs tbody tr:first-child input"), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Tab),
		chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady("details"))
	p.shot("serve-compare")
	if title := in[string](p, "document.title"); !strings.Contains(title, " against ") {
		t.Errorf("two runs lead to %q", title)
	}
}

func testReport(t *testing.T, ctx context.Context) {
	root := folderOfRuns(t, 1, nil)
	s, at := begun(t, root, false)
	runs, err := s.shelf.Runs()
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, ctx, at+"/report/"+runs[0].Name)
	p.run(chromedp.WaitReady(".plot svg"))
	if origin := in[string](p, "self.origin"); origin != "null" {
		t.Errorf("a report has the origin %s", origin)
	}
	// What a report of a stranger could try.
	thief := fmt.Sprintf(`<script>document.title = "tries"; fetch("%s/").then(r => r.text()).then(
		() => document.title = "reads", () => document.title = "refused")</script>`, at)
	found, err := filepath.Glob(filepath.Join(root, "*", "*", "report.html"))
	if err == nil {
		err = os.WriteFile(found[0], []byte(thief), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	q := open(t, ctx, at+"/report/"+runs[0].Name)
	q.run(chromedp.Poll(`document.title == "refused" || document.title == "reads"`, nil))
	if title := in[string](q, "document.title"); title != "refused" {
		t.Errorf("a report %s the other pages", title)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.problems = nil // the refusal is one
}

// testThousands tells the time until 2,000 runs can be searched, and bounds it for a busy host.
func testThousands(t *testing.T, ctx context.Context) {
	_, at := begun(t, folderOfRuns(t, 2000, nil), false)
	begin := time.Now()
	list := get(t, at+"/", 200)
	t.Logf("2,000 runs, %d bytes, are listed in %v", len(list), time.Since(begin))
	begin = time.Now()
	p := open(t, ctx, at+"/")
	p.run(chromedp.Poll(`document.querySelector("[role=status]")?.textContent ==
		"2000 of 2000, the first 200 are shown"`, nil))
	took := time.Since(begin)
	t.Logf("in the browser after %v", took)
	if took > patience {
		t.Errorf("2,000 runs can be searched after %v", took)
	}
	p.run(chromedp.SendKeys(".filter input", "00:01"))
	if n := in[int](p, shown); n == 0 || n == 2000 {
		t.Errorf("the filter shows %d of 2,000 runs", n)
	}
	p.run(chromedp.Click(".filter button:first-of-type"), chromedp.Click(".filter button:last-of-type"))
	if n := in[int](p, shown); n != 2000 {
		t.Errorf("all are %d of 2,000 runs", n)
	}
}

func testHostile(t *testing.T, ctx context.Context) {
	_, at := begun(t, hostileRuns(t), false)
	p := open(t, ctx, at+"/")
	p.shot("serve-hostile")
	const made = `document.querySelectorAll("img, main script").length`
	if n := in[int](p, made); n != 0 {
		t.Errorf("%d elements of the list were made from texts", n)
	}
	p.run(chromedp.Click("#runs tbody tr:first-child a"), chromedp.WaitReady(".notes"))
	if n := in[int](p, made); n != 0 {
		t.Errorf("%d elements of a run were made from texts", n)
	}
}
