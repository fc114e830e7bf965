package engine

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/load/schedule"
)

// rig is one load on a server.
type rig struct {
	t      *testing.T
	host   string
	config Config
	file   *scenario.File
	plan   *scenario.Plan
}

// newRig aims a load at an address: by default an open one of 20 operations.
func newRig(t *testing.T, address string) *rig {
	t.Helper()
	return &rig{
		t:    t,
		host: address,
		config: Config{Target: NewTarget(netip.MustParseAddrPort(address)),
			Load: Load{Connections: 4, Duration: time.Hour, Timeout: time.Minute, KeepAlive: true}},
		file: scenario.Single(scenario.Step{Name: "op", Request: "GET /"}),
	}
}

// step returns the only step of the only flow, which a test may change.
func (r *rig) step() *scenario.Step { return &r.file.Flows[0].Steps[0] }

// steps replaces the steps of the only flow.
func (r *rig) steps(steps ...scenario.Step) { r.file.Flows[0].Steps = steps }

// open plays n operations, one every 10 ms. The load ends when they are done.
func (r *rig) open(n int) {
	r.t.Helper()
	const gap = 10 * time.Millisecond
	plan, err := schedule.Constant(1/gap.Seconds(), time.Duration(n)*gap)
	testset.Must(r.t, err)
	r.config.Open = plan.Arrivals()
}

func (r *rig) pace(text string) {
	r.t.Helper()
	var err error
	if r.config.Pacing, err = ParsePacing(text); err != nil {
		r.t.Fatal(err)
	}
}

// prepare completes the configuration and returns its recorder.
func (r *rig) prepare() *record.Recorder {
	r.t.Helper()
	if r.config.Open == nil && r.config.Users == nil {
		r.open(20)
	}
	var err error
	if r.plan, err = r.file.Compile(r.t.TempDir()); err != nil {
		r.t.Fatal(err)
	}
	r.config.Player = r.plan.Player(scenario.Origin{Host: r.host})
	recorder := record.NewRecorder(record.Options{
		Operations: r.plan.Operations(), Window: r.config.Duration, Timeout: r.config.Timeout,
	})
	r.config.Recorder = recorder
	return recorder
}

// run plays the load and returns what was recorded.
func (r *rig) run() (*record.Results, Report) {
	r.t.Helper()
	r.prepare()
	return r.play()
}

// play plays the load that was prepared.
func (r *rig) play() (*record.Results, Report) {
	r.t.Helper()
	var report Report
	ended := make(chan error, 1)
	go func() {
		var err error
		report, err = Run(r.t.Context(), r.config)
		ended <- err
	}()
	results, err := record.Collect(nil, r.config.Recorder)
	testset.Must(r.t, err)
	testset.Must(r.t, <-ended)
	return results, report
}

// playTapped prepares and plays the load, and calls see with every sample.
func (r *rig) playTapped(see func(*record.Sample)) {
	r.t.Helper()
	tap := r.prepare().Tap()
	ended := make(chan error, 1)
	go func() {
		ended <- tap.Each(func(s *record.Sample) error {
			see(s)
			return nil
		})
	}()
	r.play()
	testset.Must(r.t, <-ended)
}

// want asserts the number of operations by outcome; missing outcomes must have none.
func want(t *testing.T, results *record.Results, counts map[record.Outcome]int64) {
	t.Helper()
	for _, outcome := range record.Outcomes() {
		if got := results.Count(record.All, outcome); got != counts[outcome] {
			t.Errorf("%d operations ended as %s, want %d", got, outcome, counts[outcome])
		}
	}
}

// Run plays one loop.
func Run(ctx context.Context, config Config) (Report, error) {
	reports, err := RunAll(ctx, []Config{config})
	return reports[0], err
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }

func TestClosedLoopKeepsUsersBusy(t *testing.T) {
	r := newRig(t, serve(t, hello))
	r.config.Users = &Users{Number: 3}
	r.config.Duration = 500 * time.Millisecond
	results, report := r.run()
	if n := results.Count(record.All, record.OK); n < 3 || n != results.Sent(record.All) {
		t.Errorf("%d of %d operations are ok, want all", n, results.Sent(record.All))
	}
	if report.Connects != 3 {
		t.Errorf("%d connections were made, want 3", report.Connects)
	}
}

// TestADeadReplicaGetsItsShareOnly: connections to it fail at once, and the next one goes to the other.
func TestADeadReplicaGetsItsShareOnly(t *testing.T) {
	const unreachable = "255.255.255.255:1" // TCP has no broadcast
	r := newRig(t, serve(t, hello))
	r.config.Target = NewTarget(netip.MustParseAddrPort(r.host), netip.MustParseAddrPort(unreachable))
	r.config.KeepAlive = false
	results, report := r.run()
	want(t, results, map[record.Outcome]int64{record.OK: 10, record.Unreachable: 10})
	if report.Connects != 20 {
		t.Errorf("%d attempts to connect are counted, want 20", report.Connects)
	}
}

func TestConnectionsGoToAllReplicasInTurn(t *testing.T) {
	at := netip.MustParseAddrPort
	target := NewTarget(at("198.18.0.1:80"), at("198.18.0.2:81"), at("198.18.0.3:82"))
	var ports []int
	for n := range int64(4) {
		_, address := target.sockaddr(n)
		ports = append(ports, address.(*unix.SockaddrInet4).Port)
	}
	if want := []int{80, 81, 82, 80}; !slices.Equal(ports, want) {
		t.Errorf("connections go to the ports %v, want %v", ports, want)
	}
}
