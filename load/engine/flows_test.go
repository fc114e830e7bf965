package engine

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// seenRequest is a request as a server saw it.
type seenRequest struct {
	path, from string // from: the address of the connection
	at         time.Time
}

// requestLog is a server that notes its requests.
type requestLog struct {
	sync.Mutex
	requests []seenRequest
}

func (d *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.Lock()
	d.requests = append(d.requests, seenRequest{r.URL.Path, r.RemoteAddr, time.Now()})
	d.Unlock()
	hello(w, r)
}

func (d *requestLog) byConnection() map[string][]seenRequest {
	d.Lock()
	defer d.Unlock()
	groups := make(map[string][]seenRequest)
	for _, v := range d.requests {
		groups[v.from] = append(groups[v.from], v)
	}
	return groups
}

// twoSteps returns a flow that logs in and buys.
func twoSteps(think time.Duration) []scenario.Step {
	return []scenario.Step{
		{Name: "login", Request: "GET /login", Think: scenario.Duration(think)},
		{Name: "buy", Request: "GET /buy"},
	}
}

// TestAFlowKeepsItsConnection: no other flow uses the connection while its flow thinks, so logins and
// purchases alternate on every connection.
func TestAFlowKeepsItsConnection(t *testing.T) {
	for _, think := range []time.Duration{0, 30 * time.Millisecond} {
		for _, pacing := range []string{"exact", "grid:5ms"} {
			t.Run(fmt.Sprint(think, " ", pacing), func(t *testing.T) {
				var d requestLog
				r := newRig(t, serve(t, d.ServeHTTP))
				r.steps(twoSteps(think)...)
				r.pace(pacing)
				results, report := r.run()
				want(t, results, map[record.Outcome]int64{record.OK: 40})
				if report.Connects != 4 || report.Cut != 0 || results.Counts(record.All).Achieved != 20 {
					t.Errorf("%d connections, %d flows cut, %d achieved, want 4, none and 20",
						report.Connects, report.Cut, results.Counts(record.All).Achieved)
				}
				d.check(t, think)
			})
		}
	}
}

// check wants flows of two steps, one flow after the other, on every connection.
func (d *requestLog) check(t *testing.T, think time.Duration) {
	t.Helper()
	for from, requests := range d.byConnection() {
		for i, v := range requests {
			if want := []string{"/login", "/buy"}[i%2]; v.path != want {
				t.Fatalf("request %d from %s is for %s, want %s", i+1, from, v.path, want)
			}
			if i%2 == 1 && v.at.Sub(requests[i-1].at) < think {
				t.Errorf("the purchase came %v after the login, want a think time of %v", v.at.Sub(requests[i-1].at),
					think)
			}
		}
	}
}

func TestAStepUsesWhatAnEarlierOneExtracted(t *testing.T) {
	var wrong atomic.Int64
	var tokens atomic.Int64
	r := newRig(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("X-Token", fmt.Sprint("t", tokens.Add(1)))
			return
		}
		if r.URL.Path[:3] != "/t/" || r.Header.Get("X-Token") != r.URL.Path[3:] {
			wrong.Add(1)
		}
	}))
	r.steps(
		scenario.Step{Name: "token", Request: "POST /token",
			Extract: map[string]scenario.Extraction{"token": {Header: "X-Token"}}},
		scenario.Step{Name: "use", Request: "GET /t/${token}", Headers: map[string]string{"X-Token": "${token}"}},
	)
	results, _ := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 40})
	if wrong.Load() > 0 {
		t.Errorf("%d requests had no token or another flow's", wrong.Load())
	}
}

// TestAConnectionThatEndsWhileItsFlowThinksIsReplaced: its end is no failure of an operation.
func TestAConnectionThatEndsWhileItsFlowThinksIsReplaced(t *testing.T) {
	r := newRig(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/buy" {
			w.Header().Set("Connection", "close") // announced, so that nobody uses it again
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = sendsAndCloses(fine)(conn)
			_ = conn.Close()
		}
	}))
	r.steps(twoSteps(50 * time.Millisecond)...)
	r.open(8) // the last four find no connection while the first four think
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 16})
	if report.Connects < 16 {
		t.Errorf("%d connections were made, want one for each operation", report.Connects)
	}
}

// TestAServerThatClosesBetweenStepsAtOnce: the next step is sent while the end of its connection arrives.
// Every operation is counted, regardless of which comes first.
func TestAServerThatClosesBetweenStepsAtOnce(t *testing.T) {
	r := newRig(t, serveRaw(t, sendsAndCloses(fine)))
	r.steps(twoSteps(0)...)
	results, report := r.run()
	lost := results.Count(1, record.Closed) + results.Count(1, record.Reset)
	if ok := results.Count(record.All, record.OK); results.Count(0, record.OK) != 20 || ok+lost != 40 ||
		report.Unsent != 0 {
		t.Errorf("%d ok, %d purchases lost, %d unsent, want 40 operations and no login lost", ok, lost,
			report.Unsent)
	}
}

func TestAnAnnouncedEndBetweenStepsLosesNothing(t *testing.T) {
	closing := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	for name, answer := range map[string]func(net.Conn) error{"closes": sendsAndCloses(closing),
		"stays open": sends(closing)} {
		r := newRig(t, serveRaw(t, answer))
		r.steps(twoSteps(0)...)
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 40})
		if report.Connects < 40 {
			t.Errorf("%s: %d connections, want one for each operation", name, report.Connects)
		}
	}
}

func TestAFailedStepEndsItsFlow(t *testing.T) {
	r := newRig(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	r.steps(twoSteps(0)...)
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.BadStatus: 20})
	if len(report.Skipped) != 2 || report.Skipped[0] != 0 || report.Skipped[1] != 20 || report.Connects != 4 {
		t.Errorf("skipped %v on %d connections, want 20 purchases on 4", report.Skipped, report.Connects)
	}
}

// TestTheEndCutsFlows: no step begins after the end, and flows with steps left are counted.
func TestTheEndCutsFlows(t *testing.T) {
	for name, think := range map[string]time.Duration{"due in the load": 400 * time.Millisecond,
		"due after it": time.Hour} {
		for _, users := range []*Users{nil, {Number: 4}} {
			var d requestLog
			r := newRig(t, serve(t, d.ServeHTTP))
			r.steps(twoSteps(think)...)
			r.config.Duration = 200 * time.Millisecond
			if r.config.Users = users; users == nil {
				r.open(4)
			}
			results, report := r.run()
			if n := results.Sent(0); results.Sent(1) != 0 || n != results.Count(0, record.OK) || report.Cut != n {
				t.Errorf("%s: %d logins, %d purchases, %d flows cut, want as many flows cut as logins", name, n,
					results.Sent(1), report.Cut)
			}
		}
	}
}

func TestAnAnswerAfterTheEndCutsItsFlow(t *testing.T) {
	r := newRig(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(400 * time.Millisecond)
		hello(w, r)
	}))
	r.steps(twoSteps(0)...)
	r.config.Duration = 200 * time.Millisecond
	r.open(4)
	results, report := r.run()
	if n := results.Count(0, record.OK); n != results.Sent(record.All) || report.Cut != n {
		t.Errorf("%d of %d operations are ok logins, %d flows cut", n, results.Sent(record.All), report.Cut)
	}
}

// TestOnAGridTheNextStepDoesNotWaitForTheNextFlow, which is due 500 ms later.
func TestOnAGridTheNextStepDoesNotWaitForTheNextFlow(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.steps(twoSteps(0)...)
	plan, err := schedule.Constant(2, 2*time.Second)
	testset.Must(t, err)
	r.config.Open = plan.Arrivals()
	r.pace("grid:1ms")
	results, _ := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 8})
	if late := time.Duration(results.Times(record.Lateness,
		1).ValueAtQuantile(50)); late > 250*time.Millisecond {
		t.Errorf("half of the second steps left %v late or more", late)
	}
}

func TestWithoutKeepAliveEveryFlowHasItsConnection(t *testing.T) {
	var d requestLog
	r := newRig(t, serve(t, d.ServeHTTP))
	r.steps(twoSteps(0)...)
	r.config.KeepAlive = false
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 40})
	if groups := d.byConnection(); len(groups) != 20 || report.Connects != 20 {
		t.Errorf("%d connections in use, %d made, want 20", len(groups), report.Connects)
	}
	d.check(t, 0)
}

func TestEveryStepOfAClosedLoopIsAccountedFor(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.steps(twoSteps(20 * time.Millisecond)...)
	r.config.Users = &Users{Number: 3, Think: 10 * time.Millisecond}
	r.config.Duration = 300 * time.Millisecond
	results, report := r.run()
	logins := results.Sent(0)
	purchases := results.Sent(1)
	if logins == 0 || logins != purchases+report.Cut ||
		results.Count(record.All, record.OK) != logins+purchases {
		t.Errorf("%d logins, %d purchases, %d flows cut", logins, purchases, report.Cut)
	}
	if begun := time.Duration(purchases) * 20 * time.Millisecond; report.PauseTime < begun {
		t.Errorf("users paused %v, want at least %v in %d flows", report.PauseTime, begun, purchases)
	}
	if report.UserTime < report.PauseTime+report.BusyTime {
		t.Errorf("users paused %v and were busy %v of %v", report.PauseTime, report.BusyTime, report.UserTime)
	}
}

// TestSamplesDescribeOperations checks single operations.
func TestSamplesDescribeOperations(t *testing.T) {
	r := newRig(t, serveRaw(t, sends(fine)))
	r.steps(twoSteps(0)...)
	r.file.Values = map[string]scenario.Value{"key": {Choice: []string{"k"}}}
	r.step().Note = []string{"key"}
	r.config.Connections = 1
	r.config.KeepAlive = false
	r.open(3)
	var samples []record.Sample
	r.playTapped(func(s *record.Sample) { samples = append(samples, *s) })
	if len(samples) != 6 {
		t.Fatalf("%d samples, want 6", len(samples))
	}
	for i, s := range samples {
		host := len(r.host)
		written := int64(len("GET /login HTTP/1.1\r\nHost: \r\n\r\n") + host - 2*(i%2)) // "/buy" is shorter
		if s.Status != 200 || s.Received != int64(len(fine)) || s.Written != written || s.Connection != 0 ||
			s.Follows != (i%2 == 1) {
			t.Errorf("sample %d is %+v, want %d bytes written", i+1, s, written)
		}
		if got, want := string(s.Noted), []string{`{"key":"k"}`, ""}[i%2]; got != want {
			t.Errorf("sample %d notes %q, want %q", i+1, got, want)
		}
		if s.FirstByte < s.Sent || s.FirstByte > s.Finished || s.Sent < s.Intended ||
			(s.Connected > 0) != (i == 2 || i == 4) {
			t.Errorf("times of sample %d are %+v", i+1, s)
		}
	}
}
