package report

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/browsertest"
)

func TestInBrowser(t *testing.T) {
	ctx := browsertest.New(t)
	needScript(t)
	t.Run("PlotsAreDrawnAtEveryWidth", func(t *testing.T) { testPlots(t, ctx) })
	t.Run("HostileTextsStayTexts", func(t *testing.T) { testHostile(t, ctx) })
	t.Run("AnythingCanBeMissing", func(t *testing.T) { testMissing(t, ctx) })
	t.Run("SVGDownload", func(t *testing.T) { testSVGDownload(t, ctx) })
	t.Run("DataDownload", func(t *testing.T) { testDataDownload(t, ctx) })
	t.Run("LightAndDark", func(t *testing.T) { testThemes(t, ctx) })
	t.Run("Print", func(t *testing.T) { testPrint(t, ctx) })
	t.Run("Handout", func(t *testing.T) { testHandout(t, ctx) })
	t.Run("WithoutJavaScript", func(t *testing.T) { testWithoutScript(t, ctx) })
	t.Run("Keyboard", func(t *testing.T) { testKeyboard(t, ctx) })
	t.Run("Filter", func(t *testing.T) { testFilter(t, ctx) })
	t.Run("MetricOfTheForest", func(t *testing.T) { testMetric(t, ctx) })
	t.Run("UnderLoad", func(t *testing.T) { testLoaded(t, ctx) })
}

func testPlots(t *testing.T, ctx context.Context) {
	for _, name := range []string{"analysis.json", "three-variants.json", "shop-under-load.json"} {
		a := fixture(t, name)
		p := open(t, ctx, a)
		for _, width := range []int64{1100, 700, 400} {
			p.Run(browsertest.Size(width, 900))
			p.settle()
			plots := ask[[]drawn](p, plotsOf)
			if len(plots) < 5 {
				t.Errorf("%s: only %d plots", name, len(plots))
			}
			for _, d := range plots {
				where := fmt.Sprintf("%s at %d: %s", name, width, d.ID)
				if d.Marks < 4 || len(d.Label) < 20 || d.Role != "img" {
					t.Errorf("%s has %d marks, label %q, role %q", where, d.Marks, d.Label, d.Role)
				}
				if d.Right > d.Room+1 {
					t.Errorf("%s is wider than its column: %v > %v", where, d.Right, d.Room)
				}
				if len(d.Overlaps) > 0 || len(d.Beyond) > 0 {
					t.Errorf("%s: labels overlap %q, leave the plot %q", where, d.Overlaps, d.Beyond)
				}
			}
			if page := ask[int64](p, "document.documentElement.scrollWidth"); page > width {
				t.Errorf("%s: the page is %d wide at a width of %d", name, page, width)
			}
			p.Shot(fmt.Sprintf("%s-%d", strings.TrimSuffix(name, ".json"), width))
		}
	}
}

func testHostile(t *testing.T, ctx context.Context) {
	for name, a := range map[string]lab.Analysis{"hostile": hostile(t), "hostile-loaded": hostileLoaded(t)} {
		testVenom(t, ctx, name, a)
	}
}

func testVenom(t *testing.T, ctx context.Context, name string, a lab.Analysis) {
	p := open(t, ctx, a)
	for _, width := range []int64{1100, 300} {
		p.Run(browsertest.Size(width, 900))
		p.settle()
		for _, d := range ask[[]drawn](p, plotsOf) {
			if d.Marks == 0 {
				t.Errorf("%s at %d: no plot", d.ID, width)
			}
		}
	}
	if n := ask[int](p, `document.querySelectorAll("img, main script, [onload], [onerror]").length`); n != 0 {
		t.Errorf("%d elements were made from texts", n)
	}
	p.Shot(name)
}

func testMissing(t *testing.T, ctx context.Context) {
	for _, name := range []string{"empty", "lonely"} {
		p := open(t, ctx, fixtures(t)[name])
		p.settle()
		for _, d := range ask[[]drawn](p, plotsOf) {
			if d.Label == "" {
				t.Errorf("%s: %s was not drawn", name, d.ID)
			}
		}
		p.Shot(name)
	}
}

func testSVGDownload(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "three-variants.json"))
	p.settle()
	name, data := p.download(`document.querySelector("#plot-forest").nextElementSibling.querySelector("button").click()`)
	if name != "three-variants-plot-forest.svg" {
		t.Errorf("the file is called %q", name)
	}
	if strings.Contains(string(data), "var(") {
		t.Error("the file refers to custom properties that it does not have")
	}
	marks := 0
	for decoder := xml.NewDecoder(strings.NewReader(string(data))); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && (start.Name.Local == "path" || start.Name.Local == "line") {
			marks++
		}
	}
	if marks < 6 {
		t.Errorf("%d marks in the file", marks)
	}
}

func testDataDownload(t *testing.T, ctx context.Context) {
	a := hostile(t)
	p := open(t, ctx, a)
	p.settle()
	_, data := p.download(`[...document.querySelectorAll("#tools button")].find(b => b.textContent.includes("JSON")).click()`)
	var back lab.Analysis
	testset.Must(t, json.Unmarshal(data, &back))
	if back.Study != a.Study || len(back.Results) != len(a.Results) {
		t.Errorf("the file holds another analysis: %q, %d results", back.Study, len(back.Results))
	}
}

// colours returns the colours that show the theme: of paper, text and the first mark of a plot.
const colours = `(() => { const s = getComputedStyle(document.body), m = document.querySelector("#plot-ladder [fill^=var]");
	return [s.backgroundColor, s.color, m ? getComputedStyle(m).fill : ""].join(" ") })()`

func testThemes(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "analysis.json"), browsertest.Prefer("light"))
	p.settle()
	light := ask[string](p, colours)
	p.Run(browsertest.Prefer("dark"))
	dark := ask[string](p, colours)
	if light == dark {
		t.Errorf("light and dark look the same: %s", light)
	}
	p.Shot("dark")
	p.Run(chromedp.Evaluate(`document.querySelector("#theme").click()`, nil))
	if toggled := ask[string](p, colours); toggled != light {
		t.Errorf("the button leads from dark to %s, want %s", toggled, light)
	}
	p.Run(chromedp.Evaluate(`document.querySelector("#theme").click()`, nil))
	if toggled := ask[string](p, colours); toggled != dark {
		t.Errorf("the button leads from light to %s, want %s", toggled, dark)
	}
}

func testPrint(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "analysis.json"), browsertest.Prefer("dark"))
	p.settle()
	// The style sheet alone must suffice: no beforeprint event has opened the tables.
	p.Run(browsertest.Prefer("dark").WithMedia("print"))
	testPaper(t, p)
	p.Run(browsertest.Prefer("dark"))
	pdf := printed(t, p, "print")
	if !strings.HasPrefix(string(pdf), "%PDF") || len(pdf) < 20_000 {
		t.Errorf("the print is %d bytes and starts with %q", len(pdf), pdf[:min(8, len(pdf))])
	}
}

// printed returns a page as PDF.
func printed(t *testing.T, p *tab, name string) []byte {
	t.Helper()
	var pdf []byte
	p.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		pdf, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).WithPrintBackground(true).Do(ctx)
		return err
	}))
	if folder := os.Getenv("CLEAVE_SHOTS"); folder != "" {
		testset.Must(t, os.WriteFile(filepath.Join(folder, name+".pdf"), pdf, 0o644))
	}
	return pdf
}

// testHandout checks that the button prints the answer on at most two pages, and that a later print is
// complete again.
func testHandout(t *testing.T, ctx context.Context) {
	for _, name := range []string{"analysis.json", "three-variants.json", "shop-under-load.json"} {
		p := open(t, ctx, fixture(t, name))
		p.settle()
		ask[bool](p, `window.print = () => window.asked = document.documentElement.dataset.print; true`)
		p.Run(chromedp.Click(`//button[text()="Print two pages"]`, chromedp.BySearch))
		if asked := ask[string](p, "window.asked"); asked != "handout" {
			t.Errorf("%s: printed as %q", name, asked)
		}
		if pages := strings.Count(string(printed(t, p, name+"-handout")), "/Type /Page\n"); pages < 1 || pages > 2 {
			t.Errorf("%s: the handout has %d pages", name, pages)
		}
		if left := ask[bool](p, `"print" in document.documentElement.dataset`); left {
			t.Errorf("%s: the next print is a handout, too", name)
		}
	}
}

// testPaper checks that a page in print mode has white paper and open tables.
func testPaper(t *testing.T, p *tab) {
	if paper := ask[string](p,
		"getComputedStyle(document.body).backgroundColor"); paper != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s although the reader prefers dark", paper)
	}
	if n := ask[int](p,
		`[...document.querySelectorAll("details table")].filter(t => !t.checkVisibility()).length`); n > 0 {
		t.Errorf("%d folded tables are missing on paper", n)
	}
}

func testWithoutScript(t *testing.T, ctx context.Context) {
	a := fixture(t, "analysis.json")
	p := open(t, ctx, a, emulation.SetScriptExecutionDisabled(true))
	for selector, least := range map[string]int{"ul.answer li": len(a.Answer.Findings), "td": 50,
		"noscript p": 1, "figcaption": 3, ".plot svg": 0} {
		var nodes []*cdp.Node
		p.Run(chromedp.Nodes(selector, &nodes, chromedp.ByQueryAll, chromedp.AtLeast(0)))
		if len(nodes) < least || (least == 0 && len(nodes) > 0) {
			t.Errorf("%d %s without JavaScript, want %d", len(nodes), selector, least)
		}
		if len(nodes) == 0 {
			continue
		}
		p.Run(chromedp.ActionFunc(func(ctx context.Context) error {
			box, err := dom.GetBoxModel().WithNodeID(nodes[0].NodeID).Do(ctx)
			if err == nil && box.Height == 0 {
				t.Errorf("%s has no height", selector)
			}
			return err
		}))
	}
}

func testKeyboard(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "three-variants.json"), browsertest.Prefer("light"))
	p.settle()
	light := ask[string](p, colours)
	reached := make(map[string]bool)
	for range 400 {
		p.Run(chromedp.KeyEvent(kb.Tab))
		at := ask[string](p,
			`(e => e.tagName + " " + (e.id || e.textContent.trim().slice(0, 30)))(document.activeElement)`)
		if at == "BUTTON theme" && !reached[at] {
			p.Run(chromedp.KeyEvent(kb.Enter))
			if now := ask[string](p, colours); now == light {
				t.Error("Enter on the theme button changes nothing")
			}
		}
		if strings.HasPrefix(at, "BODY") {
			break
		}
		reached[at] = true
	}
	for _, want := range []string{"BUTTON theme", "BUTTON Download SVG", "BUTTON Download the data (JSON)",
		"A Claims", "SELECT"} {
		found := false
		for at := range reached {
			found = found || strings.HasPrefix(at, want)
		}
		if !found {
			t.Errorf("%s cannot be reached by the keyboard", want)
		}
	}
	if n := ask[int](p,
		`[...document.querySelectorAll("summary, .scroll")].filter(e => e.tabIndex < 0).length`); n > 0 {
		t.Errorf("%d folds or tables cannot be reached by the keyboard", n)
	}
}

func testFilter(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "three-variants.json"))
	p.settle()
	const shown = `[...document.querySelectorAll("#published-published tbody tr")].filter(r => r.getBoundingClientRect().height > 0).length`
	all := ask[int](p, shown)
	p.Run(chromedp.SendKeys(`.filter input`, "intercept", chromedp.ByQuery))
	some := ask[int](p, shown)
	if some == 0 || some >= all {
		t.Errorf("the filter shows %d of %d rows", some, all)
	}
	if said := ask[string](p, `document.querySelector(".filter [role=status]").textContent`); said !=
		fmt.Sprintf("%d of %d", some, all) {
		t.Errorf("the filter says %q", said)
	}
}

func testMetric(t *testing.T, ctx context.Context) {
	p := open(t, ctx, fixture(t, "three-variants.json"))
	p.settle()
	before := ask[string](p, `document.querySelector("#plot-forest").textContent`)
	p.Run(chromedp.Evaluate(`(s => { s.value = "peak_memory"; s.dispatchEvent(new Event("change")) })(document.querySelector("#ratios select"))`, nil))
	if after := ask[string](p, `document.querySelector("#plot-forest").textContent`); after == before ||
		!strings.Contains(after, "x [") {
		t.Errorf("choosing a metric leads from %q to %q", before, after)
	}
	// The tip of a dot must not violate the policy either.
	p.Run(chromedp.ScrollIntoView("#plot-forest svg"), chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.MouseEvent("mouseMoved", ask[float64](p,
			`document.querySelector("#plot-forest [aria-label=dot] path").getBoundingClientRect().x + 3`),
			ask[float64](p,
				`document.querySelector("#plot-forest [aria-label=dot] path").getBoundingClientRect().y + 3`)).Do(ctx)
	}))
	p.settle()
	if tip := ask[string](p,
		`document.querySelector("#plot-forest [aria-label=tip]")?.textContent ?? ""`); !strings.Contains(tip,
		"blocks") {
		t.Errorf("the tip says %q", tip)
	}
}

// testLoaded checks the controls of the plots of a system under load, and its print.
func testLoaded(t *testing.T, ctx context.Context) {
	a := fixture(t, "shop-under-load.json")
	p := open(t, ctx, a)
	p.settle()
	choose := func(section, value string) {
		p.Run(chromedp.Evaluate(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("change")) })(document.querySelector("#%s figure > .controls select"))`, value, section), nil))
	}
	for section, plot := range map[string]string{"spectra": "#plot-spectrum-completion-time",
		"usage": "#plot-usage-cpu", "staleness": "#plot-spectrum-staleness"} {
		markup := fmt.Sprintf("document.querySelector(%q).innerHTML", plot)
		first := ask[string](p, markup)
		if choose(section, "at-240"); ask[string](p, markup) == first {
			t.Errorf("%s: another load draws the same", section)
		}
		if label := ask[string](p, fmt.Sprintf(`document.querySelector("%s svg").getAttribute("aria-label")`,
			plot)); !strings.Contains(label, "at-240") {
			t.Errorf("%s: the label says %q, not which load is drawn", section, label)
		}
		if choose(section, "at-80"); ask[string](p, markup) != first {
			t.Errorf("%s: back at the first load, the plot is another", section)
		}
	}
	const uncorrected = `document.querySelector("#plot-spectrum-response-time").textContent.includes("uncorrected")`
	if ask[bool](p, uncorrected) {
		t.Error("the uncorrected service time is shown unasked")
	}
	if p.Run(chromedp.Click(`#spectra input[type=checkbox]`)); !ask[bool](p, uncorrected) {
		t.Error("the service time is not shown, or not called uncorrected")
	}
	p.Run(browsertest.Prefer("light").WithMedia("print"))
	testPaper(t, p)
}
