package meter

import (
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 2 3 4 5 6 7 8 9 10 14001 15002 16 17 18 19 7 21 22\n"
	cases := []struct {
		name, text string
		want       stat
		fails      bool
	}{
		{"plain", "12 (cleave-unit) S" + rest, stat{'S', 1, 14001, 15002, 16, 17, 7}, false},
		{"brackets and blanks in the name", "12 (a) b (c)) R" + rest, stat{'R', 1, 14001, 15002, 16, 17, 7}, false},
		{"ended", "12 (x) Z" + rest, stat{'Z', 1, 14001, 15002, 16, 17, 7}, false},
		{"cut short", "12 (x) S 1 2 3", stat{}, true},
		{"without a name", "12 S", stat{}, true},
		{"empty", "", stat{}, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseStat([]byte(c.text))
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("parseStat = %+v, %v", got, err)
			}
		})
	}
}

func TestLineValue(t *testing.T) {
	const text = "Name:\tx\nnonvoluntary_ctxt_switches:\t3\nvoluntary_ctxt_switches:\t12\nPss:                " +
		"1234 kB\nPss_Dirty: 9 kB\n"
	cases := []struct {
		key   string
		want  int64
		found bool
	}{
		{"voluntary_ctxt_switches:", 12, true},
		{"nonvoluntary_ctxt_switches:", 3, true},
		{"Pss:", 1234, true},
		{"Name:", 0, false},
		{"Absent:", 0, false},
	}
	for _, c := range cases {
		if got, found := lineValue([]byte(text), c.key); got != c.want || found != c.found {
			t.Errorf("lineValue(%q) = %d, %v", c.key, got, found)
		}
	}
}

func TestSwitchesBetween(t *testing.T) {
	cases := []struct {
		name          string
		open, closing []task
		voluntary     int64
		involuntary   int64
	}{
		{"same threads", []task{{1, 10, 1}, {2, 5, 0}}, []task{{1, 13, 2}, {2, 5, 0}}, 3, 1},
		{"a new thread counts in full", []task{{1, 10, 1}}, []task{{1, 10, 1}, {2, 4, 2}}, 4, 2},
		{"an ended thread takes nothing away", []task{{1, 10, 1}, {2, 500, 50}}, []task{{1, 11, 1}}, 1, 0},
		{"a thread id used again is a new thread", []task{{1, 10, 1}}, []task{{1, 3, 5}}, 3, 5},
		{"also when only involuntary ones tell", []task{{1, 10, 9}}, []task{{1, 30, 5}}, 30, 5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			voluntary, involuntary := switchesBetween(c.open, c.closing)
			if voluntary != c.voluntary || involuntary != c.involuntary {
				t.Errorf("switches = %d, %d, want %d, %d", voluntary, involuntary, c.voluntary, c.involuntary)
			}
		})
	}
}

func TestPeakOfTheSumIsNotTheSumOfPeaks(t *testing.T) {
	m := newMemory(3, 2)
	m.add([]int64{100, 10, 30}, []int{0, 1, 1})
	m.add([]int64{40, 50, 20}, []int{0, 1, 1})
	if m.total.peak != 140 || m.total.mean() != 125 {
		t.Errorf("total peak %d, mean %d, want 140 and 125", m.total.peak, m.total.mean())
	}
	if m.roles[1].peak != 70 || m.units[2].peak != 30 {
		t.Errorf("role peak %d, unit peak %d, want 70 and 30", m.roles[1].peak, m.units[2].peak)
	}
}

func TestSplitFollowsTicks(t *testing.T) {
	usage := lab.Usage{Units: 2, CPUSeconds: 0.4}
	split(&usage, stat{userTicks: 30, systemTicks: 10})
	if usage.UserSeconds != 0.3 || usage.SystemSeconds != 0.1 {
		t.Errorf("split = %v + %v, want 0.3 + 0.1", usage.UserSeconds, usage.SystemSeconds)
	}
}

func TestTooFewTicksGiveNoSplit(t *testing.T) {
	for _, ticks := range []stat{{}, {userTicks: 30, systemTicks: 9}} {
		usage := lab.Usage{Units: 2, CPUSeconds: 0.4}
		split(&usage, ticks)
		for _, metric := range []string{"user_seconds", "system_seconds"} {
			if _, missing := usage.Unavailable[metric]; !missing {
				t.Errorf("%d ticks: %s has no reason", ticks.userTicks+ticks.systemTicks, metric)
			}
		}
		if usage.UserSeconds != 0 || usage.SystemSeconds != 0 {
			t.Errorf("%v s and %v s although they are not available", usage.UserSeconds, usage.SystemSeconds)
		}
		if _, missing := usage.Unavailable["cpu_seconds"]; missing {
			t.Error("CPU seconds need no tick, yet they are missing")
		}
	}
}

func TestGroupSaysWhichUnitLacksWhat(t *testing.T) {
	w := &worker{units: []lab.Unit{{Name: "a"}, {Name: "b"}}}
	deltas := []lab.Usage{
		{CPUSeconds: 1},
		{CPUSeconds: 2, Unavailable: map[string]string{"read_bytes": "permission denied"}},
	}
	ticks := []stat{{userTicks: 90, systemTicks: 10}, {userTicks: 60, systemTicks: 140}}
	got := w.group([]int{0, 1}, deltas, ticks)
	if got.CPUSeconds != 3 || got.UserSeconds != 1.5 || got.SystemSeconds != 1.5 {
		t.Errorf("CPU = %v s = %v + %v, want 3 = 1.5 + 1.5", got.CPUSeconds, got.UserSeconds, got.SystemSeconds)
	}
	if reason := got.Unavailable["read_bytes"]; reason != "1 of 2 units, first b: permission denied" {
		t.Errorf("reason = %q", reason)
	}
	if alone := w.group([]int{1}, deltas, make([]stat,
		2)); alone.Unavailable["read_bytes"] != "permission denied" {
		t.Errorf("reason of the unit itself = %q", alone.Unavailable["read_bytes"])
	}
	if _, missing := w.group([]int{0}, deltas, make([]stat, 2)).Unavailable["read_bytes"]; missing {
		t.Error("unit a lacks what only b lacks")
	}
}

func TestMissingSourcesCarryAReason(t *testing.T) {
	p := &probe{noMemory: "permission denied"}
	open := counters{}
	note(&open.missing, "no io file", "read_bytes")
	got := missing(p, &open, &counters{})
	if got["read_bytes"] != "no io file" || got["peak_memory_bytes"] != "permission denied" {
		t.Errorf("missing = %v", got)
	}
	if all := missing(&probe{}, &counters{}, &counters{}); all != nil {
		t.Errorf("missing = %v where nothing is", all)
	}
}

func TestPauseKeepsTheBudget(t *testing.T) {
	m := New()
	if got := m.pause(time.Microsecond); got != m.shortest {
		t.Errorf("pause after a cheap round = %v, want %v", got, m.shortest)
	}
	cost := 20 * time.Millisecond
	if share := float64(cost) / float64(m.pause(cost)); share > m.share*1.0001 {
		t.Errorf("a round of %v every %v takes %.4f of a core, want at most %.4f", cost, m.pause(cost), share,
			m.share)
	}
}

func TestRoundGivesWayToAMark(t *testing.T) {
	w := newWorker(New(), []lab.Unit{{Name: "a"}})
	w.probes = []source{&probe{unit: lab.Unit{Name: "a"}, noMemory: "not asked"}}
	w.interrupted = func() bool { return true }
	w.round()
	if len(w.samples) != 0 {
		t.Error("a round went on although a mark waits")
	}
}

func TestTheErrorOfAnEndedUnitNamesIt(t *testing.T) {
	if got := gone(lab.Unit{Name: "a", PID: 3}).Error(); !strings.Contains(got, `"a" (pid 3)`) {
		t.Errorf("error = %q", got)
	}
}
