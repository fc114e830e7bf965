package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
)

// TestAStallShowsInResponseTimes: of 300 operations in three seconds, those wait that are due in the two
// seconds in which the server stands still. Only the operations in flight have a long service time.
func TestAStallShowsInResponseTimes(t *testing.T) {
	const stall = 2 * time.Second
	var lock sync.RWMutex
	var once sync.Once
	var served atomic.Int64
	r := newRig(t, serve(t, func(w http.ResponseWriter, request *http.Request) {
		if served.Add(1) > 30 {
			once.Do(func() {
				lock.Lock()
				time.Sleep(stall)
				lock.Unlock()
			})
		}
		lock.RLock()
		defer lock.RUnlock()
		hello(w, request)
	}))
	r.config.Connections = 1
	r.open(300)
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 300})
	response := results.Times(record.Response, record.All)
	// One connection: the operation that stalls and some 200 due behind it wait. The
	// 100 due in the first half of the stall wait for all of its second half.
	if p68 := time.Duration(response.ValueAtQuantile(68)); p68 < stall/2 {
		t.Errorf("p68 of response time is %v, want at least %v", p68, stall/2)
	}
	// They waited for the connection: that is not the engine's own lateness.
	if p68 := time.Duration(results.Times(record.Lateness, record.All).ValueAtQuantile(68)); p68 >= stall/2 {
		t.Errorf("p68 of the engine's own lateness is %v, want less than %v", p68, stall/2)
	}
	if p99 := time.Duration(response.ValueAtQuantile(99)); p99 < stall*9/10 {
		t.Errorf("p99 of response time is %v, want at least %v", p99, stall*9/10)
	}
	if late := results.Counts(record.All).Late; late < 100 {
		t.Errorf("%d operations were sent late, want those that waited for the connection", late)
	}
	if report.Connects != 1 {
		t.Errorf("%d connections were made, want 1", report.Connects)
	}
}

func TestThePoolIsBounded(t *testing.T) {
	var now, most atomic.Int64
	release := make(chan struct{})
	r := newRig(t, serve(t, func(w http.ResponseWriter, request *http.Request) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		<-release
		hello(w, request)
	}))
	r.config.Connected = func() error {
		time.AfterFunc(3*time.Second, func() { close(release) })
		return nil
	}
	r.config.Duration = time.Second
	r.open(200)
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 4})
	if most.Load() != 4 || report.Connects != 4 || report.Unsent != 96 {
		t.Errorf("%d at once on %d connections, %d unsent, want 4, 4 and 96", most.Load(), report.Connects,
			report.Unsent)
	}
}

func TestEveryPacingSendsAll(t *testing.T) {
	for _, name := range []string{"exact", "grid:5ms", "spin"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, serve(t, hello))
			r.pace(name)
			results, _ := r.run()
			want(t, results, map[record.Outcome]int64{record.OK: 20})
		})
	}
}

// TestAStampedAnswerCountsFromWhenItCame: the answer is read some time after the kernel received it.
func TestAStampedAnswerCountsFromWhenItCame(t *testing.T) {
	listener := listen(t)
	r := newRig(t, listener.Addr().String())
	r.pace("grid:1ms")
	r.config.Connections = 1
	r.open(1)
	r.prepare()
	l, err := newLoop(r.config)
	testset.Must(t, err)
	t.Cleanup(func() { _ = l.close() })
	testset.Must(t, l.open(t.Context()))
	peer, err := listener.Accept()
	testset.Must(t, err)
	t.Cleanup(func() { _ = peer.Close() })
	const tries = 100 // the kernel may begin to note times a little late
	for range tries {
		if _, err := peer.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := l.poller.wait(maxWait, false); err != nil {
			t.Fatal(err)
		}
		available := l.clock()
		time.Sleep(5 * time.Millisecond)
		if n, errno := l.read(&l.conns[0]); n != 1 || errno != 0 {
			t.Fatalf("read %d bytes: %v", n, errno)
		}
		if l.arrived <= available && l.arrived > 0 && l.now > available {
			return
		}
	}
	t.Errorf("the last answer counts from %v, it was read at %v", l.arrived, l.now)
}

func TestNoOperationLeavesBeforeItIsDue(t *testing.T) {
	var lock sync.Mutex
	var arrivals []time.Time
	r := newRig(t, serve(t, func(w http.ResponseWriter, request *http.Request) {
		lock.Lock()
		arrivals = append(arrivals, time.Now())
		lock.Unlock()
		hello(w, request)
	}))
	_, report := r.run()
	lock.Lock()
	defer lock.Unlock()
	for i, at := range arrivals {
		if due := time.Duration(i) * 10 * time.Millisecond; at.Sub(report.Start) < due {
			t.Errorf("operation %d arrived after %v, it was due at %v", i+1, at.Sub(report.Start), due)
		}
	}
}

func TestUsersThink(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.config.Users = &Users{Number: 2, Think: 90 * time.Millisecond, Every: 50 * time.Millisecond}
	r.config.Duration = 200 * time.Millisecond
	results, report := r.run()
	// In 200 ms: user 1 at 0, from 90 and from 180 ms on; user 2 at 50 and from 140 on.
	if n := results.Sent(record.All); n < 1 || n > 5 {
		t.Errorf("%d operations were sent, want 1 to 5", n)
	}
	if report.UserTime < report.PauseTime+report.BusyTime {
		t.Errorf("users paused for %v of %v, answers took %v", report.PauseTime, report.UserTime, report.BusyTime)
	}
}

func TestLargeRequestsAreSentWhole(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	var wrong atomic.Int64
	r := newRig(t, serve(t, func(w http.ResponseWriter, request *http.Request) {
		got, err := io.ReadAll(request.Body)
		if err != nil || len(got) != len(body) {
			wrong.Add(1)
		}
		hello(w, request)
	}))
	*r.step() = scenario.Step{Name: "op", Request: "POST /", Body: body}
	r.open(5)
	results, _ := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 5})
	if wrong.Load() > 0 {
		t.Errorf("%d bodies arrived incomplete", wrong.Load())
	}
}

func TestHeadHasNoBody(t *testing.T) {
	r := newRig(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
	}))
	r.step().Request = "HEAD /"
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 20})
	if report.Connects != 4 {
		t.Errorf("%d connections were made, want 4", report.Connects)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	r := newRig(t, serve(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, "http://"+other+"/", http.StatusFound)
	}))
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 20})
	if elsewhere.Load() != 0 || report.Statuses[302] != 20 {
		t.Errorf("%d requests went elsewhere, statuses %v", elsewhere.Load(), report.Statuses)
	}
}

// TestAnIdleConnectionThatEndsIsReplaced: a request that was sent while its connection ended is lost; all
// others are answered on new connections.
func TestAnIdleConnectionThatEndsIsReplaced(t *testing.T) {
	r := newRig(t, serveRaw(t, sendsAndCloses(fine)))
	r.config.Connections = 1
	results, report := r.run()
	ok := results.Count(record.All, record.OK)
	lost := results.Count(record.All, record.Closed) + results.Count(record.All, record.Reset)
	if ok == 0 || ok+lost != 20 || report.Connects < ok {
		t.Errorf("%d ok and %d lost on %d connections, want 20 operations, one per connection", ok, lost,
			report.Connects)
	}
}

func TestInterruptionEndsTheLoad(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.config.Users = &Users{Number: 2}
	r.prepare()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.config.Connected = func() error {
		time.AfterFunc(50*time.Millisecond, cancel)
		return nil
	}
	report, err := Run(ctx, r.config)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was cancelled", err)
	}
	if report.Window <= 0 || report.Window >= time.Hour {
		t.Errorf("operations were begun for %v", report.Window)
	}
}
