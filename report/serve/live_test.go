package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report/browsertest"
	"github.com/cleave-lab/cleave/report/progress"
	"github.com/cleave-lab/cleave/store"
)

// goingOn writes the folder of a run as if the run were played.
type goingOn struct {
	lab.Progress
	*store.Folder
	file *os.File
	root string
	name string
}

// playing begins a run of four trials.
func playing(t *testing.T) goingOn {
	t.Helper()
	root := t.TempDir()
	plan := lab.Plan{Schema: lab.PlanSchema, Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Study: lab.Study{Name: "two", Title: "Two", Design: lab.Design{Blocks: 2, Seed: 7, MaxRepeats: 1}}}
	for i := range 4 {
		plan.Trials = append(plan.Trials, lab.PlannedTrial{Number: i + 1, Block: 1 + i/2, Variant: "a", Point: "p"})
	}
	folder, err := store.Create(root, plan, nil)
	testset.Must(t, err)
	file, unopened := folder.Progress()
	testset.Must(t, errors.Join(unopened, folder.Lock()))
	t.Cleanup(folder.Unlock) // the lock is held until then, and not collected as garbage
	t.Cleanup(func() { _ = file.Close() })
	g := goingOn{progress.New(file, progress.JSON, time.Now), folder, file, root, "two/20260102T030405Z-7"}
	g.Begin(plan, 0)
	return g
}

// trial writes the start and the end of a trial.
func (g goingOn) trial(number int, valid bool) {
	g.TrialStarted(lab.PlannedTrial{Number: number, Block: 1, Variant: "a", Point: "p"}, 1)
	g.TrialEnded(lab.Trial{Number: number, Block: 1, Attempt: 1, Variant: "a", Point: lab.Point{Name: "p"},
		Valid: valid, Reason: map[bool]string{false: "<b>worker-7 ended"}[valid]})
}

// seconds returns a writer for the seconds of a trial.
func (g goingOn) seconds(t *testing.T, trial int) *progress.Seconds {
	t.Helper()
	file, err := g.Seconds()
	testset.Must(t, err)
	s := progress.NewSeconds(file)
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it already
	s.Trial(trial, 1)
	return s
}

// finish writes an analysis and ends the run.
func (g goingOn) finish(t *testing.T) {
	t.Helper()
	g.Progress.End()
	text := []byte(`{"schema": "cleave-analysis/2", "trials": {"planned": 4}}`)
	testset.Must(t, g.Write(store.AnalysisFile, text))
	g.Unlock()
}

// follower reads the events of a run.
type follower struct {
	t     *testing.T
	lines *bufio.Scanner
	close func()
	last  string // ID of the last event with an ID
}

// followed opens the events of a run, after the one with the ID last unless that is empty.
func followed(t *testing.T, address, last string) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	request, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	testset.Must(t, err)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	testset.Must(t, err)
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, kind)
	}
	return &follower{t, bufio.NewScanner(response.Body), func() {
		cancel()
		_ = response.Body.Close() // it returns an error, since the request was cancelled
	}, last}
}

// next returns the data of the next event.
func (f *follower) next() string {
	f.t.Helper()
	for f.lines.Scan() {
		if id, is := strings.CutPrefix(f.lines.Text(), "id: "); is {
			f.last = id
		}
		if data, is := strings.CutPrefix(f.lines.Text(), "data: "); is {
			return data
		}
	}
	f.t.Fatalf("no further event: %v", f.lines.Err())
	return ""
}

// wants checks that the next events contain texts, one each.
func (f *follower) wants(texts ...string) {
	f.t.Helper()
	for _, want := range texts {
		if got := f.next(); !strings.Contains(got, want) {
			f.t.Errorf("the next event is %s, want %q in it", got, want)
		}
	}
}

func TestARunIsFollowedToItsEnd(t *testing.T) {
	g := playing(t)
	_, at := serveDir(t, g.root, false)
	f := followed(t, at+"/live/"+g.name, "")
	f.wants(`"event":"begin"`, "playing")
	g.trial(1, false)
	f.wants(`"event":"start"`, `"reason":"\u003cb\u003eworker-7 ended"`)
	f.close()
	g.Note("known so far")
	_, at = serveDir(t, g.root, false) // a new server continues after the ID of the last event
	f = followed(t, at+"/live/"+g.name, f.last)
	f.wants("known so far", "playing")
	_, err := g.file.WriteString("no line of ours\n" +
		`{"event": "note", "text": "a\r\ndata: b\u202e"}` + "\nhalf a line")
	testset.Must(t, err)
	f.wants(`"text":"a\\u000d\ndata: b\\u202e"`)
	g.finish(t)
	f.wants("reported")
	f.close()
	get(t, at+"/live/none", 404)
}

// TestTheCurrentTrialIsFollowed: a page gets each second of the current trial; invalid lines make no events.
func TestTheCurrentTrialIsFollowed(t *testing.T) {
	g := playing(t)
	s := g.seconds(t, 1)
	median := 0.001
	s.Loaded(lab.LoadSecond{Slice: lab.Slice{End: 1, OK: 500, Median: &median}, Failed: 3})
	_, at := serveDir(t, g.root, false)
	f := followed(t, at+"/live/"+g.name, "")
	defer f.close()
	f.wants("begin", "playing", `"attempt":1,"loaded":{"end":1,"ok":500,"p50":0.001,"p99":null,"failed":3}`)
	s.Used(lab.UsedSecond{End: 1, Cores: map[string]float64{"<b>\u202e": 0.5}})
	f.wants(`"used":{"end":1,"cores":{"\u003cb\u003e`)
	s.Trial(2, 1)
	s.Used(lab.UsedSecond{End: 1})
	f.wants(`"trial":2`)
	file, err := g.Seconds()
	testset.Must(t, err)
	var units []string
	for i := range 100 {
		units = append(units, fmt.Sprintf(`"x%d": 1`, i))
	}
	text := "no line\n" + `{"used": {"cores": {` + strings.Join(units, ", ") + "}}}\n"
	_, err = file.WriteString(text)
	testset.Must(t, err)
	if told := f.next(); strings.Count(told, `"x`) != mostUnits || strings.Contains(told, `"x45"`) ||
		!strings.Contains(told, `"x44"`) {
		t.Errorf("a page is told of %d units, want the first %d by name: %s", strings.Count(told, `"x`), mostUnits,
			told)
	}
	if err := errors.Join(file.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// TestAStoppingServerSendsNewEvents: the page of a run that ends together with its server still gets the end.
func TestAStoppingServerSendsNewEvents(t *testing.T) {
	g := playing(t)
	_, at, stop := serveOn(t, g.root, "127.0.0.1:0")
	f := followed(t, "http://"+at+"/live/"+g.name, "")
	defer f.close()
	f.wants("begin", "playing")
	g.finish(t)
	stop()
	f.wants("", `"event":"end"`, "reported")
}

// TestALongRunIsFollowedFromItsLastLines: the size of the first events is limited.
func TestALongRunIsFollowedFromItsLastLines(t *testing.T) {
	g := playing(t)
	for i := range 5000 {
		g.Note(fmt.Sprintf("note %d %s", i, strings.Repeat("x", 100)))
	}
	_, at := serveDir(t, g.root, false)
	f := followed(t, at+"/live/"+g.name, "")
	defer f.close()
	if first := f.next(); strings.Contains(first, "begin") || !strings.Contains(first, "note 4") {
		t.Errorf("the first event is %s", first)
	}
	for {
		if data := f.next(); strings.Contains(data, "note 4999") {
			break
		}
	}
}

// serveOn serves a folder at an address as cleave serve does. stop stops the server.
func serveOn(t *testing.T, root, address string) (s *Server, at string, stop func()) {
	t.Helper()
	shelf, err := store.OpenShelf(root)
	testset.Must(t, err)
	s, err = New(shelf, false)
	testset.Must(t, err)
	listener, _, err := Listen(address)
	testset.Must(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, log.New(os.Stderr, "", 0)) }()
	return s, listener.Addr().String(), func() {
		end()
		if err := errors.Join(<-ended, shelf.Close()); err != nil {
			t.Error(err)
		}
	}
}

// testFollowed checks that the page of a run follows it across a restart of the server, and shows the link to
// its report at the end.
func testFollowed(t *testing.T, ctx context.Context) {
	g := playing(t)
	_, at, stop := serveOn(t, g.root, "127.0.0.1:0")
	p := open(t, ctx, "http://"+at+"/run/"+g.name)
	says := func(selector, text string) {
		t.Helper()
		asked := fmt.Sprintf(`document.querySelector(%q)?.textContent ?? ""`, selector)
		found := ""
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(interval / 10) {
			if found = browsertest.Ask[string](p, asked); strings.Contains(found, text) {
				return
			}
		}
		t.Fatalf("%s says %q, want %q in it", selector, found, text)
	}
	says(".live .done", "0 of 4 trials done")
	g.trial(1, true)
	g.trial(2, false)
	says(".live .done", "1 of 4")
	says(".live .news", "does not count (a at p, attempt 1): <b>worker-7 ended")
	g.Look(1, lab.Headline{Title: "CPU time <b>", Baseline: "a", Bars: []lab.Bar{{Label: "b", Begin: 1,
		Ratio: lab.Ratio{Ratio: 1.5}, Verdict: lab.Slower}}})
	seconds := g.seconds(t, 3)
	median := 0.0012
	for i := range 60 {
		seconds.Loaded(lab.LoadSecond{Slice: lab.Slice{End: float64(i + 1), OK: int64(480 + i%7),
			Median: &median}})
		seconds.Used(lab.UsedSecond{Cores: map[string]float64{"orders": 0.3 + float64(i%5)/50,
			"<img src=x>": 0.1}})
		time.Sleep(10 * time.Millisecond) // otherwise lines would be dropped
	}
	says(".live .soFar figcaption", "So far, after block 1: CPU time <b>")
	says(".live .seconds caption", "Trial 3, second by second")
	says(".live .seconds", "<img src=x>: processors used0.100")
	says(".live .seconds", "right answers48")
	if n := browsertest.Ask[int](p, `document.querySelectorAll(".soFar svg, .seconds path[d]").length`); n != 7 {
		t.Errorf("%d drawings are there, want bars and six courses", n)
	}
	p.Shot("serve-live")
	g.TrialStarted(lab.PlannedTrial{Number: 4, Block: 2, Variant: "a", Point: "p"}, 1)
	says(".live .now", "trial 4: a at p")
	p.Run(chromedp.Poll(`document.querySelector(".live .seconds").hidden`, nil)) // they belong to trial 3
	stop()
	says(".live .now", "The server of this page has ended")
	g.Note("known so far")
	s, _, stop := serveOn(t, g.root, at)
	defer stop()
	says(".live .news", "known so far")
	says(".live .now", "trial 4: a at p")
	p.Forgive() // the browser reports that the server could not be reached
	g.finish(t)
	says(".subtitle", "reported")
	says("main", "The whole report")
	says(".live .now", "Nothing more is played")
	for deadline := time.Now().Add(patience); len(s.busy) > 0; time.Sleep(interval / 10) {
		if time.Now().After(deadline) {
			t.Fatal("the page still follows a run that has ended")
		}
	}
}
