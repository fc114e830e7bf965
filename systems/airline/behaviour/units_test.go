package behaviour

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
)

// answersUnits sends units the requests of the front, and those that they send to each other.
func answersUnits(s *session) {
	for name := range s.airline.Units {
		if got := s.askUnit(name, "GET", "/health", ""); got.status != 200 || string(got.body) != "ok\n" ||
			!strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
			s.Errorf("health of %s: %s", name, got)
		}
		s.refused("a path that no unit has, at "+name, s.askUnit(name, "GET", "/internal/nothing", ""),
			"unknown-path")
	}
	made := s.book("ATH-AMS-20260227-1", "ATH-AMS-20260227-2")
	if listed := s.stored(); !slices.Contains(listed, made[0]) || !slices.Contains(listed, made[1]) {
		s.Errorf("%+v are not among the %d that are stored", made, len(listed))
	}
	if s.airline.Hosting(Auth) == Monolith {
		return
	}
	var session struct {
		Login   string
		Expires time.Time
	}
	s.wants(s.askUnit(Auth, "GET", "/internal/sessions/"+s.token, ""), 200, &session)
	if session.Login != s.login || time.Until(session.Expires) < 25*time.Minute {
		s.Errorf("auth says of a session: %+v", session)
	}
	if got := s.askUnit(Auth, "GET", "/internal/sessions/"+strings.Repeat("0", 32), ""); got.status != 404 ||
		got.problem() != "no-session" {
		s.Errorf("auth says of no session: %s", got)
	}
	if got := s.askUnit(Customers, "POST", "/internal/check",
		`{"login":"c1","password":"password-1"}`); got.status != 204 {
		s.Errorf("customers says of a password: %s", got)
	}
	s.refused("a wrong password", s.askUnit(Customers, "POST", "/internal/check",
		`{"login":"c1","password":"x"}`), "wrong-credentials")
	var f flight
	s.wants(s.askUnit(Flights, "GET", "/internal/flights/ATH-AMS-20260227-1", ""), 200, &f)
	if !sameFlights([]flight{f}, expected("ATH", "AMS", "2026-02-27", 67)[:1]) {
		s.Errorf("flights says of a flight: %+v", f)
	}
	s.refused("an unknown flight", s.askUnit(Flights, "GET", "/internal/flights/ATH-AMS-20260227-99", ""),
		"unknown-flight")
	s.refused("what another unit has", s.askUnit(Flights, "POST", "/login", ""), "unknown-path")
}

// stored returns all bookings, as the audit reads them.
func (s *session) stored() []booking {
	s.Helper()
	got := s.askUnit(s.airline.Hosting(Bookings), "GET", "/internal/bookings", "")
	if got.status != 200 || !strings.HasPrefix(got.header.Get("Content-Type"), "application/x-ndjson") {
		s.Fatalf("all bookings: %s (%s)", got, got.header.Get("Content-Type"))
	}
	var all []booking
	for lines := bufio.NewScanner(bytes.NewReader(got.body)); lines.Scan(); {
		var b booking
		if err := json.Unmarshal(lines.Bytes(), &b); err != nil {
			s.Fatalf("all bookings: %q: %v", lines.Text(), err)
		}
		all = append(all, b)
	}
	return all
}

const (
	// slowest is the time after which the suite gives up a request that should have been ended.
	slowest = 20 * time.Second
	// slowAtOnce is the number of concurrent slow requests.
	slowAtOnce = 60
)

// endsSlowRequests sends a unit requests that never end, past the front, which would hold some of them back.
func endsSlowRequests(s *session) {
	testset.Need(s, "slow requests take 10 seconds each")
	if s.airline.SkipSlow {
		s.Skip("this airline is sent slow requests by other tests")
	}
	base := s.airline.Units[s.airline.Hosting(Flights)]
	host := strings.TrimPrefix(base, "http://")
	starts := [][2]string{ // what is sent first, and each second after that
		{"GET /flights HTTP/1.1\r\nHost: airline\r\n", "X-Slow: yes\r\n"}, // a header without an end
		{"GET /flights?from=AMS&to=ATH&date=2026-02-27 HTTP/1.1\r\nHost: airline\r\nAuthorization: Bearer " +
			s.token + "\r\nContent-Length: 100\r\n\r\n{", "x"},
	}
	var slow sync.WaitGroup
	for i := range slowAtOnce {
		connection, err := net.Dial("tcp", host)
		testset.Must(s, err)
		slow.Go(func() {
			defer func() { _ = connection.Close() }() // the unit has closed it, or should have
			start := starts[i%len(starts)]
			s.slowRequest(connection, start[0], start[1])
		})
	}
	for range 20 { // other requests are not delayed
		begun := time.Now()
		if got := s.askUnit(s.airline.Hosting(Flights), "GET", "/flights?from=AMS&to=ATH&date=2026-02-27",
			""); got.status != 200 || time.Since(begun) > 3*time.Second {
			s.Errorf("beside slow requests, after %s: %s", time.Since(begun), got)
		}
		time.Sleep(100 * time.Millisecond)
	}
	slow.Wait()
}

// slowRequest sends a little each second after the start of a request.
func (s *session) slowRequest(connection net.Conn, start, little string) {
	begun := time.Now()
	if _, err := io.WriteString(connection, start); err != nil {
		s.Error(err)
		return
	}
	ended := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(connection) // a reset ends the request, too
		ended <- text
	}()
	for tick := time.NewTicker(time.Second); ; {
		select {
		case text := <-ended:
			tick.Stop()
			took := time.Since(begun)
			if took < 8*time.Second || len(text) > 0 && !bytes.HasPrefix(text, []byte("HTTP/1.1 408")) {
				s.Errorf("a slow request was ended after %s with %.100q", took, text)
			}
			return
		case <-tick.C:
			if time.Since(begun) > slowest {
				s.Errorf("a slow request was not ended within %s", slowest)
				tick.Stop()
				return
			}
			_, _ = io.WriteString(connection, little) // the reader notices the end
		}
	}
}

// reportsMissingPart kills units that others ask: these must answer "unavailable" soon, and recover.
func reportsMissingPart(s *session) {
	if s.airline.Hosting(Auth) == Monolith {
		s.Skip("a monolith asks no other unit")
	}
	const query = "/flights?from=AMS&to=ATH&date=2026-02-27"
	for _, c := range []struct{ killed, method, path, body string }{
		{Flights, "POST", "/bookings", order("ATH-BOM-20260227-1")},
		{Customers, "POST", "/login", `{"login":"c1","password":"password-1"}`},
		{Auth, "GET", query, ""},
	} {
		testset.Must(s, s.airline.Kill(c.killed))
		for range 3 {
			begun := time.Now()
			s.refused("without "+c.killed, s.ask(c.method, c.path, c.body), "unavailable")
			if took := time.Since(begun); took > soon {
				s.Errorf("without %s it took %s to say so", c.killed, took)
			}
		}
		testset.Must(s, s.airline.Restart(c.killed))
		got := s.ask(c.method, c.path, c.body)
		for begun := time.Now(); got.problem() == "unavailable" &&
			time.Since(begun) < s.airline.Reconnect; time.Sleep(20 * time.Millisecond) {
			got = s.ask(c.method, c.path, c.body)
		}
		if got.status >= http.StatusMultipleChoices {
			s.Errorf("%s is back: %s", c.killed, got)
		}
	}
	if got := s.ask("GET", query, ""); got.status != 200 {
		s.Errorf("in the session from before the kills: %s", got)
	}
}
