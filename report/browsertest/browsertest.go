// Package browsertest opens pages in a headless Chromium for tests, and fails a test whose page complains.
//
// Entry points: New, Open.
package browsertest

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
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cleave-lab/cleave/internal/testset"
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

// New starts one headless Chromium for all tests of a function.
func New(t *testing.T) context.Context {
	t.Helper()
	testset.Need(t, "it opens the page in Chromium")
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

// Tab is an open page and everything the browser complained about.
type Tab struct {
	context.Context
	t        *testing.T
	mu       sync.Mutex
	problems []string
}

// Open opens a page in a new tab, after some actions. When the test ends, any error, policy violation, dialog
// or request for what does not begin with own fails it.
func Open(t *testing.T, browser context.Context, address, own string, before ...chromedp.Action) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	p := &Tab{Context: ctx, t: t}
	chromedp.ListenTarget(ctx, func(event any) { p.listen(event, own) })
	p.Run(append([]chromedp.Action{network.Enable(), log.Enable(), runtime.Enable()}, before...)...)
	p.Run(chromedp.Navigate(address))
	t.Cleanup(p.check)
	return p
}

// Run performs actions and fails the test where one cannot be done.
func (p *Tab) Run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Follow performs actions that lead to another page, and waits until that has loaded: elements that are found
// before may be those of the page that goes away.
func (p *Tab) Follow(actions ...chromedp.Action) {
	p.t.Helper()
	if _, err := chromedp.RunResponse(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// listen notes what a page must never cause.
func (p *Tab) listen(event any, own string) {
	problem := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + event.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console %s: %v", event.Type, event.Args)
	case *log.EventEntryAdded:
		problem = "log " + string(event.Entry.Source) + ": " + event.Entry.Text
	case *network.EventRequestWillBeSent:
		if u := event.Request.URL; !strings.HasPrefix(u, own) && !strings.HasPrefix(u, "data:") &&
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

// Forgive forgets what the browser complained about so far.
func (p *Tab) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}

func (p *Tab) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		p.t.Error(problem)
	}
}

// Ask evaluates an expression in the page.
func Ask[T any](p *Tab, expression string) T {
	p.t.Helper()
	var answer T
	p.Run(chromedp.Evaluate(expression, &answer))
	return answer
}

// Size sets the size of the window of a tab.
func Size(width, height int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, height, 1, false)
}

// Prefer sets the reader's preferred colour scheme.
func Prefer(scheme string) *emulation.SetEmulatedMediaParams {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}})
}

// Shot keeps a picture of the whole page where CLEAVE_SHOTS names a folder.
func (p *Tab) Shot(name string) {
	p.t.Helper()
	folder := os.Getenv("CLEAVE_SHOTS")
	if folder == "" {
		return
	}
	var picture []byte
	p.Run(chromedp.FullScreenshot(&picture, 100))
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
