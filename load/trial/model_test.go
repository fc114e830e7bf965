package trial

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/load/scenario"
)

const second = scenario.Duration(time.Second)

// countsOf returns the flows due in each of the first seconds.
func countsOf(m model, seconds int) []int64 {
	counts := make([]int64, seconds)
	for arrivals := m.open.Arrivals(); ; {
		due, more := arrivals.Next()
		if !more || due >= time.Duration(seconds)*time.Second {
			return counts
		}
		counts[due/time.Second]++
	}
}

func TestModels(t *testing.T) {
	cases := []struct {
		name     string
		load     scenario.Load
		counts   []int64 // flows due in each second
		duration time.Duration
		peak     float64
		words    string
	}{
		{"constant per minute", scenario.Load{Rate: "120/m", Duration: 3 * second}, []int64{2, 2, 2},
			3 * time.Second, 2, "open, constant, 2/s"},
		{"no whole rate", scenario.Load{Rate: "11810/m", Duration: 1 * second}, []int64{197},
			1 * time.Second, 11810.0 / 60, "open, constant, 196.8/s"},
		{"usual duration", scenario.Load{Rate: "1"}, []int64{1, 1}, 10 * time.Second, 1, "open, constant, 1/s"},
		{"ramp", scenario.Load{Ramp: &scenario.Ramp{From: "0", To: "40"}, Duration: 2 * second}, []int64{10, 30},
			2 * time.Second, 40, "open, constant, ramp from 0/s to 40/s"},
		{"ramp down", scenario.Load{Ramp: &scenario.Ramp{From: "40/s", To: "0/s"}, Duration: 2 * second},
			[]int64{30, 10}, 2 * time.Second, 40, "ramp from 40/s to 0/s"},
		{"stairs", scenario.Load{Steps: &scenario.Stairs{From: "60/m", By: "2", Count: 3, Each: second},
			Duration: 99 * second}, []int64{1, 3, 5, 0}, 3 * time.Second, 5, "3 steps of 1s from 1/s by 2/s to 5/s"},
		{"spike", scenario.Load{Spike: &scenario.Spike{Base: "1", Peak: "9", At: second, For: second},
			Duration: 3 * second}, []int64{1, 9, 1}, 3 * time.Second, 9, "1/s with a spike of 9/s from 1s on for 1s"},
		{"spike at the end", scenario.Load{Spike: &scenario.Spike{Base: "2", Peak: "9", At: second, For: second},
			Duration: 2 * second}, []int64{2, 9, 0}, 2 * time.Second, 9, ""},
		{"replay", scenario.Load{Replay: "arrivals.txt"}, []int64{3}, 750 * time.Millisecond, 3,
			"open, constant, replay of 3 arrivals in arrivals.txt"},
		{"beginning of a replay", scenario.Load{Replay: "arrivals.txt", Duration: 300 * ms}, []int64{2},
			300 * time.Millisecond, 2, "replay of 2 arrivals"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := newModel(c.load, 1, "testdata")
			testset.Must(t, err)
			if got := countsOf(m, len(c.counts)); !slices.Equal(got, c.counts) {
				t.Errorf("due by second %v, want %v", got, c.counts)
			}
			if m.duration != c.duration || m.peak != c.peak || !strings.Contains(m.text, c.words) {
				t.Errorf("%v at most %g/s, %q; want %v, %g/s, %q", m.duration, m.peak, m.text, c.duration, c.peak,
					c.words)
			}
		})
	}
}

func TestArrivalsAreRandomFromTheSeed(t *testing.T) {
	l := scenario.Load{Spike: &scenario.Spike{Base: "100", Peak: "500", At: second, For: second},
		Duration: 3 * second, Arrivals: poisson}
	var counts [3][]int64
	for i, seed := range []uint64{1, 1, 2} {
		m, err := newModel(l, seed, "")
		testset.Must(t, err)
		counts[i] = countsOf(m, 3)
	}
	if !slices.Equal(counts[0], counts[1]) || slices.Equal(counts[0], counts[2]) {
		t.Errorf("seeds 1, 1 and 2 give %v", counts)
	}
}

// TestArrivalsCanBeJittered: jitter does not change their number, for any course of the rate.
func TestArrivalsCanBeJittered(t *testing.T) {
	l := scenario.Load{Rate: "100", Duration: 3 * second, Arrivals: jittered}
	m, err := newModel(l, 1, "")
	counts := countsOf(m, 3)
	if err != nil || !slices.Equal(counts, []int64{100, 100, 100}) || m.text != "open, jittered, 100/s" {
		t.Errorf("%s: %v a second, error %v", m.text, counts, err)
	}
	early := 0
	walk := m.open.Arrivals()
	for i := range 300 {
		if due, _ := walk.Next(); due < time.Duration(10*i+5)*time.Millisecond {
			early++
		}
	}
	if early < 100 || early > 200 {
		t.Errorf("%d of 300 flows are due in the first half of their interval", early)
	}
}

func TestMistakesOfModels(t *testing.T) {
	for name, c := range map[string]struct {
		load scenario.Load
		want string
	}{
		"two models": {scenario.Load{Rate: "1", Ramp: &scenario.Ramp{}, Replay: "x"},
			"rate and ramp and replay exclude one another"},
		"rate":      {scenario.Load{Rate: "fast"}, `rate "fast"`},
		"ramp":      {scenario.Load{Ramp: &scenario.Ramp{From: "a", To: "b"}}, "ramp: to"},
		"flat ramp": {scenario.Load{Ramp: &scenario.Ramp{From: "0", To: "0"}}, "no operation is ever due"},
		"steps":     {scenario.Load{Steps: &scenario.Stairs{From: "1", By: "1"}}, "0 steps of 0s"},
		"endless steps": {scenario.Load{Steps: &scenario.Stairs{From: "1", By: "1", Count: 9999,
			Each: scenario.Duration(1 << 60)}}, "longer than 168h"},
		"long steps": {scenario.Load{Steps: &scenario.Stairs{From: "1", By: "1", Count: 2, Each: 303_000 * second}},
			"2 steps of 84h10m0s are longer than 168h"},
		"long replay": {scenario.Load{Replay: "years.txt"}, "longer than 168h"},
		"late spike": {scenario.Load{Spike: &scenario.Spike{Base: "1", Peak: "2", At: 9 * second,
			For: 2 * second}}, "not within the load of 10s"},
		"no replay":        {scenario.Load{Replay: "missing"}, "no such file"},
		"negative time":    {scenario.Load{Rate: "1", Duration: -1}, "not above zero"},
		"negative users":   {scenario.Load{Users: -1}, "none may be negative"},
		"empty replay cut": {scenario.Load{Replay: "late.txt", Duration: 1}, "no recorded arrivals"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := newModel(c.load, 1, "testdata"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestReadArrivals(t *testing.T) {
	cases := []struct {
		name, text string
		want       []time.Duration
		err        string
	}{
		{"seconds", "0.5\n0\n\n1e-9\n", []time.Duration{0, 1, 5e8}, ""},
		{"no number", "0.5\nsoon\n", nil, "line 2"},
		{"before the beginning", "-1\n", nil, `"-1" is not a time`},
		{"more than a time can be", "9223372036.854776\n", nil, "is not a time"},
		{"empty", "", nil, "the file is empty"},
		{"endless line", strings.Repeat("1", maxLine+1), nil, "line 1 has more than 1048576 bytes"},
		{"lines", `{"started":"2026-01-01T00:00:01Z"}` + "\n" + `{"started":"2026-01-01T00:00:00.5Z"}`,
			[]time.Duration{0, 5e8}, ""},
		{"lines of another tool", `{"time":1}`, nil, `no time under "started"`},
		{"table", "label,timeStamp\na,1700000000010\nb,1700000000000\n", []time.Duration{0, 1e7}, ""},
		{"table with quotes", "\"timeStamp\",\"label\"\n\"1700000000010\",\"a\"\n\"1700000000000\",\"b\"\n",
			[]time.Duration{0, 1e7}, ""},
		{"table of a spreadsheet", "\ufefftimeStamp\n1700000000010\n1700000000000\n", []time.Duration{0, 1e7}, ""},
		{"table without times", "label,elapsed\na,1\n", nil, "no column timeStamp"},
		{"table with words", "timeStamp\nyesterday\n", nil, `line 2: timeStamp "yesterday"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := readArrivals(strings.NewReader(c.text))
			switch {
			case c.err == "" && (err != nil || !slices.Equal(got, c.want)):
				t.Errorf("arrivals %v, error %v, want %v", got, err, c.want)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one that says %q", err, c.err)
			}
		})
	}
}

// TestListsOfOperationsAreReplayed: only the first steps of flows count as arrivals.
func TestListsOfOperationsAreReplayed(t *testing.T) {
	for file, want := range map[string]int64{"jmeter.jtl": 3, "operations.jsonl": 2} {
		m, err := newModel(scenario.Load{Replay: file}, 1, "testdata")
		testset.Must(t, err)
		played := &Trial{spec: Spec{Of: 1}, model: m}
		if n := played.Due().Before(m.duration); n != want {
			t.Errorf("%s: %d arrivals, want %d", file, n, want)
		}
	}
}

func FuzzReadArrivals(f *testing.F) {
	f.Add("0.5\n0\n")
	f.Add("timeStamp,elapsed\n1,2\n")
	f.Add(`{"started":"2026-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, text string) {
		times, err := readArrivals(strings.NewReader(text))
		if err != nil {
			return
		}
		if !slices.IsSorted(times) || len(times) > 0 && times[0] < 0 {
			t.Fatalf("arrivals are %v", times)
		}
	})
}
