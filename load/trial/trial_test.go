package trial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

const ms = scenario.Duration(time.Millisecond)

// specFor returns an open load of 40 operations in 400 ms.
func specFor(t *testing.T, url string) Spec {
	t.Helper()
	file, err := Request{URL: url}.Scenario()
	testset.Must(t, err)
	file.Seed = 1
	return Spec{
		Scenario: file, Load: scenario.Load{Rate: "100", Duration: 400 * ms}, Connections: 4,
		// The tests share their processor with others.
		Timeout: scenario.Duration(5 * time.Second),
	}
}

// serve serves HTTP/1.1 and HTTP/2 in clear text and returns the URL.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	return serveAt(t, listen(t), handler)
}

// listen listens until the test ends.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func serveAt(t *testing.T, listener net.Listener, handler http.HandlerFunc) string {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, Protocols: &protocols}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

func fine(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }

func prepare(t *testing.T, s Spec) *Trial {
	t.Helper()
	prepared, err := s.Prepare(t.Context())
	testset.Must(t, err)
	return prepared
}

func play(t *testing.T, s Spec) Outcome {
	t.Helper()
	o, err := prepare(t, s).Play(t.Context(), Hooks{})
	testset.Must(t, err)
	return o
}

func TestSummaryAddsUp(t *testing.T) {
	url := serve(t, fine)
	users := specFor(t, url)
	users.Load = scenario.Load{Users: 3, Think: 10 * ms, Duration: 400 * ms}
	random := specFor(t, url)
	random.Load.Arrivals = poisson
	checked := specFor(t, url)
	checked.Scenario.Flows[0].Steps[0].Expect = scenario.Expect{Body: []string{"fine"}}
	loops := specFor(t, url)
	loops.Loops = 2
	oneUse := specFor(t, url)
	oneUse.OneUse = true
	secondUsers := users
	secondUsers.Loops = 0
	users.Loops = 2
	for name, s := range map[string]Spec{"open": specFor(t, url), "users": users, "poisson": random,
		"checked": checked, "loops": loops, "one use": oneUse, "one loop of users": secondUsers} {
		t.Run(name, func(t *testing.T) {
			o := play(t, s)
			sum := o.Summary
			closed := s.Load.Users > 0
			if sum.Sent == 0 || sum.Sent != sum.OK+sum.InFlight || len(sum.Errors) != 0 {
				t.Errorf("%d sent, %d ok, %d in flight, errors %v", sum.Sent, sum.OK, sum.InFlight, sum.Errors)
			}
			if (sum.OfferedRate == nil) != closed || (sum.Closed == nil) != !closed {
				t.Errorf("offered rate %v, closed %v", sum.OfferedRate, sum.Closed)
			}
			if sum.Closed != nil && sum.Closed.Implied <= 0 {
				t.Errorf("Little's law finds %g users", sum.Closed.Implied)
			}
			if (len(sum.Unchecked) == 0) != (name == "checked") {
				t.Errorf("unchecked operations are %v", sum.Unchecked)
			}
			if g := sum.Generator; g.PeakMemory == 0 || g.CPUSeconds <= 0 || g.Pacing != "exact" ||
				g.Loops != max(1, s.Loops) || g.CPUPerOperation == nil {
				t.Errorf("generator is %+v", g)
			}
			if !closed && name != "poisson" && (sum.Sent+sum.Unsent != 40 || *sum.OfferedRate < 99.9 ||
				*sum.OfferedRate > 100.1) {
				t.Errorf("%d sent and %d unsent, want 40; %g/s offered, want 100/s", sum.Sent, sum.Unsent,
					*sum.OfferedRate)
			}
		})
	}
}

func TestTargetsNobodyPermittedGetNoLoad(t *testing.T) {
	for _, url := range []string{"http://192.0.2.1/", "http://169.254.169.254/", "https://8.8.8.8:81/",
		"grpc://198.51.100.1:90/a.B/C"} {
		_, err := specFor(t, url).Prepare(t.Context())
		var refusal *consent.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: error %v, want a refusal", url, err)
		}
	}
}

// TestTheProofComesFromItsAddress: the request for the proof goes to that address with the name in its
// header, and a redirect is not followed.
func TestTheProofComesFromItsAddress(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == consent.ProofPath && r.Host == "shop.test:8080" {
			_, _ = io.WriteString(w, token)
			return
		}
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	})
	address := netip.MustParseAddrPort(strings.TrimPrefix(url, "http://"))
	proof := consent.Proof{Address: address, Scheme: "http", Host: "shop.test", Path: consent.ProofPath}
	shop := &Trial{at: destination{host: "shop.test:8080"}}
	if text, err := shop.fetchProof(t.Context(), proof); err != nil || string(text) != token {
		t.Errorf("proof %q, error %v", text, err)
	}
	other := &Trial{at: destination{host: "other.test:8080"}}
	if _, err := other.fetchProof(t.Context(), proof); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("error %v, want that a redirect is not followed", err)
	}
}

func TestMistakesOfASpec(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"neither": {func(s *Spec) { s.Load.Rate = "" }, "no load"},
		"both":    {func(s *Spec) { s.Load.Users = 1 }, "rate and users exclude"},
		"long ramp-up": {func(s *Spec) {
			s.Load = scenario.Load{Users: 4, RampUp: 400 * ms, Duration: 400 * ms}
		}, "ramp-up of 400ms is not shorter"},
		"arrivals": {func(s *Spec) { s.Load.Arrivals = "uniform" }, `arrivals "uniform"`},
		"arrivals of user": {func(s *Spec) { s.Load = scenario.Load{Users: 4, Arrivals: poisson} },
			"arrivals belong to an open loop"},
		"think":  {func(s *Spec) { s.Load.Think = ms }, "belong to users"},
		"oracle": {func(s *Spec) { s.Scenario.Flows[0].Steps[0].Expect.Status = "x" }, `"x"`},
		"header": {func(s *Spec) { s.Scenario.Flows[0].Steps[0].Headers = map[string]string{"a b": "c"} },
			"a b"},
		"scheme":    {func(s *Spec) { s.Target = "ftp://127.0.0.1" }, `scheme "ftp"`},
		"name":      {func(s *Spec) { s.Target = "http://127.1" }, "127.1"},
		"no target": {func(s *Spec) { s.Scenario.Target = "" }, "no target"},
		"password":  {func(s *Spec) { s.Target = "http://a:b@127.0.0.1" }, "holds a user name or a password"},
		"query":     {func(s *Spec) { s.Target = "http://127.0.0.1?a=b" }, "neither a query"},
		"port":      {func(s *Spec) { s.Target = "http://127.0.0.1:0" }, `port "0"`},
		"loops":     {func(s *Spec) { s.Loops = 5 }, "4 connections cannot be shared out among 5 loops"},
		"connections": {func(s *Spec) { s.Connections = 100_000_000 },
			"100000000 connections are too many: use at most 200000"},
		"users": {func(s *Spec) { s.Load = scenario.Load{Users: 100_000_000} },
			"100000000 users are too many: use at most 200000"},
		"many streams": {func(s *Spec) { s.Streams = 100_000_000 },
			"100000000 streams on a connection: use 1 to 10000"},
		"no loops": {func(s *Spec) { s.Loops = -1 }, "-1 loops: use 1 to 64"},
		"loops of TLS": {func(s *Spec) { s.Loops, s.Target = 2, "https://127.0.0.1" },
			"loops are for plain HTTP/1.1"},
		"protocol":     {func(s *Spec) { s.Protocol = "spdy" }, "spdy"},
		"grpc":         {func(s *Spec) { s.Target = "grpc://127.0.0.1" }, "every step needs a method"},
		"descriptors":  {func(s *Spec) { s.ProtoSet = []byte("x") }, "no step calls a method"},
		"streams":      {func(s *Spec) { s.Streams = 2 }, "streams belong to"},
		"certificates": {func(s *Spec) { s.Roots = []byte("x") }, "PEM"},
		"pacing":       {func(s *Spec) { s.Pacing = "x" }, `pacing "x"`},
		"part":         {func(s *Spec) { s.Part, s.Of = 2, 2 }, "no part 2 of 2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := specFor(t, "http://127.0.0.1:1/")
			c.change(&s)
			if _, err := s.Prepare(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestNobodyListensIsAnError(t *testing.T) {
	listener := listen(t)
	url := "http://" + listener.Addr().String() + "/"
	testset.Must(t, listener.Close())
	o, err := prepare(t, specFor(t, url)).Play(t.Context(), Hooks{})
	var unreachable *engine.UnreachableError
	if !errors.As(err, &unreachable) || o.Results != nil {
		t.Errorf("error %v, results %v, want that it is unreachable and nothing else", err, o.Results)
	}
}

// TestSearchStaysBelowTheCapacity: the server takes 20 ms for each operation, one after the other. At
// 100/s the last of 40 operations ends at least 400 ms after it was due, however busy the host is.
func TestSearchStaysBelowTheCapacity(t *testing.T) {
	var alone sync.Mutex
	s := specFor(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		alone.Lock()
		defer alone.Unlock()
		time.Sleep(20 * time.Millisecond)
		_, _ = io.WriteString(w, "fine")
	}))
	s.Load.Rate = "25"
	limit := objective.MustParse("p99<200ms")
	probes := 0
	o, err := prepare(t, s).Search(t.Context(),
		CapacitySearch{Objective: limit, Probed: func(record.Probe) { probes++ }})
	var limited *ClientLimitError
	if err != nil && !errors.As(err, &limited) { // on a busy host
		t.Fatal(err)
	}
	c := o.Summary.Capacity
	if c == nil || probes != len(c.Probes) || c.Objective != "p99<200ms" {
		t.Fatalf("capacity %+v after %d probes", c, probes)
	}
	if c.Rate != nil && *c.Rate >= 100 {
		t.Errorf("capacity %g/s, want less than 100/s", *c.Rate)
	}
	for _, p := range c.Probes {
		if p.Rate >= 100 && p.Pass {
			t.Errorf("%g/s passed", p.Rate)
		}
	}
}

func TestSearchNeedsARate(t *testing.T) {
	s := specFor(t, "http://127.0.0.1:1/")
	s.Load = scenario.Load{Ramp: &scenario.Ramp{From: "1", To: "2"}}
	if _, err := prepare(t, s).Search(t.Context(), CapacitySearch{}); err == nil ||
		!strings.Contains(err.Error(), "needs a constant or poisson rate") {
		t.Errorf("error %v", err)
	}
}

// TestThePermissionBinds: a target of somebody else gets no more than the permitted rate, from all loops
// together, however many flows are due.
func TestThePermissionBinds(t *testing.T) {
	s := specFor(t, serve(t, fine))
	s.Load.Duration = scenario.Duration(1500 * time.Millisecond)
	s.Loops = 2
	prepared := prepare(t, s)
	prepared.ticket.Own = false
	prepared.ticket.MaxRate = 20
	prepared.ticket.Until = time.Now().Add(time.Hour)
	o, err := prepared.Play(t.Context(), Hooks{})
	testset.Must(t, err)
	// Twenty in the first second, and as many in the half of the next.
	if o.Summary.Sent > 40 || o.Report.HeldBack == 0 || o.Summary.Sent+o.Summary.Unsent != 150 {
		t.Errorf("%d sent, %d unsent of 150, %d held back; want at most 40 sent", o.Summary.Sent, o.Summary.Unsent,
			o.Report.HeldBack)
	}
	// The share of a loop, 10/s, is not the permitted rate.
	notes := strings.Join(o.Summary.Notes, "\n")
	if !strings.Contains(notes, "the permission allows no higher rate") || strings.Contains(notes, "10/s") {
		t.Errorf("notes are %q", notes)
	}
	prepared.ticket.Until = time.Now().Add(time.Second)
	if _, err := prepared.Play(t.Context(), Hooks{}); err == nil ||
		!strings.Contains(err.Error(), "the permission to load") {
		t.Errorf("error %v, want that the permission ends too early", err)
	}
}

// TestTheGuardGetsThePlannedRate: the guard gets the highest rate in operations, that is, with all steps of a
// flow.
func TestTheGuardGetsThePlannedRate(t *testing.T) {
	s := specFor(t, "http://shop.test/")
	step := s.Scenario.Flows[0].Steps[0]
	other := step
	other.Name = "other"
	s.Scenario.Flows[0].Steps = []scenario.Step{step, other}
	s.Guard = consent.Guard{
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		},
		Fetch:   func(context.Context, consent.Proof) ([]byte, error) { return []byte(token), nil },
		Allowed: allowed(t, 199),
	}
	if _, err := s.Prepare(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "200 operations per second are planned and 199 are permitted") {
		t.Errorf("error %v", err)
	}
	s.Guard.Allowed[0].MaxRate = 200
	if prepared := prepare(t, s); prepared.maxRate() != 100 {
		t.Errorf("at most %g flows per second, want 100", prepared.maxRate())
	}
}

// token is what a permitted target serves as proof.
const token = "0123456789abcdef"

// allowed returns an allow list with shop.test, for a rate at any hour.
func allowed(t *testing.T, rate float64) []consent.Permission {
	t.Helper()
	hours, err := consent.ParseHours("always")
	testset.Must(t, err)
	return []consent.Permission{{Host: "shop.test", Ports: []uint16{80}, Owner: "o", MaxRate: rate, Hours: hours,
		Expires: time.Now().Add(24 * time.Hour), Token: token}}
}
