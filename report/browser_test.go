package report

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/browsertest"
)

// tab is an open report.
type tab struct {
	*browsertest.Tab
	t *testing.T
}

// open writes the report of an analysis to a file and opens it in a new tab.
func open(t *testing.T, browser context.Context, a lab.Analysis, before ...chromedp.Action) *tab {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	testset.Must(t, os.WriteFile(path, []byte(html(t, a)), 0o644))
	address := (&url.URL{Scheme: "file", Path: path}).String()
	p := &tab{browsertest.Open(t, browser, address, address, before...), t}
	p.Run(chromedp.WaitReady("footer"))
	return p
}

// ask evaluates an expression in the page.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	return browsertest.Ask[T](p.Tab, expression)
}

// settled is fulfilled when the plots have been drawn again after a change of width.
const settled = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))`

// settle waits until the plots have been drawn again.
func (p *tab) settle() {
	p.t.Helper()
	p.Run(chromedp.Evaluate(settled, nil, func(e *runtime.EvaluateParams) *runtime.EvaluateParams {
		return e.WithAwaitPromise(true)
	}))
}

// drawn describes a plot of the page.
type drawn struct {
	ID, Label, Role  string
	Marks            int
	Right, Room      float64  // the right edges of the plot and of its column
	Overlaps, Beyond []string // pairs of labels that overlap, and labels that leave the plot
}

// plotsOf returns a description of every plot.
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

// download evaluates a click and returns the file that the browser saves.
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
	p.Run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllowAndName).WithDownloadPath(folder).
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
