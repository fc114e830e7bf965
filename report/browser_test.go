package report

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// patience bounds one test in the browser; nothing is measured by it.
const patience = 4 * time.Minute

// profile returns a folder for the browser's own files. Processes of the browser may
// write into it for a moment after the browser has ended, so that removing it
// takes more than one try.
func profile(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "cleave-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := os.RemoveAll(folder)
		for deadline := time.Now().Add(patience); err != nil &&
			time.Now().Before(deadline); err = os.RemoveAll(folder) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("remove the browser's files: %v", err)
		}
	})
	return folder
}

// newBrowser starts one headless Chromium for all tests of a function.
func newBrowser(t *testing.T) context.Context {
	t.Helper()
	testset.Need(t, "it opens the page in Chromium")
	needScript(t)
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed: type: apt-get install chromium")
	}
	folder := profile(t)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(folder), chromedp.WindowSize(1100, 900),
		chromedp.Env("TMPDIR="+folder), // what it leaves behind goes with its profile
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-crash-reporter", true))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is one open report and everything the browser complained about.
type tab struct {
	context.Context
	t        *testing.T
	mu       sync.Mutex
	problems []string
}

// open writes the report of an analysis to a file and opens it in a new tab.
// When the test ends, any error, policy violation, dialog or request fails it.
func open(t *testing.T, browserContext context.Context, a lab.Analysis, before ...chromedp.Action) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(html(t, a)), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(browserContext)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	page := &tab{Context: ctx, t: t}
	address := (&url.URL{Scheme: "file", Path: path}).String()
	chromedp.ListenTarget(ctx, func(event any) { page.listen(event, address) })
	page.run(append([]chromedp.Action{network.Enable(), log.Enable(), runtime.Enable()}, before...)...)
	page.run(chromedp.Navigate(address), chromedp.WaitReady("footer"))
	t.Cleanup(page.check)
	return page
}

// run performs actions and fails the test where one cannot be done.
func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// listen notes what a report must never cause.
func (p *tab) listen(event any, address string) {
	problem := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + event.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console %s: %v", event.Type, event.Args)
	case *log.EventEntryAdded:
		problem = "log " + string(event.Entry.Source) + ": " + event.Entry.Text
	case *network.EventRequestWillBeSent:
		if u := event.Request.URL; !strings.HasPrefix(u, address) && !strings.HasPrefix(u, "data:") &&
			!strings.HasPrefix(u, "blob:") {
			problem = "request: " + u
		}
	case *page.EventJavascriptDialogOpening:
		problem = "dialog: " + event.Message
		go func() { _ = chromedp.Run(p, page.HandleJavaScriptDialog(true)) }()
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

func (p *tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error(problem)
	}
}

// ask evaluates an expression in the page.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	var answer T
	p.run(chromedp.Evaluate(expression, &answer))
	return answer
}

// size sets the size of the window of a tab.
func size(width, height int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, height, 1, false)
}

// prefer sets the reader's preferred colour scheme.
func prefer(scheme string) *emulation.SetEmulatedMediaParams {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}})
}

// settled waits until the plots have followed a change of width.
const settled = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))`

func (p *tab) settle() {
	p.t.Helper()
	p.run(chromedp.Evaluate(settled, nil, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
		return e.WithAwaitPromise(true)
	}))
}

// shot keeps a picture of the whole page where CLEAVE_SHOTS names a folder.
func (p *tab) shot(name string) {
	p.t.Helper()
	folder := os.Getenv("CLEAVE_SHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.run(chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// drawn describes one plot of the page.
type drawn struct {
	ID, Label, Role  string
	Marks            int
	Right, Room      float64 // the plot's right edge, and its column's
	Overlaps, Beyond []string
}

// plotsOf describes every plot. Overlaps names pairs of labels that lie on each
// other, Beyond labels that leave the plot.
const plotsOf = `[...document.querySelectorAll(".plot")].map(place => {
	const svg = place.querySelector("svg");
	if (!svg) return {ID: place.id, Marks: 0};
	const box = svg.getBoundingClientRect(), room = place.getBoundingClientRect();
	const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim() !== "").map(t => ({text: t.textContent, box: t.getBoundingClientRect()}));
	const overlaps = [], beyond = [];
	texts.forEach((a, i) => {
		if (a.box.left < box.left - 3 || a.box.right > box.right + 3 || a.box.top < box.top - 3 || a.box.bottom > box.bottom + 3) beyond.push(a.text);
		texts.slice(i + 1).forEach(b => {
			const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
			const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
			if (x > 1 && y > 3) overlaps.push(a.text + " | " + b.text);
		});
	});
	return {ID: place.id, Label: svg.getAttribute("aria-label") ?? "", Role: svg.getAttribute("role") ?? "",
		Marks: svg.querySelectorAll("path, circle, line, rect").length, Right: box.right, Room: room.right, Overlaps: overlaps, Beyond: beyond};
})`

// download clicks and returns the file that the browser saved.
func (p *tab) download(click string) (name string, data []byte) {
	p.t.Helper()
	folder := p.t.TempDir()
	done := make(chan string, 1)
	chromedp.ListenTarget(p, func(event any) {
		if begin, ok := event.(*browser.EventDownloadWillBegin); ok {
			name = begin.SuggestedFilename
		}
		if progress, ok := event.(*browser.EventDownloadProgress); ok &&
			progress.State == browser.DownloadProgressStateCompleted {
			done <- progress.GUID
		}
	})
	p.run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllowAndName).WithDownloadPath(folder).
		WithEventsEnabled(true),
		chromedp.Evaluate(click, nil))
	select {
	case id := <-done:
		data, err := os.ReadFile(filepath.Join(folder, id))
		if err != nil {
			p.t.Fatal(err)
		}
		return name, data
	case <-p.Done():
		p.t.Fatal("no download completed")
		return "", nil
	}
}
