package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/store"
)

// venom is a part of every text of a hostile run.
const venom = `"><img src=x onerror=alert(1)><script>alert(1)</script>` + "\u202e\x1b[2J"

// folderOfRuns makes n runs with a report, a minute apart, and returns their folder.
func folderOfRuns(t *testing.T, n int, change func(*lab.Plan, *lab.Analysis)) string {
	t.Helper()
	data, err := os.ReadFile("../testdata/three-variants.json")
	testset.Must(t, err)
	var concluded lab.Analysis
	testset.Must(t, json.Unmarshal(data, &concluded))
	plan := lab.Plan{Schema: lab.PlanSchema, Created: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC),
		Study: lab.Study{Name: concluded.Study, Title: concluded.Title, Question: "Which?",
			Variants: concluded.Variants}}
	if change != nil {
		change(&plan, &concluded)
	}
	root := t.TempDir()
	first, err := store.Create(root, plan, concluded.Environment)
	testset.Must(t, err)
	var page, document bytes.Buffer
	testset.Must(t, report.HTML(&page, concluded))
	testset.Must(t, report.JSON(&document, concluded))
	planText, err := os.ReadFile(first.Path("plan.json"))
	testset.Must(t, errors.Join(err, first.Write(store.AnalysisFile, document.Bytes()),
		first.Write(store.ReportFile, page.Bytes())))
	for i := 1; i < n; i++ {
		created := plan.Created.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		dir := filepath.Join(filepath.Dir(first.Dir()), fmt.Sprintf("run-%04d", i))
		text := bytes.Replace(planText, []byte("2026-01-02T03:00:00Z"), []byte(created), 1)
		err := os.Mkdir(dir, 0o700)
		for _, name := range []string{store.AnalysisFile, store.ReportFile, "environment.json"} {
			err = errors.Join(err, os.Link(first.Path(name), filepath.Join(dir, name)))
		}
		testset.Must(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "plan.json"), text, 0o600)))
	}
	return root
}

// serveDir serves a folder, and returns the server with its address.
func serveDir(t *testing.T, root string, private bool) (*Server, string) {
	t.Helper()
	shelf, err := store.OpenShelf(root)
	testset.Must(t, err)
	s, err := New(shelf, private)
	testset.Must(t, err)
	server := httptest.NewServer(s.handler())
	t.Cleanup(func() {
		server.Close()
		if err := shelf.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, server.URL
}

// ask sends a request and returns the status, the headers and the body of the answer. It follows no
// redirects.
func ask(t *testing.T, method, address string, form url.Values, head ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	testset.Must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(head); i += 2 {
		if request.Header.Set(head[i], head[i+1]); head[i] == "Host" {
			request.Host = head[i+1]
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	testset.Must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	testset.Must(t, err)
	return response.StatusCode, response.Header, string(body)
}

// get gets a page, checks its status and returns it.
func get(t *testing.T, address string, want int) string {
	t.Helper()
	code, _, body := ask(t, "GET", address, nil)
	if code != want {
		t.Errorf("%s: status %d, want %d: %.300s", address, code, want, body)
	}
	return body
}

func TestRunsAreListedShownAndCompared(t *testing.T) {
	_, at := serveDir(t, folderOfRuns(t, 3, nil), false)
	list := get(t, at+"/", 200)
	names := regexp.MustCompile(`name="run" value="([^"]+)"`).FindAllStringSubmatch(list, -1)
	if len(names) != 3 || !strings.HasSuffix(names[0][1], "run-0002") {
		t.Fatalf("the list has %v", names)
	}
	for _, want := range []string{"Which?", "reported", "x ["} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	first, last := names[2][1], names[0][1]
	if page := get(t, at+"/run/"+last, 200); !strings.Contains(page, "/report/"+last) {
		t.Error("a run does not lead to its report")
	}
	if page := get(t, at+"/report/"+last, 200); !strings.Contains(page, `id="analysis"`) {
		t.Error("the page is not the report of the run")
	}
	query := url.Values{"run": {last, first}}.Encode()
	page := get(t, at+"/compare?"+query, 200)
	if !strings.Contains(page, "<h1>"+last+" against "+first) || !strings.Contains(page, "What has changed") {
		t.Errorf("compared are %.900s", page)
	}
	for path, want := range map[string]int{"/compare?run=" + first: 422, "/compare?run=a&run=" + first: 404,
		"/run/none": 404, "/report/../../etc": 404, "/report/..%2f..%2fetc%2fpasswd": 404, "/none": 404} {
		code, _, _ := ask(t, "GET", at+path, nil)
		if code != want && code != http.StatusTemporaryRedirect && code != http.StatusMovedPermanently {
			t.Errorf("%s: status %d, want %d", path, code, want)
		}
	}
}

// TestTheHeadlineOverRuns checks the page of the history of a headline.
func TestTheHeadlineOverRuns(t *testing.T) {
	_, at := serveDir(t, folderOfRuns(t, 12, nil), false)
	list := get(t, at+"/", 200)
	name := regexp.MustCompile(`name="run" value="([^"]+)"`).FindStringSubmatch(list)[1]
	if page := get(t, at+"/run/"+name, 200); !strings.Contains(page, `href="/history/`+name) {
		t.Error("a run does not lead to its history")
	}
	page := get(t, at+"/history/"+name, 200)
	for _, want := range []string{"over 12 runs", "Its level does not change", "data-history=",
		"2026-01-02 03:11"} {
		if !strings.Contains(page, want) {
			t.Errorf("the history lacks %q: %.3000s", want, page)
		}
	}
	get(t, at+"/history/none", 404)
	_, at = serveDir(t, folderOfRuns(t, 1, nil), false)
	link := regexp.MustCompile(`/run/[^"]+`).FindString(get(t, at+"/", 200))
	page = get(t, at+strings.Replace(link, "/run/", "/history/", 1), 200)
	if !strings.Contains(page, "over 1 run<") || !strings.Contains(page, "1 of 1 run compared it") {
		t.Errorf("the history of one run: %.3000s", page)
	}
	playing := playing(t)
	_, at = serveDir(t, playing.root, false)
	get(t, at+"/history/"+playing.name, 422)
}

func TestNotesNeedTheForm(t *testing.T) {
	s, at := serveDir(t, folderOfRuns(t, 1, nil), false)
	runs, _, err := s.shelf.Runs()
	testset.Must(t, err)
	address := at + "/notes/" + runs[0].Name
	form := url.Values{"form": {s.form}, "tags": {" base, , base,v2 "}, "text": {"a\r\nb"}}
	post := func(want int, why string, form url.Values, head ...string) {
		t.Helper()
		if code, _, body := ask(t, "POST", address, form, head...); code != want {
			t.Errorf("%s: status %d, want %d: %s", why, code, want, body)
		}
	}
	post(403, "no value of the form", url.Values{"tags": {"x"}})
	post(403, "another origin", form, "Origin", "http://evil.example")
	post(403, "a sandboxed page", form, "Origin", "null")
	post(403, "another site", form, "Sec-Fetch-Site", "cross-site")
	post(422, "a long note", url.Values{"form": {s.form}, "text": {strings.Repeat("x", 20_000)}})
	post(400, "a longer form", url.Values{"form": {s.form}, "text": {strings.Repeat("x", 2*mostForm)}})
	if run, err := s.shelf.Run(runs[0].Name); err != nil || run.Notes.Text != "" {
		t.Errorf("refused notes were kept: %+v, %v", run.Notes, err)
	}
	post(303, "a change", form, "Origin", at)
	run, err := s.shelf.Run(runs[0].Name)
	if err != nil || fmt.Sprint(run.Notes.Tags) != "[base v2]" || run.Notes.Text != "a\nb" {
		t.Errorf("kept are %+v, %v", run.Notes, err)
	}
}

func TestOthersAreRefused(t *testing.T) {
	root := folderOfRuns(t, 1, nil)
	_, at := serveDir(t, root, false)
	for host, want := range map[string]int{"evil.example": 421, "127.0.0.1.evil.example:8600": 421,
		"localhost:8600": 200, "[::1]:8600": 200} {
		if code, _, _ := ask(t, "GET", at+"/", nil, "Host", host); code != want {
			t.Errorf("asked as %s: status %d, want %d", host, code, want)
		}
	}
	s, at := serveDir(t, root, true)
	code, head, _ := ask(t, "GET", at+"/?token="+s.token, nil)
	if code != 303 || head.Get("Location") != "/" || !strings.Contains(head.Get("Set-Cookie"), "HttpOnly") {
		t.Errorf("with the token: status %d, %v", code, head)
	}
	name, _, _ := strings.Cut(head.Get("Set-Cookie"), "=")
	for _, head := range [][]string{nil, {"Cookie", name + "=no"}, {"Cookie", "cleave-token-1=" + s.token}} {
		if code, _, _ := ask(t, "GET", at+"/", nil, head...); code != 403 {
			t.Errorf("without the token: status %d", code)
		}
	}
	if code, _, _ := ask(t, "GET", at+"/", nil, "Cookie", name+"="+s.token); code != 200 {
		t.Errorf("with the cookie: status %d", code)
	}
}

func TestOnlyLoopbackNeedsNoToken(t *testing.T) {
	for address, want := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		listener, private, err := Listen(address)
		if err != nil || private != want {
			t.Errorf("%s: private is %t, %v; want %t", address, private, err, want)
		}
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, address := range []string{"", "8600", "host.example:8600"} {
		if _, _, err := Listen(address); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

func TestPoliciesOfPages(t *testing.T) {
	_, at := serveDir(t, folderOfRuns(t, 1, nil), false)
	for path, want := range map[string]string{"/": "script-src 'self'", "/none": "script-src 'self'",
		"/report/" + "three-variants/20260102T030000Z-0": "sandbox allow-scripts allow-downloads allow-modals;"} {
		_, head, _ := ask(t, "GET", at+path, nil)
		policy := head.Get("Content-Security-Policy")
		if !strings.Contains(policy, want) || !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "allow-same-origin") || head.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
}

// hostileRuns makes a folder whose runs an attacker wrote.
func hostileRuns(t *testing.T) string {
	return folderOfRuns(t, 2, func(p *lab.Plan, a *lab.Analysis) {
		p.Study.Title = venom
		p.Study.Question = venom
		p.Study.Variants = []lab.Variant{{Name: venom}}
		a.Answer.Sentence = venom
		a.Title = venom
		a.Answer.Headline = &lab.Headline{Title: venom, Bars: []lab.Bar{{Label: venom, Metric: venom}}}
		a.Environment["cpu_model"] = lab.Fact{Value: venom}
		for i := range a.Results {
			a.Results[i].Variant = venom
			a.Results[i].Point.Name = venom
		}
	})
}

func TestHostileTextsStayTexts(t *testing.T) {
	root := hostileRuns(t)
	study, err := filepath.Glob(filepath.Join(root, "*"))
	if err == nil {
		err = os.Rename(filepath.Join(study[0], "run-0001"), filepath.Join(study[0], `a "<img>?#%2f`+"\u202e"))
	}
	testset.Must(t, err)
	_, at := serveDir(t, root, false)
	list := get(t, at+"/", 200)
	links := regexp.MustCompile(`href="(/run/[^"]+)"`).FindAllStringSubmatch(list, -1)
	if len(links) != 2 {
		t.Fatalf("%d runs are listed: %s", len(links), list)
	}
	pages := []string{list}
	names := url.Values{}
	for _, link := range links {
		pages = append(pages, get(t, at+link[1], 200),
			get(t, at+strings.Replace(link[1], "/run/", "/report/", 1), 200))
		name, err := url.PathUnescape(strings.TrimPrefix(link[1], "/run/"))
		testset.Must(t, err)
		names.Add("run", name)
	}
	pages = append(pages, get(t, at+"/compare?"+names.Encode(), 200),
		get(t, at+strings.Replace(links[0][1], "/run/", "/history/", 1), 200))
	for i, page := range pages {
		if strings.Contains(page, "<img") || strings.Contains(page, "<script>alert") ||
			strings.Contains(page, "\x1b") {
			t.Errorf("page %d has elements of a text: %.2000s", i, page)
		}
	}
}

// lossy is a shelf that says that it left out runs and trials. A folder large enough for that would be too
// large for a test.
type lossy struct{ Shelf }

func (s lossy) Runs() ([]lab.ListedRun, lab.LeftOut, error) {
	runs, _, err := s.Shelf.Runs()
	return runs, lab.LeftOut{Beyond: 11, Unread: 12, Unseen: true}, err
}

func (s lossy) Past(name string) ([]lab.PastRun, lab.LeftOut, error) {
	_, _, err := s.Shelf.Past(name)
	return nil, lab.LeftOut{Unread: 13, Unseen: true}, err
}

func (s lossy) Trials(run string) ([]lab.ListedTrial, lab.LeftOut, error) {
	trials, _, err := s.Shelf.Trials(run)
	return trials, lab.LeftOut{Beyond: 14, Unread: 15, Unseen: true}, err
}

// TestPagesSayWhatTheyLeftOut if a folder has more runs or trials than a page shows.
func TestPagesSayWhatTheyLeftOut(t *testing.T) {
	s, at := serveDir(t, folderOfRuns(t, 1, nil), false)
	s.shelf = lossy{s.shelf}
	list := get(t, at+"/", 200)
	name := regexp.MustCompile(`name="run" value="([^"]+)"`).FindStringSubmatch(list)[1]
	for page, want := range map[string][]string{
		list:                             {"shown: 11 older runs.", "Not read: 12 older runs.", "may be missing"},
		get(t, at+"/history/"+name, 200): {"Not read: 13 older runs.", "Runs may be missing"},
		get(t, at+"/trials?run="+name, 200): {"Not shown: 14 further trials of", "Not read: 15 trials of",
			"may be missing"},
	} {
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("a page lacks %q: %.2000s", words, page)
			}
		}
	}
}
