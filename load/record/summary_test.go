package record

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/docs/schema"
	"github.com/cleave-lab/cleave/internal/testset"
)

// stall returns a load of 5,000/s for 20 s in which everything stops for the 16th second: the operations
// that are due in it end with it.
func stall(t *testing.T) *Results {
	t.Helper()
	r := NewResults(Options{Operations: []string{"get"}, Window: 20 * time.Second, Timeout: 5 * time.Second})
	begin, end := 15*time.Second, 16*time.Second
	for i := range 100_000 {
		due := time.Duration(i) * 200 * time.Microsecond
		s := Sample{Intended: due, Sent: due, Finished: due + 100*time.Microsecond}
		if due >= begin && due < end {
			s.Free = end
			s.Sent = end
			s.Finished = end + 100*time.Microsecond
		}
		r.Add(&s)
	}
	return r
}

func TestStallIsNotOmitted(t *testing.T) {
	s := stall(t).Summarize(20*time.Second, new(int64(100_000)))
	cases := []struct {
		name string
		got  *float64
		want float64
	}{
		{"p50", s.ResponseTime.P50, 0.0001}, {"p90", s.ResponseTime.P90, 0.0001},
		{"p99", s.ResponseTime.P99, 0.8001},
		{"p99.9", s.ResponseTime.P999, 0.9801}, {"max", s.ResponseTime.Max, 1.0001},
		// 5,000 of 100,000 wait half a second in the mean
		{"mean", s.ResponseTime.Mean, 0.0001 + 0.05*0.5001},
		{"service p99.9", s.ServiceTime.P999, 0.0001}, {"lateness", s.SendLateness.Max, 0},
	}
	for _, c := range cases {
		if c.got == nil || *c.got < c.want*0.999-1e-7 || *c.got > c.want*1.001+1e-7 {
			t.Errorf("%s = %v, want %g s", c.name, *c.got, c.want)
		}
	}
	if s.Late != 4995 { // the last five of the second waited a millisecond at most
		t.Errorf("%d late, want 4995", s.Late)
	}
	if *s.OfferedRate != 5000 || s.AchievedRate != 5000 {
		t.Errorf("offered %g, achieved %g", *s.OfferedRate, s.AchievedRate)
	}
}

func TestCountsAddUp(t *testing.T) {
	r := NewResults(twoOperations())
	for i := range 100 {
		r.Add(&Sample{Operation: i % 2, Outcome: Outcome(i % outcomes), Finished: time.Duration(i+1) * ms})
	}
	r.Unsent(0, 3)
	s := r.Summarize(10*time.Second, new(int64(103)))
	sum := s.OK + s.InFlight
	for n := range maps.Values(s.Errors) {
		sum += n
	}
	if sum != s.Sent || s.Sent != 100 || s.Unsent != 3 || len(s.Errors) != outcomes-2 {
		t.Errorf("%d ok, %d in flight, %d kinds of errors: %d of %d sent; %d unsent", s.OK, s.InFlight,
			len(s.Errors), sum, s.Sent, s.Unsent)
	}
	if a, b := s.Operations[0], s.Operations[1]; a.Sent+b.Sent != s.Sent || a.Name != "GET /a b,c" ||
		a.Unsent != 3 || b.Unsent != 0 {
		t.Errorf("operations %+v and %+v", a, b)
	}
	if *s.ResponseTimeOK.P50 == *s.ResponseTime.P50 {
		t.Error("times of good operations are those of all")
	}
}

func TestTailNeedsSamples(t *testing.T) {
	for n, refused := range map[int]bool{2999: true, 3000: false} {
		h := newHistogram()
		testset.Must(t, h.RecordValues(int64(ms), int64(n)))
		if p := PercentilesOf(h); (p.P999 == nil) != refused || p.P99 == nil {
			t.Errorf("%d operations: p99.9 = %v, p99 = %v", n, p.P999, p.P99)
		}
	}
	if p := PercentilesOf(newHistogram()); p != (Percentiles{}) {
		t.Errorf("nothing has percentiles: %+v", p)
	}
}

func TestGeneratorLimits(t *testing.T) {
	good := func() Summary {
		return Summary{
			ResponseTime: Percentiles{P50: new(0.010)},
			SendLateness: Lag{P99: new(0.0009)},
			Generator:    Generator{CPUSeconds: 9},
			Errors:       map[string]int64{"refused": 5},
		}
	}
	cases := []struct {
		name   string
		change func(*Summary)
		pacing time.Duration
		want   []string // none: the generator is fine
	}{
		{"fine", func(*Summary) {}, 0, nil},
		{"nothing sent", func(s *Summary) {
			s.SendLateness = Lag{}
			s.ResponseTime = Percentiles{}
		}, 0, nil},
		{"processor", func(s *Summary) { s.Generator.CPUSeconds = 9.6 }, 0, []string{"96 % of its 1 processors"}},
		{"lag", func(s *Summary) { s.SendLateness.P99 = new(0.001) }, 0, []string{"1 ms late or more"}},
		{"lag of the pacing", func(s *Summary) { s.SendLateness.P99 = new(0.0015) }, time.Millisecond, nil},
		{"lag, slow target", func(s *Summary) {
			s.SendLateness.P99 = new(0.004)
			s.ResponseTime.P50 = new(0.1)
		},
			0, nil},
		{"ports", func(s *Summary) { s.Errors["exhausted"] = 2 }, 0, []string{"for 2 operations"}},
		{"users missing within 5 %", func(s *Summary) { s.Closed = new(LittlesLaw(10, 51, 0.09, 100*ms)) }, 0,
			nil},
		{"users missing", func(s *Summary) { s.Closed = new(LittlesLaw(10, 49, 0.09, 100*ms)) }, 0,
			[]string{"10 users", "9.3"}},
		{"all users", func(s *Summary) { s.Closed = new(LittlesLaw(10, 52, 0.1, 100*ms)) }, 0, nil},
		{"two", func(s *Summary) {
			s.Generator.CPUSeconds = 10
			s.SendLateness.P99 = new(0.5)
		}, 0,
			[]string{"100 %", "500 ms"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.change(&s)
			s.CheckGenerator(1, 10*time.Second, c.pacing, []Moved{{}})
			by := strings.Join(s.Generator.LimitedBy, "\n")
			if s.Generator.Limited != (len(c.want) > 0) {
				t.Errorf("limited = %v by %q", s.Generator.Limited, by)
			}
			for _, want := range c.want {
				if !strings.Contains(by, want) {
					t.Errorf("limited by %q, want it to say %q", by, want)
				}
			}
			if late := strings.Contains(by, "late or more"); late != (len(s.Generator.Moved) > 0) {
				t.Errorf("limited by %q, and these figures may have moved: %v", by, s.Generator.Moved)
			}
		})
	}
}

func TestAStallOfAClosedLoopIsNoted(t *testing.T) {
	at := func(seconds float64) *float64 { return &seconds }
	closed := &ClosedLoop{Users: 2}
	for name, c := range map[string]struct {
		s    Summary
		want bool
	}{
		"a stall": {Summary{Closed: closed, Duration: 10,
			ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, true},
		"an open loop": {Summary{Duration: 10, ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, false},
		"a heavy tail": {Summary{Closed: closed, Duration: 10,
			ServiceTime: Percentiles{P99: at(0.3), Max: at(2)}}, false},
		"short for a load": {Summary{Closed: closed, Duration: 300,
			ServiceTime: Percentiles{P99: at(0.01), Max: at(2)}}, false},
		"nothing was timed": {Summary{Closed: closed, Duration: 10}, false},
	} {
		if got := c.s.Stall(); strings.HasPrefix(got,
			"one operation took 2 s, 200 times the 99th percentile") != c.want || (got != "") != c.want {
			t.Errorf("%s: %q, want a stall reported: %t", name, got, c.want)
		}
	}
}

func TestSummaryMatchesItsSchema(t *testing.T) {
	full := stall(t).Summarize(20*time.Second, new(int64(100_000)))
	full.Target = "http://127.0.0.1:8080/"
	full.Model = "open, constant, 5000/s"
	full.Errors["timeout"] = 1
	full.Generator = Generator{CPUSeconds: 1, PeakMemory: 1 << 20, Pacing: "exact", Limited: true,
		LimitedBy: []string{"why"}}
	full.Unchecked = []string{"get"}
	full.Closed = new(LittlesLaw(10, 50, 0.1, 100*ms))
	full.Capacity = &Capacity{Rate: new(900.0), Low: new(900.0), Objective: "p99<50ms",
		Reason: "why", Probes: []Probe{{Rate: 900, Achieved: 899, Reasons: []string{"why"},
			ResponseTime: full.ResponseTime}}}
	empty := NewResults(twoOperations()).Summarize(0, nil)
	for name, s := range map[string]Summary{"full": full, "empty": empty} {
		text, err := json.Marshal(s)
		testset.Must(t, err)
		if err := schema.Validate("load", text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The schema knows the outcomes that are errors, and no others.
	for _, o := range Outcomes() {
		s := full
		s.Errors = map[string]int64{o.String(): 1}
		text, err := json.Marshal(s)
		testset.Must(t, err)
		if err := schema.Validate("load", text); (err == nil) != o.IsError() {
			t.Errorf("an error called %s: %v", o, err)
		}
	}
}
