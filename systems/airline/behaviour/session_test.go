package behaviour

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// session sends the requests of one customer to an airline.
type session struct {
	*testing.T
	airline  *Airline
	document *description
	first    int // number of the customer; other takes the next one
	login    string
	token    string
	client   *http.Client
}

// answer is an answer of the system.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// newSession logs the n-th customer in.
func newSession(t *testing.T, a *Airline, n int) *session {
	t.Helper()
	client := &http.Client{
		Timeout:       30 * time.Second,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	document, err := loadDescription()
	testset.Must(t, err)
	s := &session{T: t, airline: a, document: document, first: n, login: login(n), client: client}
	s.token = s.logIn(n)
	return s
}

// other returns a session of the next customer, who belongs to the same check.
func (s *session) other() *session {
	s.Helper()
	return newSession(s.T, s.airline, s.first+1)
}

func (s *session) logIn(n int) string {
	s.Helper()
	got := s.askAs("POST", "/login", "", fmt.Sprintf(`{"login":"c%d","password":"password-%d"}`, n, n))
	var session struct{ Token string }
	if s.wants(got, 200, &session); session.Token == "" {
		s.Fatalf("log in: %s", got)
	}
	return session.Token
}

// String shows an answer for people.
func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

// ask sends a request in the session, through the front.
func (s *session) ask(method, path, body string) answer {
	s.Helper()
	return s.askAs(method, path, s.token, body)
}

// askAs is ask with another token; empty: none.
func (s *session) askAs(method, path, token, body string) answer {
	s.Helper()
	got, err := s.try(s.Context(), method, s.airline.Front+path, token, strings.NewReader(body))
	if err != nil {
		s.Fatalf("%s %.200s: %v", method, path, err)
	}
	return got
}

// askUnit asks a unit itself.
func (s *session) askUnit(unit, method, path, body string) answer {
	s.Helper()
	got, err := s.try(s.Context(), method, s.airline.Units[unit]+path, s.token, strings.NewReader(body))
	if err != nil {
		s.Fatalf("%s %s of %s: %v", method, path, unit, err)
	}
	return got
}

// try sends a request, and checks an answer of the front against the description.
func (s *session) try(ctx context.Context, method, url, token string, body io.Reader) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return s.send(request)
}

func (s *session) send(request *http.Request) (answer, error) {
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{response.StatusCode, response.Header, text}
	// A front that reaches no unit makes an answer itself, which the description does not have.
	ofFront := got.status == http.StatusBadGateway ||
		got.status == http.StatusServiceUnavailable && got.problem() == ""
	if strings.HasPrefix(request.URL.String(), s.airline.Front) && !ofFront {
		if err := s.document.checkAnswer(request, got.status, got.header, text); err != nil {
			s.Errorf("%s %.200s: %s: not as openapi.yaml says: %v", request.Method, request.URL, got, err)
		}
	}
	return got, nil
}

// problem returns the kind of problem in an answer; empty if it has none.
func (a answer) problem() string {
	var document struct{ Type string }
	if !strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") ||
		json.Unmarshal(a.body, &document) != nil {
		return ""
	}
	kind, _ := strings.CutPrefix(document.Type, "/problems/")
	return kind
}

// wants checks the status of an answer, and decodes the answer.
func (s *session) wants(got answer, status int, into any) {
	s.Helper()
	if got.status != status {
		s.Fatalf("%s, want %d", got, status)
	}
	if into == nil {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(got.body))
	if err := decoder.Decode(into); err != nil {
		s.Fatalf("%s: %v", got, err)
	}
}

// statuses returns the statuses of problems.
func statuses() map[string]int {
	return map[string]int{
		"bad-request": 400, "wrong-credentials": 401, "no-session": 401, "not-yours": 403, "unknown-path": 404,
		"unknown-airport": 404,
		"unknown-flight":  404, "unknown-booking": 404, "wrong-method": 405, "already-booked": 409,
		"too-large": 413, "unavailable": 503, "internal": 500,
	}
}

// refused checks that an answer is a problem of a kind, and reveals no internals.
func (s *session) refused(what string, got answer, kind string) {
	s.Helper()
	var document struct {
		Type   string
		Status int
		Detail string
	}
	err := json.Unmarshal(got.body, &document)
	if err != nil || got.problem() != kind || got.status != statuses()[kind] || document.Status != got.status ||
		document.Detail == "" {
		s.Errorf("%s: %s (%s), want the problem %s", what, got, got.header.Get("Content-Type"), kind)
	}
	for _, inside := range []string{"Exception", "goroutine", "node_modules", ".java", ".js:", ".go:", "ECONN",
		"dial tcp"} {
		if strings.Contains(document.Detail, inside) {
			s.Errorf("%s: the detail reveals internals: %q", what, document.Detail)
		}
	}
}

// booking is a booking in an answer.
type booking struct{ ID, Login, Flight, Booked string }

// book books flights and returns the bookings.
func (s *session) book(flights ...string) []booking {
	s.Helper()
	var made struct{ Bookings []booking }
	s.wants(s.ask("POST", "/bookings", order(flights...)), 201, &made)
	return made.Bookings
}

// order returns the body of a booking.
func order(flights ...string) string {
	text, err := json.Marshal(map[string][]string{"flights": flights})
	if err != nil {
		panic(err) // texts can be encoded
	}
	return string(text)
}

// booked returns the customer's bookings.
func (s *session) booked() []booking {
	s.Helper()
	var found struct{ Bookings []booking }
	s.wants(s.ask("GET", "/customers/"+s.login+"/bookings", ""), 200, &found)
	return found.Bookings
}

// flightsOf returns the flights of bookings.
func flightsOf(bookings []booking) []string {
	var flights []string
	for _, b := range bookings {
		flights = append(flights, b.Flight)
	}
	return flights
}
