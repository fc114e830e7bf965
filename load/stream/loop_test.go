package stream

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/engine"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// both plays a test on HTTP/1.1 and HTTP/2 over TLS, each time with a new handler.
func both(t *testing.T, make func() http.HandlerFunc, test func(t *testing.T, r *rig)) {
	t.Helper()
	ca := newAuthority(t)
	for _, protocol := range []Protocol{HTTP1, HTTP2} {
		t.Run(string(protocol), func(t *testing.T) {
			r := ca.rig(t, protocol, serve(t, ca.server("shop.test", soon()), make()))
			test(t, r)
		})
	}
}

func fine() http.HandlerFunc { return hello }

// TestAStallIsSeen: coordinated omission would hide that operations waited.
func TestAStallIsSeen(t *testing.T) {
	stalls := func() http.HandlerFunc {
		begin := sync.OnceValue(time.Now)
		return func(w http.ResponseWriter, r *http.Request) {
			if since := time.Since(begin()); since > 200*time.Millisecond && since < 700*time.Millisecond {
				time.Sleep(700*time.Millisecond - since)
			}
			hello(w, r)
		}
	}
	both(t, stalls, func(t *testing.T, r *rig) {
		r.config.Streams = 1
		r.open(1000)
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 1000})
		// 500 operations were due in the stall, and waited 250 ms in the mean.
		slow := results.Times(record.Response, record.All).ValueAtQuantile(75)
		if served := results.Times(record.Service, record.All).ValueAtQuantile(75); slow < 200e6 || served > 100e6 {
			t.Errorf("upper quartile of response times %d ns, of service times %d ns: want the stall in the first "+
				"alone", slow, served)
		}
		if late := results.Counts(record.All).Late; late < 400 {
			t.Errorf("%d operations late, want about 500", late)
		}
	})
}

// TestAnOverloadIsBounded: a target that stands still gets no more connections, and the load takes no
// more memory; what was not sent is counted.
func TestAnOverloadIsBounded(t *testing.T) {
	var open atomic.Int64
	stuck := func() http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			open.Add(1)
			<-r.Context().Done()
		}
	}
	both(t, stuck, func(t *testing.T, r *rig) {
		open.Store(0)
		before := runtime.NumGoroutine()
		plan, err := schedule.Constant(100_000, 2*time.Second)
		testset.Must(t, err)
		r.config.Open = plan.Arrivals()
		r.config.Duration = 2 * time.Second
		r.config.Grace = 50 * time.Millisecond
		counted := make(chan int, 1)
		r.config.Connected = func() error {
			time.AfterFunc(time.Second, func() { counted <- runtime.NumGoroutine() })
			return nil
		}
		results, report := r.run()
		most := <-counted
		workers := int64(r.config.Connections)
		if r.config.Protocol == HTTP2 {
			workers *= DefaultStreams
		}
		want(t, results, map[record.Outcome]int64{record.Unfinished: workers})
		if open.Load() != workers || report.Unsent != 200_000-workers || report.UnsentBecause == "" {
			t.Errorf("%d requests reached the server, %d unsent because %q, want %d and the rest", open.Load(),
				report.Unsent, report.UnsentBecause, workers)
		}
		// For each request: a worker, the library's writer, and the server's handler.
		if bound := before + 4*int(workers) + 40; most > bound {
			t.Errorf("%d goroutines, want at most %d", most, bound)
		}
		if report.Connects != int64(r.config.Connections) {
			t.Errorf("%d connections made, want %d", report.Connects, r.config.Connections)
		}
	})
}

func TestUsersThinkAndLittlesLawHolds(t *testing.T) {
	slow := func() http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Millisecond)
			hello(w, r)
		}
	}
	both(t, slow, func(t *testing.T, r *rig) {
		const users = 8
		r.config.Users = &engine.Users{Number: users, Think: 10 * time.Millisecond,
			Every: 50 * time.Millisecond}
		r.config.Duration = time.Second
		r.file.Flows[0].Steps = []scenario.Step{
			{Name: "first", Request: "GET /1", Think: scenario.Duration(20 * time.Millisecond)},
			{Name: "second", Request: "GET /2"},
		}
		results, report := r.run()
		// What is neither busy nor pause is how late the generator was.
		sent := float64(results.Sent(record.All))
		late := results.Times(record.Lateness, record.All).Mean() * sent / 1e9
		perUser := report.UserTime.Seconds() / users
		implied := ((report.BusyTime + report.PauseTime).Seconds() + late) / perUser
		if math.Abs(implied-users)/users > 0.05 {
			t.Errorf("Little's law finds %.2f users, want %d", implied, users)
		}
		if first, second := results.Sent(0), results.Sent(1); first < second || first-second > users ||
			second < users {
			t.Errorf("%d first and %d second steps", first, second)
		}
		if report.Unsent != 0 || report.Window != time.Second {
			t.Errorf("%d unsent, window %v", report.Unsent, report.Window)
		}
	})
}

// TestAFlowKeepsItsConnection: also while it thinks.
func TestAFlowKeepsItsConnection(t *testing.T) {
	var mu sync.Mutex
	var homes map[string]string // the client's address, by flow
	homely := func() http.HandlerFunc {
		homes = make(map[string]string)
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			id := r.URL.Query().Get("id")
			switch cookie, err := r.Cookie("flow"); {
			case r.URL.Path == "/1":
				homes[id] = r.RemoteAddr
				http.SetCookie(w, &http.Cookie{Name: "flow", Value: id})
			case homes[id] != r.RemoteAddr, err != nil, cookie.Value != id:
				w.WriteHeader(http.StatusConflict)
			}
		}
	}
	for _, keepAlive := range []bool{true, false} {
		both(t, homely, func(t *testing.T, r *rig) {
			r.file.Values = map[string]scenario.Value{"id": {Sequence: new(int64(1))}}
			r.file.Flows[0].Steps = []scenario.Step{
				{Name: "first", Request: "GET /1?id=${id}", Think: scenario.Duration(20 * time.Millisecond)},
				{Name: "second", Request: "GET /2?id=${id}", Expect: scenario.Expect{Status: "200"}},
			}
			r.config.KeepAlive = keepAlive
			r.config.Connections = 8
			r.config.Streams = 1
			results, report := r.run()
			want(t, results, map[record.Outcome]int64{record.OK: 40})
			if keepAlive != (report.Connects == 8) || !keepAlive && report.Connects < 20 {
				t.Errorf("keep-alive %v: %d connections", keepAlive, report.Connects)
			}
			if n := results.Counts(record.All).Achieved; n != 20 {
				t.Errorf("%d flows achieved, want 20", n)
			}
			mu.Lock()
			defer mu.Unlock()
			if addresses := slices.Compact(slices.Sorted(maps.Values(homes))); !keepAlive && len(addresses) != 20 {
				t.Errorf("%d client addresses for 20 flows", len(addresses))
			}
		})
	}
}

// TestOperationsAreListed: lists of operations hold more than histograms.
func TestOperationsAreListed(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.file.Values = map[string]scenario.Value{"id": {Sequence: new(int64(1))}}
		r.step().Request = "GET /?id=${id}"
		r.step().Note = []string{"id"}
		var samples []record.Sample
		listed := make(chan error, 1)
		r.watch = func(recorder *record.Recorder) {
			tap := recorder.Tap()
			go func() {
				listed <- tap.Each(func(s *record.Sample) error {
					samples = append(samples, *s)
					return nil
				})
			}()
		}
		r.run()
		if err := <-listed; err != nil || len(samples) != 20 {
			t.Fatalf("%d samples, error %v", len(samples), err)
		}
		noted := make(map[string]bool)
		for _, s := range samples {
			noted[string(s.Noted)] = true
			if s.Status != 200 || s.Connection < 0 || s.Connection > 1 || s.Received < 11 || s.FirstByte < s.Sent ||
				s.Finished < s.FirstByte || s.Connected != 0 || s.Written == 0 {
				t.Errorf("sample %+v", s)
			}
		}
		if len(noted) != 20 || !noted[`{"id":"20"}`] {
			t.Errorf("noted %v, want 20 numbers", noted)
		}
	})
}

func TestAFailedStepEndsItsFlow(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.file.Flows[0].Steps = []scenario.Step{
			{Name: "first", Request: "GET /1", Expect: scenario.Expect{Status: "404"}},
			{Name: "second", Request: "GET /2"},
		}
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.BadStatus: 20})
		if len(report.Skipped) != 2 || report.Skipped[0] != 0 || report.Skipped[1] != 20 {
			t.Errorf("skipped %v, want 20 second steps", report.Skipped)
		}
	})
}

// TestFlowsEndWithTheLoad: flows that think at the end have no further step.
func TestFlowsEndWithTheLoad(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.file.Flows[0].Steps = []scenario.Step{
			{Name: "first", Request: "GET /1", Think: scenario.Duration(time.Hour)},
			{Name: "second", Request: "GET /2"},
		}
		r.open(4)
		r.config.Streams = 1
		r.config.Connections = 8
		r.config.Duration = time.Second
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 4})
		if report.Cut != 4 || report.Unsent != 0 {
			t.Errorf("%d cut, %d unsent: want 4 flows that think", report.Cut, report.Unsent)
		}
	})
}

// TestThinkingIsNoBacklog: a user who thinks does not wait for the target.
func TestThinkingIsNoBacklog(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.file.Flows[0].Steps = []scenario.Step{
			{Name: "first", Request: "GET /1", Think: scenario.Duration(2 * time.Second)},
			{Name: "second", Request: "GET /2"},
		}
		r.open(4)
		r.config.Streams = 1
		r.config.Connections = 8
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 8})
		if len(report.Ended) < 11 || report.Ended[9] != 4 || report.Cut != 0 {
			t.Errorf("ended %v, %d cut: want 4 flows that think at 1 s, and none cut", report.Ended, report.Cut)
		}
	})
}

func TestAnInterruptionLeavesWhatWasDone(t *testing.T) {
	var ctx context.Context
	interrupting := func() http.HandlerFunc {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(t.Context())
		var served atomic.Int64
		return func(w http.ResponseWriter, r *http.Request) {
			if served.Add(1) == 500 { // more than are on their way at a time
				cancel()
			}
			hello(w, r)
		}
	}
	both(t, interrupting, func(t *testing.T, r *rig) {
		r.open(100_000)
		results, report, err := r.tryUntil(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that it was cancelled", err)
		}
		if results.Count(record.All, record.OK) == 0 || report.Elapsed == 0 || report.Unsent != 0 ||
			report.Window >= time.Minute {
			t.Errorf("%d ok, report %+v", results.Count(record.All, record.OK), report)
		}
	})
}

func TestTheHighestRateIsNotExceeded(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		plan, err := schedule.Constant(100, 800*time.Millisecond)
		testset.Must(t, err)
		r.config.Open = plan.Arrivals()
		r.config.Duration = 800 * time.Millisecond
		r.config.MaxRate = 10
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 10})
		if report.Unsent != 70 || results.Counts(record.All).Unsent != 70 ||
			!strings.Contains(report.UnsentBecause, "no higher rate") {
			t.Errorf("%d unsent because %q, want 70", report.Unsent, report.UnsentBecause)
		}
	})
	both(t, fine, func(t *testing.T, r *rig) {
		r.open(30)
		r.config.MaxRate = 20
		results, report := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 30})
		if report.HeldBack != 10 || report.Unsent != 0 || report.Elapsed < time.Second {
			t.Errorf("%d held back, %d unsent, in %v: want 10 that wait for the next second", report.HeldBack,
				report.Unsent, report.Elapsed)
		}
	})
	both(t, fine, func(t *testing.T, r *rig) {
		r.config.Users = &engine.Users{Number: 4}
		r.config.Duration = 800 * time.Millisecond
		r.config.MaxRate = 10
		results, _ := r.run()
		want(t, results, map[record.Outcome]int64{record.OK: 10})
	})
}

func TestNothingIsBegunWhenThePermissionIsOver(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.open(100_000)
		r.config.Until = time.Now().Add(2 * time.Second)
		results, report := r.run()
		if !strings.Contains(report.Stopped, "permission") || report.UnsentBecause != report.Stopped ||
			results.Sent(0)+report.Unsent != 100_000 {
			t.Errorf("stopped %q, %d sent, %d unsent because %q", report.Stopped, results.Sent(0), report.Unsent,
				report.UnsentBecause)
		}
		r.open(20)
		r.config.Until = time.Now().Add(-time.Second)
		if results, report = r.run(); results.Sent(0) > 0 || !strings.Contains(report.Stopped, "permission") {
			t.Errorf("stopped %q, %d sent after it was over", report.Stopped, results.Sent(0))
		}
	})
}

// TestStreamsThatTheServerDoesNotPermit: the time of waiting for a stream counts for the server.
func TestStreamsThatTheServerDoesNotPermit(t *testing.T) {
	listener := listen(t)
	server := &http.Server{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(5 * time.Millisecond)
			hello(w, r)
		})}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	r := newRig(t, HTTP2, "http://shop.test", listener.Addr())
	r.config.Users = &engine.Users{Number: 8}
	r.config.Streams = 8
	r.config.Duration = time.Second
	results, _ := r.run()
	if ok := results.Count(record.All, record.OK); ok < 16 || ok != results.Sent(record.All) {
		t.Errorf("%d of %d ok", ok, results.Sent(record.All))
	}
	lateness := results.Times(record.Lateness, record.All)
	response := results.Times(record.Response, record.All)
	if lateness.ValueAtQuantile(50) > response.ValueAtQuantile(50)/4 {
		t.Errorf("median lateness %d ns of a response time of %d ns, want the wait for a stream not in it",
			lateness.ValueAtQuantile(50), response.ValueAtQuantile(50))
	}
}

func TestTheNumbersOfFlowsAndConnectionsHaveLimits(t *testing.T) {
	load := func(connections int) engine.Load { return engine.Load{Connections: connections} }
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Protocol: HTTP2, Streams: 2, Load: load(1)}, "keep-alive"},
		{Config{Protocol: HTTP2, Load: engine.Load{Connections: 20_000, KeepAlive: true}}, "at most 100000"},
		{Config{Protocol: HTTP1, Load: load(0)}, "0 connections"},
		{Config{Protocol: HTTP1, Load: engine.Load{Users: &engine.Users{}}}, "0 users"},
	} {
		if err := c.config.fill(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
}

func TestTheErrorOfConnectedEndsTheLoad(t *testing.T) {
	both(t, fine, func(t *testing.T, r *rig) {
		r.config.Connected = func() error { return errDone }
		if results, _, err := r.try(); !errors.Is(err, errDone) || results.Sent(record.All) != 0 {
			t.Errorf("error %v after %d operations", err, results.Sent(record.All))
		}
	})
}
