package external

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// audited returns the audit of a running system whose file has these lines.
func audited(t *testing.T, lines string) lab.Audit {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/stock", http.StatusFound)
			return
		}
		if r.URL.Path == "/long" {
			fmt.Fprintf(w, `{"pad": %q, "last": 1}`, strings.Repeat("x", maxAnswer))
			return
		}
		if r.URL.Path == "/half" {
			fmt.Fprint(w, `{"left": 7, "it`)
			return
		}
		if r.URL.Path != "/stock" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `{"left": 7, "id": 9007199254740993, "query": %q,
			"items": [{"name": "tea", "tags": ["a", "b"], "price": 2.50}]}`, r.URL.RawQuery)
	}))
	t.Cleanup(server.Close)
	d := parse(t, "url: "+server.URL+"\n"+lines)
	vault := secret.NewVault(os.LookupEnv)
	testset.Must(t, d.Mask(vault))
	g := loadedtest.Generator{Report: lab.LoadReport{Sent: 9, OK: 8, Errors: map[string]int64{"timeout": 1}}}
	return System{Generator: &g, Secrets: vault, Label: "the-label"}.AuditLive(t.Context(),
		lab.Variant{Name: "it", External: &d.ExternalSystem}, at(Operations, 9), loadedtest.Left(t, "one line"))
}

// TestTheUsersOwnAuditJudges: requests by their answers, and commands by their exit codes (5: a rule is
// broken, 6: undecided). Without an audit the trial is valid.
func TestTheUsersOwnAuditJudges(t *testing.T) {
	for lines, want := range map[string]struct {
		verdict lab.AuditVerdict
		message string
	}{
		"": {lab.AuditValid, ""},
		"audit: {requests: [{get: /stock, json: {left: 7, items.0.name: tea, items.0.tags: [a, b]}}]}": {
			lab.AuditValid, ""},
		"audit: {requests: [{get: /none, status: 404}]}": {lab.AuditValid, ""},
		"audit: {requests: [{get: /moved}]}": {lab.AuditInvalid,
			"GET /moved was answered with 302, expected 200"},
		"audit: {requests: [{get: /stock, json: {left: 8}}]}": {lab.AuditInvalid,
			"GET /stock: left is 7, expected 8"},
		"audit: {requests: [{get: /stock, json: {right: 8}}]}": {
			lab.AuditInvalid, "right is missing, expected 8"},
		"audit: {requests: [{get: /stock, json: {id: 9007199254740993}}]}": {lab.AuditValid, ""},
		"audit: {requests: [{get: /stock, json: {id: 9007199254740992}}]}": {lab.AuditInvalid,
			"id is 9007199254740993, expected 9007199254740992"},
		"audit: {requests: [{get: /stock, json: {items.0: {name: tea, tags: [a, b], price: 2.5}}}]}": {
			lab.AuditValid, ""},
		"audit: {requests: [{get: /long, json: {last: 1}}]}": {lab.AuditUnknown,
			"GET /long: it sends more than 1048576 bytes"},
		"audit: {requests: [{get: /half, json: {left: 7}}]}": {lab.AuditInvalid,
			"GET /half: the answer is no JSON"},
		"audit: {requests: [{get: /none}]}": {
			lab.AuditInvalid, "GET /none was answered with 404, expected 200"},
		`audit: {command: [sh, -c, 'cat "$1"', sh, "{history}"]}`: {
			lab.AuditValid, "said [one line]"},
		`audit: {command: [sh, -c, "echo lost 3; exit 5"]}`: {
			lab.AuditInvalid, "a broken rule: lost 3"},
		`audit: {command: [sh, -c, "exit 5"]}`: {
			lab.AuditInvalid, "it does not say which"},
		`audit: {command: [sh, -c, "echo why >&2; exit 6"]}`: {
			lab.AuditUnknown, "undecided: why"},
		`audit: {command: [sh, -c, "exit 1"]}`: {
			lab.AuditUnknown, "ended with exit status 1"},
		`audit: {command: [sh, -c, "kill -9 $$"]}`: {
			lab.AuditUnknown, "ended with signal: killed"},
		`audit: {command: [sh, -c, "sh -c 'echo in $CLEAVE_RUN'"]}`: {
			lab.AuditValid, "said [in the-label]"},
		`audit: {requests: [{get: "/stock?token=abcdefgh", json: {query: token=abcdefgh}}]}`: {lab.AuditValid, ""},
		`audit: {command: [./none]}`: {
			lab.AuditUnknown, "did not start"},
		`audit: {command: [sh, -c, 'test "$A $CLEAVE_URL" = "b {url}"']}` + "\nenv: {A: b}": {
			lab.AuditValid, ""},
	} {
		got := audited(t, lines)
		messages := fmt.Sprintf("%s said %v", strings.Join(got.Problems, "; "), got.Said)
		if got.Verdict != want.verdict || !strings.Contains(messages, want.message) {
			t.Errorf("%s: %s, %s; want %s and %q", lines, got.Verdict, messages, want.verdict, want.message)
		}
		if undecided := got.Figures[FigureUndecided] == 1; undecided != strings.Contains(lines, "exit 6") {
			t.Errorf("%s: undecided is %t", lines, undecided)
		}
	}
}

// TestAUnitWithoutAnAddressIsNotAudited: nothing else is asked in its place.
func TestAUnitWithoutAnAddressIsNotAudited(t *testing.T) {
	x := lab.ExternalSystem{URL: "http://127.0.0.1:{port}/", Entry: "web"}
	if u, err := addressOf(&x, map[string]string{"db": "127.0.0.1:1"}); err == nil ||
		!strings.Contains(err.Error(), "the unit web has no address") {
		t.Errorf("it is asked at %v, %v", u, err)
	}
	if u, err := addressOf(&x, map[string]string{"web": "127.0.0.1:2"}); err != nil || u.Host != "127.0.0.1:2" {
		t.Errorf("it is asked at %v, %v; want its own address", u, err)
	}
}

// TestARequestStaysOnTheSystem: a plan from elsewhere cannot have another host asked.
func TestARequestStaysOnTheSystem(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	for _, get := range []string{other.URL + "/", strings.TrimPrefix(other.URL, "http:") + "/"} {
		system := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
		violation, err := System{}.ask(t.Context(), &system, lab.AuditRequest{Get: get})
		if err == nil || !strings.Contains(err.Error(), "no path of the system") {
			t.Errorf("%s: %q, %v", get, violation, err)
		}
	}
}

// TestAnAuditIsBounded: its output is limited, and no process of its command stays.
func TestAnAuditIsBounded(t *testing.T) {
	begun := time.Now()
	got := audited(t, "audit: {command: [sh, -c, 'sleep 100 & for i in $(seq 5000); do echo line $i; done']}")
	if len(got.Said) != maxOutputLines || got.Said[maxOutputLines-1] != "line 5000" ||
		time.Since(begun) > 30*time.Second {
		t.Errorf("after %v it said %q", time.Since(begun), got.Said)
	}
}

// TestAnAuditKeepsItsSecrets: they are not in the plan.
func TestAnAuditKeepsItsSecrets(t *testing.T) {
	d := parse(t, `url: http://127.0.0.1:1/
audit:
  command: [audit, --token, abcdefgh]
  requests: [{get: "/stock?token=abcdefgh"}]
  databases: {shop: {driver: mysql, at: "127.0.0.1:1", name: a, user: b}}
  queries: [{rule: a, in: shop, sql: SELECT 1 FROM users WHERE token='abcdefgh', no_rows: true}]`)
	testset.Must(t, d.Mask(secret.NewVault(os.LookupEnv)))
	if text, err := json.Marshal(d.ExternalSystem); err != nil || strings.Contains(string(text), "abcdefgh") {
		t.Errorf("the plan has a secret (%v): %s", err, text)
	}
	// A repetition without the secrets ends before any trial.
	if _, err := laidOut(d, secret.NewVault(func(string) (string, bool) { return "", false })); err == nil ||
		strings.Count(err.Error(), "CLEAVE_MASKED") != 2 { // command and request have the same one
		t.Errorf("without the secrets of command, request and query: %v", err)
	}
}

// TestErrorsOfRequestsKeepSecrets: a URL in an error has them in another form than Conceal knows.
func TestErrorsOfRequestsKeepSecrets(t *testing.T) {
	for get, want := range map[string]string{
		`/stock/token=abc\defgh%zz`: "invalid URL escape", `/stock/token=äbcdefgh`: "refused",
	} {
		d := parse(t, "url: http://127.0.0.1:1/\naudit: {requests: [{get: '"+get+"'}]}")
		vault := secret.NewVault(os.LookupEnv)
		testset.Must(t, d.Mask(vault))
		at := url.URL{Scheme: "http", Host: "127.0.0.1:1"}
		_, err := System{Secrets: vault}.ask(t.Context(), &at, d.Audit.Requests[0])
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "defgh") ||
			!strings.Contains(err.Error(), "CLEAVE_MASKED") {
			t.Errorf("get %s: %v, want %s, without the secret", get, err, want)
		}
	}
}

// TestJSONIsComparedByItsValue checks that numbers are compared as values, and that a text with something
// behind its value is no JSON.
func TestJSONIsComparedByItsValue(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a": [1, 2.0]}`, `{"a":[1,2]}`, true}, {"0", "-0", true},
		{"9007199254740993", "9007199254740992", false},
		{"8abc", "8", false}, {`{"a":1} rest`, `{"a":1}`, false}, {"8", "", false},
	} {
		if sameJSON(c.a, c.b) != c.same || sameJSON(c.b, c.a) != c.same {
			t.Errorf("%s and %s: want %t", c.a, c.b, c.same)
		}
	}
}
