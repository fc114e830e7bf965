// Package browsertest opens pages in a headless Chromium for tests, and fails a test if the browser reports
// a problem with its page.
//
// Entry points: New, Open.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// patience is the time limit for the use of a tab, and for removing the files of the browser. It is generous:
// no test measures time by it.
const patience = 4 * time.Minute

// profile returns a folder for the files of the browser, which is removed after the test.
// Processes of the browser may still write to it after the browser has ended, so removing
// it can take several attempts.
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

// New starts a headless Chromium, in which a test can open several tabs.
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
		chromedp.Env("TMPDIR="+folder), // so that its temporary files are removed with its profile
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

// Tab is an open page with the problems that the browser reported.
type Tab struct {
	context.Context
	t        *testing.T
	mu       sync.Mutex
	problems []string
}

// Open performs some actions in a new tab and opens a page there. The test fails at its end if the page
// caused an error, a policy violation, a dialog or a request to a URL that does not begin with own.
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

// Run performs actions and fails the test if one of them fails.
func (p *Tab) Run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// Follow performs actions that lead to another page, and waits until it has loaded: elements found earlier
// may belong to the previous page.
func (p *Tab) Follow(actions ...chromedp.Action) {
	p.t.Helper()
	if _, err := chromedp.RunResponse(p, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// listen records the events that a page must not cause.
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
		u := event.Request.URL
		permitted := func(prefix string) bool { return strings.HasPrefix(u, prefix) }
		if !slices.ContainsFunc([]string{own, "data:", "blob:"}, permitted) {
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

// Forgive discards the problems that the browser has reported so far.
func (p *Tab) Forgive() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}

// check fails the test for every problem.
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

// Size returns an action that sets the size of the window of a tab.
func Size(width, height int64) chromedp.Action {
	return emulation.SetDeviceMetricsOverride(width, height, 1, false)
}

// Prefer returns an action that sets the preferred colour scheme.
func Prefer(scheme string) *emulation.SetEmulatedMediaParams {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: scheme}})
}

// Shot saves a picture of the whole page to the folder CLEAVE_SHOTS, if that is set.
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
