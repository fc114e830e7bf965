package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/load/agent"
	"github.com/cleave-lab/cleave/load/objective"
	"github.com/cleave-lab/cleave/load/record"
	"github.com/cleave-lab/cleave/load/trial"
	"github.com/cleave-lab/cleave/systems/external"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// TestSearchSettingsReachTheLoadEngine: the settings of a study for searches are passed to the load engine.
func TestSearchSettingsReachTheLoadEngine(t *testing.T) {
	job := lab.LoadJob{Rate: 10, Search: true, Load: lab.Load{
		Scenario: json.RawMessage(`{}`), Duration: 2, Lateness: 0.05,
		Effort: lab.SearchEffort{Resolution: 1.25, Votes: 1},
	}}
	work, err := agentJob(job)
	if err != nil {
		t.Fatal(err)
	}
	if !work.Search || work.Resolution != 1.25 || work.Votes != 1 ||
		time.Duration(work.Spec.Lateness) != 50*time.Millisecond {
		t.Errorf("search %t, resolution %g, votes %d, lateness %v", work.Search, work.Resolution, work.Votes,
			time.Duration(work.Spec.Lateness))
	}
}

// TestRampUpReachesTheLoadEngine: the users of a closed loop begin within the ramp-up of the study.
func TestRampUpReachesTheLoadEngine(t *testing.T) {
	work, err := agentJob(lab.LoadJob{Users: 10, Load: lab.Load{Scenario: json.RawMessage(`{}`), Duration: 120,
		RampUp: 60}})
	if err != nil || time.Duration(work.Spec.Load.RampUp) != time.Minute || work.Spec.Load.Users != 10 {
		t.Errorf("load %+v, %v", work.Spec.Load, err)
	}
}

// TestSearchesBeginAtDifferentRates: if all searches tried the same rates, their results
// could not differ by less than the distance of two rates.
func TestSearchesBeginAtDifferentRates(t *testing.T) {
	begins := func(variant string, seed uint64, search bool) float64 {
		work, err := agentJob(lab.LoadJob{Rate: 200, Seed: seed, Variant: variant, Search: search,
			Load: lab.Load{Scenario: json.RawMessage(`{}`)}})
		rate, malformed := strconv.ParseFloat(work.Spec.Load.Rate, 64)
		if err != nil || malformed != nil {
			t.Fatal(err, malformed)
		}
		return rate
	}
	low, high := 400.0, 200.0
	for seed := range uint64(64) {
		rate := begins("sync", seed, true)
		low = min(low, rate)
		high = max(high, rate)
		if again := begins("sync", seed, true); rate < 200 || rate > 400 || rate != again {
			t.Errorf("seed %d begins at %g, and again at %g, want twice the same between 200 and 400", seed, rate,
				again)
		}
	}
	if low > 220 || high < 360 {
		t.Errorf("64 searches begin between %g and %g, want rates from all of 200 to 400", low, high)
	}
	if rate := firstRate(lab.LoadJob{Rate: 0.002, Search: true, Seed: 7}); !(rate >= 0.002 && rate <= 0.004) {
		t.Errorf("a search from 0.002 begins at %g", rate)
	}
	if one, other := begins("sync", 7, true), begins("async", 7, true); one == other {
		t.Errorf("two variants of a block both begin at %g", one)
	}
	if rate := begins("sync", 7, false); rate != 200 {
		t.Errorf("a load without a search has the rate %g, want 200", rate)
	}
}

// TestTheGeneratorConnectsAsFlagsSay: the flags about connections are passed to the load engine. --ca is
// tested apart, because compare would refuse a file that holds no certificate.
func TestTheGeneratorConnectsAsFlagsSay(t *testing.T) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, []byte("certificates"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := makePlan(t, "compare", "a=http://127.0.0.1:1", "b=http://127.0.0.1:2", "-r", "5", "-c", "7",
		"--timeout", "3s", "--http2").Study.Load
	load.Client.Roots = []byte("certificates")
	work, err := agentJob(lab.LoadJob{Load: *load, Target: "http://127.0.0.1:1", Rate: 5})
	if err != nil {
		t.Fatal(err)
	}
	if s := work.Spec; s.Connections != 7 || time.Duration(s.Timeout) != 3*time.Second ||
		s.Protocol != "http2" || string(s.Roots) != "certificates" {
		t.Errorf("%d connections, time limit %v, protocol %q, roots %q", s.Connections, time.Duration(s.Timeout),
			s.Protocol, s.Roots)
	}
	var flags compareFlags
	flags.isSet = func(string) bool { return false }
	flags.request.ca = ca
	if client, err := flags.client(); err != nil || string(client.Roots) != "certificates" {
		t.Errorf("of --ca came %q, %v", client.Roots, err)
	}
}

func TestExplainWithUsers(t *testing.T) {
	plan := makePlan(t, "explain", "shop", "--users", "4", "--quick")
	if p := plan.Study.Points; len(p) != 1 || p[0].Name != "users-4" || p[0].Levels[lab.FactorUsers] != 4 {
		t.Errorf("the points are %v", p)
	}
}

// TestLoadMeasuresHaveMetrics: each measure of loadMeasures is the value of a metric: times, bytes, and the
// share of bad statuses. Response times come first.
func TestLoadMeasuresHaveMetrics(t *testing.T) {
	s := record.Summary{
		Sent: 10, OK: 6, Errors: map[string]int64{"bad-status": 2, "rejected": 1, "timeout": 1},
		TransferRate: new(4096.0),
		ResponseTime: record.Percentiles{P50: new(2.0), Max: new(9.0)},
		ServiceTime:  record.Percentiles{P50: new(1.0), Max: new(3.0)}, SendLateness: record.Lag{P99: new(0.5)},
	}
	got := loaded.ReadMetrics(external.Metrics([]lab.Point{{}}), lab.Point{}, lab.LoadReport{
		Measures: loadMeasures(&s), Sent: s.Sent, OK: s.OK}).Values
	want := map[string]float64{
		"response_time_p50": 2, "response_time_max": 9, "service_time_p50": 1,
		"transfer_rate": 4096, "bad_status_share": 0.3,
		"requests": 10, "send_lateness_p99": 0.5, "error_share": 0.4,
	}
	if !maps.Equal(got, want) {
		t.Errorf("measures %v, want %v", got, want)
	}
	if first := loadMeasures(&s)[0]; first.Quantity != lab.ResponseTime {
		t.Errorf("the first measure is %+v, want that of a response time", first)
	}
}

// TestLatenessAloneSpoilsTheTimesThatItMoved: if an open load reached its rate and met its objective, late
// sends only invalidate the times that they may have changed. Otherwise the whole trial was limited.
func TestLatenessAloneSpoilsTheTimesThatItMoved(t *testing.T) {
	limit, err := objective.Parse("p99<100ms")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change  func(*record.Summary)
		limited bool
	}{
		"late": {func(*record.Summary) {}, false},
		"late, and short of CPU": {func(s *record.Summary) {
			s.Generator.LimitedBy = []string{"it used 99 %", "it sent late"}
		}, true},
		"short of CPU":     {func(s *record.Summary) { s.Generator.Moved = nil }, true},
		"rate not reached": {func(s *record.Summary) { s.AchievedRate = 50 }, true},
		"objective missed": {func(s *record.Summary) { s.ResponseTime.P99 = new(0.2) }, true},
		"closed loop":      {func(s *record.Summary) { s.OfferedRate = nil }, true},
		"rate not reached, but not late": {func(s *record.Summary) {
			s.AchievedRate = 50
			s.Generator = record.Generator{}
		}, false},
	} {
		s := record.Summary{OfferedRate: new(100.0), AchievedRate: 100, Duration: 10, Sent: 1000, OK: 1000,
			ResponseTime: record.Percentiles{P50: new(0.01), P99: new(0.05)},
			Generator: record.Generator{Limited: true, LimitedBy: []string{"it sent late"},
				Moved: []record.Moved{{Quantile: 0.99, By: 0.02, Limit: 0.01}}}}
		c.change(&s)
		data, err := json.Marshal(agent.Report{Schema: agent.Schema, Outcome: trial.Outcome{Summary: s}})
		if err != nil {
			t.Fatal(err)
		}
		read, err := generator{limit: limit}.Read(lab.UnitReport{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		late, wantLate := read.Late[0.99] == "it sent late", s.Generator.Limited && !c.limited
		if (len(read.Limited) > 0) != c.limited || late != wantLate || wantLate && len(read.Late) != 1 {
			t.Errorf("%s: limited by %q, late %v", name, read.Limited, read.Late)
		}
	}
}

// TestLoadsOfASearchAreKept: the report has every load of a search, with its times and the reason of a
// failure. Ends returns the two loads between which the capacity lies.
func TestLoadsOfASearchAreKept(t *testing.T) {
	probe := func(rate, p99 float64, longer bool, reasons ...string) record.Probe {
		return record.Probe{Rate: rate, Pass: len(reasons) == 0, Confirms: longer, Reasons: reasons,
			ResponseTime: record.Percentiles{P50: new(p99 / 2), P99: new(p99), Max: new(2 * p99)}}
	}
	search := searchOf(&record.Capacity{Rate: new(100.0), Reason: "why", Probes: []record.Probe{
		probe(200, 4, false, "p99", "errors"), probe(100, 1, false), probe(110, 3, false, "late"),
		probe(110, 2, false, "p99"), probe(100, 1.5, true),
	}})
	if n := len(search.Loads); n != 5 || search.Reason != "why" || search.Loads[0].Why != "p99; errors" {
		t.Errorf("of five loads %d are kept, %+v", n, search)
	}
	passed, failed := search.Ends(100)
	if passed == nil || !passed.Longer || *passed.P99 != 1.5 || failed == nil || failed.Rate != 110 ||
		failed.Why != "p99" || *failed.Longest != 4 {
		t.Errorf("the capacity lies between %+v and %+v, want the longer load and the last at 110/s", passed,
			failed)
	}
	if passed, failed = search.Ends(0); passed != nil || failed == nil || failed.Rate != 110 {
		t.Errorf("where no rate passed: %+v and %+v", passed, failed)
	}
}

// TestRelief: relief is at the end of the last second that was too slow. A load whose last second is too slow
// has none.
func TestRelief(t *testing.T) {
	limit, err := objective.Parse("p99<100ms,errors<1%")
	if err != nil {
		t.Fatal(err)
	}
	course := func(tails ...float64) (all []lab.Slice) {
		for i, p99 := range tails {
			s := lab.Slice{End: float64(i + 1)}
			if p99 > 0 { // 0: no answer in this second
				s.P99 = &p99
			}
			all = append(all, s)
		}
		return all
	}
	for name, c := range map[string]struct {
		course   []lab.Slice
		limit    objective.Objective
		want     float64
		relieved bool
	}{
		"never slow":       {course(0.01, 0.02, 0.01), limit, 0, true},
		"slow, then not":   {course(0.01, 0.5, 0.05, 0.2, 0.01), limit, 4, true},
		"nothing answered": {course(0.01, 0, 0.02), limit, 2, true},
		"slow to the end":  {course(0.01, 0.02, 0.5), limit, 0, false},
		"no objective":     {course(0.01, 0.5, 0.01), objective.Objective{}, 0, false},
		"no load":          {nil, limit, 0, false},
	} {
		if got, relieved := reliefOf(c.course, c.limit); got != c.want || relieved != c.relieved {
			t.Errorf("%s: %g, %v; want %g, %v", name, got, relieved, c.want, c.relieved)
		}
	}
}
