package trial

import (
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

	"github.com/cleave-lab/cleave/load/consent"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
)

// specFor is an open load of 40 operations in 400 ms.
func specFor(url string) Spec {
	return Spec{
		URL: url, Method: "GET", Rate: 100, Arrivals: Constant, Seed: 1,
		Duration: 400 * time.Millisecond, Connections: 4, Timeout: 5 * time.Second,
	}
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func play(t *testing.T, s Spec) Outcome {
	t.Helper()
	prepared, err := s.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, err := prepared.Play(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSummaryAddsUp(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	users := specFor(url)
	users.Rate, users.Users, users.Think = 0, 3, 10*time.Millisecond
	poisson := specFor(url)
	poisson.Arrivals = Poisson
	checked := specFor(url)
	checked.Expect = engine.Expect{Body: []string{"fine"}}
	for name, s := range map[string]Spec{"open": specFor(url), "users": users, "poisson": poisson, "checked": checked} {
		t.Run(name, func(t *testing.T) {
			o := play(t, s)
			sum := o.Summary
			if sum.Sent == 0 || sum.Sent != sum.OK+sum.InFlight || len(sum.Errors) != 0 {
				t.Errorf("%d sent, %d ok, %d in flight, errors %v", sum.Sent, sum.OK, sum.InFlight, sum.Errors)
			}
			if (sum.OfferedRate == nil) != (s.Users > 0) || (sum.Closed == nil) != (s.Users == 0) {
				t.Errorf("offered rate %v, closed %v", sum.OfferedRate, sum.Closed)
			}
			if sum.Closed != nil && sum.Closed.Implied <= 0 {
				t.Errorf("Little's law finds %g users", sum.Closed.Implied)
			}
			if (len(sum.Unchecked) == 0) != (name == "checked") {
				t.Errorf("unchecked operations are %v", sum.Unchecked)
			}
			if sum.Generator.PeakMemory == 0 || sum.Generator.CPUSeconds <= 0 || sum.Generator.Pacing != "exact" {
				t.Errorf("generator is %+v", sum.Generator)
			}
			if name == "open" && (sum.Sent+sum.Unsent != 40 || *sum.OfferedRate < 99.9 || *sum.OfferedRate > 100.1) {
				t.Errorf("%d sent and %d unsent, want 40; %g/s offered, want 100/s", sum.Sent, sum.Unsent, *sum.OfferedRate)
			}
		})
	}
}

func TestTargetsNobodyPermittedGetNoLoad(t *testing.T) {
	for _, url := range []string{"http://192.0.2.1/", "http://169.254.169.254/", "http://8.8.8.8:81/"} {
		_, err := specFor(url).Prepare(t.Context())
		var refusal *consent.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: error %v, want a refusal", url, err)
		}
	}
}

// TestTheProofComesFromItsAddress: the name is only sent along, and a redirect is
// not followed.
func TestTheProofComesFromItsAddress(t *testing.T) {
	const token = "0123456789abcdef"
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == consent.ProofPath && r.Host == "shop.test" {
			_, _ = io.WriteString(w, token)
			return
		}
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	})
	address := netip.MustParseAddrPort(strings.TrimPrefix(url, "http://"))
	proof := consent.Proof{Address: address, Scheme: "http", Host: "shop.test", Path: consent.ProofPath}
	if text, err := fetchProof(t.Context(), proof); err != nil || string(text) != token {
		t.Errorf("proof %q, error %v", text, err)
	}
	proof.Host = "other.test"
	if _, err := fetchProof(t.Context(), proof); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("error %v, want that a redirect is not followed", err)
	}
}

func TestMistakesOfASpec(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"neither":       func(s *Spec) { s.Rate = 0 },
		"both":          func(s *Spec) { s.Users = 1 },
		"long ramp-up":  func(s *Spec) { s.Rate, s.Users, s.RampUp = 0, 1, s.Duration },
		"arrivals":      func(s *Spec) { s.Arrivals = "uniform" },
		"oracle":        func(s *Spec) { s.Expect.Status = "x" },
		"header":        func(s *Spec) { s.Headers = []string{"x"} },
		"URL":           func(s *Spec) { s.URL = "ftp://127.0.0.1/" },
		"name":          func(s *Spec) { s.URL = "http://127.1/" },
		"URL of socket": func(s *Spec) { s.Unix, s.URL = "/tmp/s", "x" },
	} {
		s := specFor("http://127.0.0.1:1/")
		change(&s)
		if _, err := s.Prepare(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNobodyListensIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String() + "/"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	prepared, err := specFor(url).Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o, err := prepared.Play(t.Context(), nil)
	var unreachable *engine.UnreachableError
	if !errors.As(err, &unreachable) || o.Results != nil {
		t.Errorf("error %v, results %v, want that it is unreachable and nothing else", err, o.Results)
	}
}

// TestSearchStaysBelowTheCapacity: the server takes 20 ms for each operation, one
// after the other. At 100/s the last of 40 operations ends 400 ms after it was
// due or later, whatever the host does meanwhile.
func TestSearchStaysBelowTheCapacity(t *testing.T) {
	var alone sync.Mutex
	s := specFor(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		alone.Lock()
		defer alone.Unlock()
		time.Sleep(20 * time.Millisecond)
		_, _ = io.WriteString(w, "fine")
	}))
	s.Rate = 25
	limit, err := objective.Parse("p99<200ms")
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := s.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	o, err := Search(t.Context(), prepared, limit, "p99<200ms", func(float64, record.Probe) { told++ })
	var limited *ClientLimitError
	if err != nil && !errors.As(err, &limited) { // on a busy host
		t.Fatal(err)
	}
	c := o.Summary.Capacity
	if c == nil || told != len(c.Probes) {
		t.Fatalf("capacity %+v after %d probes", c, told)
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
