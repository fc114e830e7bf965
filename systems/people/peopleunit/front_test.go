package peopleunit

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
)

// TestFrontsAnswerAlike sends the same requests to both fronts over one database: some that the lean front
// answers itself, and others that it leaves to net/http.
func TestFrontsAnswerAlike(t *testing.T) {
	folder := t.TempDir()
	key := make([]byte, 16)
	stock := start(t, architecture.Monolith, nil, folder, key)
	lean := start(t, architecture.Monolith, map[string]string{architecture.KnobFront: architecture.Lean}, folder,
		key)
	id := stock.create(t, people.Persons)
	for _, line := range []string{
		"GET /persons/" + id, "HEAD /persons/" + id, "GET /persons/" + id + "?x=1",
		"GET /persons/%" + fmt.Sprintf("%x", id[0]) + id[1:],
		"GET /persons/" + id + "/", "GET /persons/" + strings.ToUpper(id), "GET /persons", "GET /persons/",
		"GET //persons/" + id,
		"GET /addresses/" + id, "POST /persons", "POST /persons/", "POST /persons/" + id, "DELETE /persons/" + id,
		"PUT /profiles",
		"GET /health", "HEAD /health", "GET /page.js", "GET /nothing",
	} {
		if got, want := lean.exchange(t, line, ""), stock.exchange(t, line, ""); got != want {
			t.Errorf("%s\nlean  %s\nstock %s", line, got, want)
		}
	}
	made := lean.exchange(t, "POST /persons", `{"firstName":"\u003cAda\u003e","lastName":"L\"ovelace"}`)
	_, at, _ := strings.Cut(made, `Location: `)
	at, _, _ = strings.Cut(at, "\n")
	if !strings.HasPrefix(made, "HTTP/1.1 201 ") ||
		!strings.Contains(made, `{"id":"`+strings.TrimPrefix(at, "/persons/")+`"}`) {
		t.Errorf("the answer to a creation is %s", made)
	}
	if got, want := lean.exchange(t, "GET "+at, ""), stock.exchange(t, "GET "+at, ""); got != want ||
		!strings.Contains(got, `L\"ovelace`) {
		t.Errorf("%s\nlean  %s\nstock %s", at, got, want)
	}
}

// TestFrontsLogAlike: each request of a client, and each call of another unit, has a line.
func TestFrontsLogAlike(t *testing.T) {
	for _, front := range []string{"stock", architecture.Lean} {
		s := start(t, architecture.Services, map[string]string{architecture.KnobFront: front,
			kit.KnobLogging: kit.LogRequests}, t.TempDir(), make([]byte, 16))
		id := s.create(t, people.Persons)
		s.exchange(t, "GET /persons/"+id, "")
		s.exchange(t, "DELETE /persons/"+id, "")
		lines := []string{`"unit":"gateway","operation":"POST /persons","status":201`,
			`"unit":"gateway","operation":"GET /persons/{id}","status":200`,
			`"unit":"gateway","operation":"DELETE","status":405`,
			`"unit":"persons","operation":"/cleave.people.v1.Records/Create","status":"ok"`,
			`"unit":"persons","operation":"/cleave.people.v1.Records/Fetch","status":"ok"`}
		text := s.requests.String()
		if got := strings.Count(text, "\n"); got != len(lines) || strings.Contains(text, id) {
			t.Errorf("%s: %d lines, want %d without the id: %s", front, got, len(lines), text)
		}
		for _, want := range lines {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no line has %s: %s", front, want, text)
			}
		}
	}
}

// TestFrontsTraceAlike: the trace of a request has the call of the component that keeps the records, in the
// same unit and in another one.
func TestFrontsTraceAlike(t *testing.T) {
	for _, placement := range []string{kit.Together, "gateway+addresses"} {
		for _, front := range []string{"stock", architecture.Lean} {
			s := start(t, architecture.Services, map[string]string{architecture.KnobFront: front,
				architecture.KnobPlacement: placement, kit.KnobSpans: kit.SpansAll}, t.TempDir(), make([]byte, 16))
			s.create(t, people.Persons)
			want := []string{"gateway POST /persons", "persons Records/Create"}
			if first, calls := hostingtest.OneTrace(t, s.tracers); first != "POST /persons" ||
				!slices.Equal(calls, want) {
				t.Errorf("%s, %s: the trace begins with %q and has the calls %q, want %q", placement, front, first,
					calls, want)
			}
		}
	}
}

// TestOnlyFetchingIsRetried: creating twice would store two records. The clients of units also get the knob
// of balancing.
func TestOnlyFetchingIsRetried(t *testing.T) {
	design, err := architecture.New(architecture.Services, map[string]string{kit.KnobResilience: kit.Retries,
		kit.KnobBalancing: kit.TwoChoices})
	testset.Must(t, err)
	u, err := Open(t.Context(), design, architecture.UnitGateway, Place{Key: make([]byte, 16),
		Peer: func(string) (string, error) { return hostingtest.Nobody(t), nil }})
	testset.Must(t, err)
	defer func() { _ = u.Close() }() // it has made no connection
	persons := u.keepers[people.Persons]
	ctx := t.Context()
	for what, c := range map[string]struct {
		call func() error
		want int64
	}{
		"create": {func() error { _, err := persons.Create(ctx, &peoplepb.CreateRequest{}); return err }, 1},
		"fetch":  {func() error { _, err := persons.Fetch(ctx, &peoplepb.FetchRequest{}); return err }, 4},
	} {
		hostingtest.WantAttempts(t, u.Calls.Guards, what, c.want, c.call)
	}
	if u.Calls.Balancing != rpc.TwoChoices {
		t.Errorf("replicas are chosen by %v", u.Calls.Balancing)
	}
}

// exchange sends a request with this first line and returns the answer: status line, sorted fields without
// the date, and body.
func (s *system) exchange(t *testing.T, line, body string) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	testset.Must(t, err)
	defer func() { _ = connection.Close() }()
	_, err = fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: people\r\nConnection: close\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	testset.Must(t, err)
	answer, err := io.ReadAll(connection)
	testset.Must(t, err)
	head, text, _ := strings.Cut(string(answer), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	fields := slices.DeleteFunc(lines[1:], func(field string) bool { return strings.HasPrefix(field, "Date: ") })
	slices.Sort(fields)
	return lines[0] + "\n" + strings.Join(fields, "\n") + "\n" + text
}
