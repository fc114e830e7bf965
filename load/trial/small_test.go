package trial

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestACompressedBodyIsNamed: if an expected text cannot be read because the body is compressed, the
// complaint says so, in both engines.
func TestACompressedBodyIsNamed(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		if r.URL.Path == "/fails" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write([]byte("\x8f\x02\x80fine\x03"))
	})
	for _, protocol := range []string{"", HTTP2} {
		s := specFor(t, url)
		s.Protocol = protocol
		s.Scenario.Flows[0].Steps[0].Expect = scenario.Expect{JSON: map[string]string{"ok": "true"}}
		if got := play(t, s).Report.Example; !strings.Contains(got, "it is compressed (Content-Encoding: br)") {
			t.Errorf("protocol %q: the example of a wrong body: %s", protocol, got)
		}
		s.Scenario.Flows[0].Steps[0] = scenario.Step{Request: "GET /fails"}
		if got := play(t, s).Summary.ErrorSamples[502]; len(got) != 1 || !strings.Contains(got[0], "compressed") {
			t.Errorf("protocol %q: the samples of a failure: %q", protocol, got)
		}
	}
}

// TestTheOfferedRateIsThatOfTheLoad: because flows are whole, a load may have a few more operations. An agent
// offers its part of the rate, with all its loops together.
func TestTheOfferedRateIsThatOfTheLoad(t *testing.T) {
	s := specFor(t, serve(t, fine))
	s.Load = scenario.Load{Rate: "4", Duration: 300 * ms}
	if o := play(t, s).Summary; *o.OfferedRate != 4 || o.Sent != 2 {
		t.Errorf("%g/s offered, %d flows sent; want 4/s and 2", *o.OfferedRate, o.Sent)
	}
	s.Loops = 2
	s.Of = 2
	if o := play(t, s).Summary; *o.OfferedRate != 2 || o.Sent != 1 {
		t.Errorf("%g/s offered by an agent of two, %d flows sent; want 2/s and 1", *o.OfferedRate, o.Sent)
	}
}

// TestUsersOfAllLoopsBeginInTurn, one after another at equal distances, in whichever loop and agent they are.
func TestUsersOfAllLoopsBeginInTurn(t *testing.T) {
	var begins []time.Duration
	for agent := range 2 {
		s := specFor(t, "http://127.0.0.1:1")
		s.Load = scenario.Load{Users: 5, RampUp: 1000 * ms, Duration: 2000 * ms}
		s.Loops = 2
		s.Part = agent
		s.Of = 2
		checked, err := s.Check()
		testset.Must(t, err)
		for loop := range s.Loops {
			users := checked.usersOf(loop)
			for i := range users.Number {
				begins = append(begins, users.Begins(i).Truncate(time.Millisecond))
			}
		}
	}
	slices.Sort(begins)
	if got := fmt.Sprint(begins); got != "[0s 200ms 400ms 600ms 800ms]" {
		t.Errorf("five users begin within a second at %s", got)
	}
}

// TestUsersOfHTTP2ShareConnections, so they need fewer files. Those of an https target may get one each.
func TestUsersOfHTTP2ShareConnections(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   int
	}{
		"HTTP/1.1": {func(*Spec) {}, 1},
		"HTTP/2":   {func(s *Spec) { s.Protocol = HTTP2 }, 32},
		"streams":  {func(s *Spec) { s.Protocol, s.Streams = HTTP2, 4 }, 4},
		"one use":  {func(s *Spec) { s.Protocol, s.OneUse = HTTP2, true }, 1},
		"https":    {func(s *Spec) { s.Target = "https://127.0.0.1:1" }, 1},
		"open loops": {func(s *Spec) {
			s.Protocol = HTTP2
			s.Load = scenario.Load{Rate: "1"}
		}, 1},
	} {
		s := specFor(t, "http://127.0.0.1:1")
		s.Load = scenario.Load{Users: 64}
		c.change(&s)
		checked, err := s.Check()
		if err != nil || checked.usersOfAConnection() != c.want {
			t.Errorf("%s: %d users of a connection, error %v, want %d", name, checked.usersOfAConnection(), err,
				c.want)
		}
	}
	limited := &FilesError{What: "users", Asked: 6400, Needed: 240, Each: 32, Limit: 140}
	if !strings.Contains(limited.Error(), "at most 3200 users") {
		t.Errorf("error %q", limited)
	}
}

func TestSocketPathsHaveALimit(t *testing.T) {
	s := specFor(t, "http://shop.test")
	s.Unix = strings.Repeat("p", 108)
	if _, err := s.Check(); err == nil || !strings.Contains(err.Error(), "108 bytes") {
		t.Errorf("error %v", err)
	}
}
