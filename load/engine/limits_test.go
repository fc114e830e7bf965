package engine

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/schedule"
)

// TestTheLimitHoldsInEveryWindow: although all flows are due at once, at most n begin in any n/rate seconds,
// which are a whole second or more, or a whole part of one.
func TestTheLimitHoldsInEveryWindow(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		n      int
		window time.Duration
	}{{100, 100, time.Second}, {2.5, 3, 1200 * time.Millisecond}, {10.5, 11, 1047619047},
		{0.5, 1, 2 * time.Second}, {1e-300, 1, 50 * 365 * 24 * time.Hour},
		{1e5, maxBurst, 100 * time.Millisecond}, {15_000, 7500, time.Second / 2}} {
		l := NewLimit(c.rate)
		var begun []time.Duration
		for now := time.Duration(0); len(begun) < 3*c.n; {
			now = max(now, l.From())
			l.Take(now)
			begun = append(begun, now)
			now += 10 * time.Microsecond / time.Duration(c.n)
		}
		if begun[c.n-1] >= c.window {
			t.Errorf("%g/s: %d flows took %v, nothing kept them", c.rate, c.n, begun[c.n-1])
		}
		for i := c.n; i < len(begun); i++ {
			if gap := begun[i] - begun[i-c.n]; gap < c.window {
				t.Fatalf("%g/s: %d flows began in %v, want at least %v", c.rate, c.n+1, gap, c.window)
			}
		}
	}
	var none Limit
	if none.Take(5); none.From() != 0 {
		t.Errorf("without a limit flows wait until %v", none.From())
	}
}

func TestTheHighestRateIsNotExceeded(t *testing.T) {
	var served atomic.Int64
	r := newRig(t, serveRaw(t, func(conn net.Conn) error {
		served.Add(1)
		return sends(fine)(conn)
	}))
	r.config.Duration = 900 * time.Millisecond
	r.config.MaxRate = 10
	r.open(50)
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 10})
	if served.Load() != 10 || report.Unsent != 40 || report.Stopped != "" ||
		!strings.Contains(report.UnsentBecause, "no higher rate") {
		t.Errorf("%d served, %d unsent because %q, stopped %q: want 10 and 40, because of the permission",
			served.Load(), report.Unsent, report.UnsentBecause, report.Stopped)
	}
	if got := results.Counts(record.All).Unsent; got != 40 {
		t.Errorf("%d operations are recorded as unsent, want 40", got)
	}
}

func TestUsersAreHeldBackToo(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.config.Users = &Users{Number: 4}
	r.config.Duration = 1500 * time.Millisecond
	r.config.MaxRate = 20
	results, report := r.run()
	// 20 at once, and 20 a second later.
	if n := results.Sent(record.All); n == 0 || n > 40 || n > 20 && report.HeldBack == 0 {
		t.Errorf("%d operations, %d held back, want at most 40", n, report.HeldBack)
	}
	if report.UserTime < report.PauseTime+report.BusyTime || report.HeldBack > 0 && report.PauseTime == 0 {
		t.Errorf("users were held back %d times, paused %v and were busy %v of %v",
			report.HeldBack, report.PauseTime, report.BusyTime, report.UserTime)
	}
}

func TestNothingIsBegunWhenThePermissionIsOver(t *testing.T) {
	var last atomic.Int64
	server := serveRaw(t, func(conn net.Conn) error {
		last.Store(time.Now().UnixNano())
		return sends(fine)(conn)
	})
	for name, users := range map[string]*Users{"open": nil, "users": {Number: 4, Think: 10 * time.Millisecond}} {
		r := newRig(t, server)
		r.steps(twoSteps(10 * time.Millisecond)...)
		if r.config.Users = users; users == nil {
			r.open(1000)
		}
		r.config.Duration = 10 * time.Second
		r.config.Until = time.Now().Add(time.Second)
		results, report := r.run()
		if report.Stopped == "" || results.Count(record.All, record.OK) != results.Sent(record.All) {
			t.Errorf("%s: stopped %q, %d of %d operations ok", name, report.Stopped,
				results.Count(record.All, record.OK), results.Sent(record.All))
		}
		if flows := results.Sent(0) + report.Unsent; users == nil &&
			(flows != 1000 || report.UnsentBecause != report.Stopped || report.Window != r.config.Duration) {
			t.Errorf("%s: %d flows sent or unsent of 1000, because %q, in %v", name, flows, report.UnsentBecause,
				report.Window)
		}
		if users != nil && (report.Unsent != 0 || report.Window >= 5*time.Second) {
			t.Errorf("%s: %d unsent, flows begun for %v", name, report.Unsent, report.Window)
		}
	}
}

// TestNothingIsSentAfterThePermission, even if it is over before the load begins.
func TestNothingIsSentAfterThePermission(t *testing.T) {
	r := newRig(t, serveRaw(t, sends(fine)))
	r.config.Until = time.Now().Add(-time.Second)
	results, report := r.run()
	if sent := results.Sent(record.All); sent > 0 || report.Stopped == "" {
		t.Errorf("%d operations were sent, and the load stopped because %q", sent, report.Stopped)
	}
}

// together prepares loops that share a schedule of n operations.
func together(t *testing.T, n int, addresses ...string) []Config {
	t.Helper()
	var configs []Config
	for i, address := range addresses {
		r := newRig(t, address)
		r.open(n)
		r.config.Open = schedule.Share(r.config.Open, i, len(addresses))
		r.prepare()
		configs = append(configs, r.config)
	}
	return configs
}

// collect returns what several loops have recorded.
func collect(t *testing.T, configs []Config) *record.Results {
	t.Helper()
	var total *record.Results
	for i := range configs { // not copies: RunAll fills in the rest meanwhile
		results, err := record.Collect(nil, configs[i].Recorder)
		if err == nil && total != nil {
			err = results.Merge(total)
		}
		testset.Must(t, err)
		total = results
	}
	return total
}

func TestLoopsShareASchedule(t *testing.T) {
	address := serve(t, hello)
	configs := together(t, 50, address, address, address)
	var reports []Report
	ended := make(chan error, 1)
	go func() {
		var err error
		reports, err = RunAll(t.Context(), configs)
		ended <- err
	}()
	results := collect(t, configs)
	testset.Must(t, <-ended)
	want(t, results, map[record.Outcome]int64{record.OK: 50})
	for i, report := range reports {
		if report.Start != reports[0].Start || report.Statuses[200] < 16 || report.Unsent != 0 {
			t.Errorf("loop %d began at %v with %v answers, %d unsent", i, report.Start, report.Statuses, report.Unsent)
		}
	}
}

// TestLoopsBeginTogetherOrNotAtAll: one of two has no server.
func TestLoopsBeginTogetherOrNotAtAll(t *testing.T) {
	var served atomic.Int64
	address := serveRaw(t, func(net.Conn) error {
		served.Add(1)
		return nil
	})
	processors := runtime.GOMAXPROCS(0)
	configs := together(t, 50, address, "127.0.0.1:1")
	_, err := RunAll(t.Context(), configs)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || strings.Contains(err.Error(), errOthers.Error()) {
		t.Errorf("error %v, want that nobody listens at port 1, once", err)
	}
	if collect(t, configs); served.Load() != 0 {
		t.Errorf("%d requests were served", served.Load())
	}
	if now := runtime.GOMAXPROCS(0); now != processors {
		t.Errorf("%d processors afterwards, %d before", now, processors)
	}
}

func TestConnectedIsCalledBeforeTheClockStarts(t *testing.T) {
	r := newRig(t, serve(t, hello))
	var called time.Time
	r.config.Connected = func() error {
		time.Sleep(20 * time.Millisecond)
		called = time.Now()
		return nil
	}
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 20})
	if called.IsZero() || report.Start.Before(called) {
		t.Errorf("called at %v, the load began at %v", called, report.Start)
	}
}

func TestAnErrorOfConnectedEndsTheLoad(t *testing.T) {
	r := newRig(t, serve(t, hello))
	gone := errors.New("the others are gone")
	r.config.Connected = func() error { return gone }
	recorder := r.prepare()
	report, err := Run(t.Context(), r.config)
	if !errors.Is(err, gone) || report.Elapsed != 0 {
		t.Errorf("error %v after %v", err, report.Elapsed)
	}
	if results, err := record.Collect(nil, recorder); err != nil || results.Sent(record.All) != 0 {
		t.Errorf("%d operations, error %v", results.Sent(record.All), err)
	}
}
