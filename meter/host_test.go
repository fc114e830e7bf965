package meter

import (
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// hostLike returns the machine whose files are in a folder of testdata.
func hostLike(name string) *Host {
	directory, err := os.Getwd()
	if err != nil {
		panic(err) // cannot happen in a test binary
	}
	return &Host{root: directory + "/testdata/" + name}
}

func TestEnvironmentFacts(t *testing.T) {
	cases := []struct {
		host, fact string
		value      any
		unit       string
	}{
		{"laptop-without-limits", "cpu_model", "Example CPU @ 3.00GHz", ""},
		{"laptop-without-limits", "cores_online", 5, "cores"},
		{"laptop-without-limits", "cpu_governor", "powersave", ""},
		{"laptop-without-limits", "smt", "on", ""},
		{"laptop-without-limits", "virtualised", false, ""},
		{"laptop-without-limits", "memory_total", int64(16_384_000_000), "B"},
		{"laptop-without-limits", "transparent_hugepages", "madvise", ""},
		{"laptop-without-limits", "aslr", int64(2), ""},
		{"laptop-without-limits", "kernel", "6.1.0-amd64", ""},
		{"laptop-without-limits", "os", "Debian GNU/Linux 12 (bookworm)", ""},
		{"laptop-without-limits", "local_port_range", "32768-60999", ""},
		{"laptop-without-limits", "cgroup_cpu_limit", "unlimited", ""},
		{"laptop-without-limits", "cgroup_memory_limit", "unlimited", ""},
		{"laptop-without-limits", "netem", true, ""},
		{"laptop-without-limits", "ipvs", true, ""},
		{"laptop-without-limits", "rapl", true, ""},
		{"laptop-without-limits", "pressure", true, ""},
		{"container-of-two-versions", "virtualised", true, ""},
		{"container-of-two-versions", "cgroup_cpu_limit", 1.5, "cores"},
		{"container-of-two-versions", "cgroup_memory_limit", int64(536870912), "B"},
	}
	for _, c := range cases {
		t.Run(c.host+"/"+c.fact, func(t *testing.T) {
			got := hostLike(c.host).Environment()[c.fact]
			if got.Value != c.value || got.Unit != c.unit || got.Unavailable != "" {
				t.Errorf("%s = %#v (%T), want %#v %s", c.fact, got, got.Value, c.value, c.unit)
			}
		})
	}
}

func TestMissingFactsCarryAReason(t *testing.T) {
	cases := []struct{ fact, reason string }{
		{"cpu_governor", "scaling_governor: no such file"},
		{"cores_online", "online: no such file"},
		{"memory_total", "meminfo: no such file"},
		{"os", "os-release: no such file"},
		{"transparent_hugepages", "want one word in square brackets"},
		{"somaxconn", `holds "many"`},
		{"netem", "module sch_netem of kernel 6.1.0-cloud is not installed"},
		{"ipvs", "built without CONFIG_IP_VS"},
		{"rapl", "no energy counters"},
		{"build_version", "built without a version"},
	}
	environment := hostLike("container-of-two-versions").Environment()
	for _, c := range cases {
		t.Run(c.fact, func(t *testing.T) {
			got := environment[c.fact]
			if got.Value != nil || !strings.Contains(got.Unavailable, c.reason) {
				t.Errorf("%s = %#v, want a reason with %q", c.fact, got, c.reason)
			}
			if strings.Contains(got.Unavailable, "testdata") {
				t.Errorf("reason %q shows a path of the test", got.Unavailable)
			}
		})
	}
}

func TestEveryFactOfThisHostIsAValueOrAReason(t *testing.T) {
	environment := NewHost("v1").Environment()
	for name, fact := range environment {
		if (fact.Value == nil) == (fact.Unavailable == "") {
			t.Errorf("%s = %#v, want either a value or a reason", name, fact)
		}
	}
	if got := environment["build_version"].Value; got != "v1" {
		t.Errorf("version = %v, want what the caller said", got)
	}
	name, err := os.Hostname()
	if err != nil || name == "" {
		return
	}
	for key, fact := range environment {
		if text, ok := fact.Value.(string); ok && text == name {
			t.Errorf("%s is the name of this host", key)
		}
	}
}

func TestEveryFactIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/results.md")
	testset.Must(t, err)
	for name := range NewHost("").Environment() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/results.md does not explain the fact %s", name)
		}
	}
}

func TestProcessorTicks(t *testing.T) {
	got, err := hostLike("laptop-without-limits").processorTicks()
	want := ticks{busy: 4113 + 10 + 2466 + 5 + 59, steal: 9, total: 4113 + 10 + 2466 + 318282 + 361 + 5 + 59 + 9}
	if err != nil || got != want {
		t.Errorf("ticks = %+v, %v, want %+v", got, err, want)
	}
	if _, err := hostLike("container-of-two-versions").processorTicks(); err == nil {
		t.Error("a stat file without processors is no error")
	}
}

func TestShares(t *testing.T) {
	open := &reading{processors: ticks{busy: 100, steal: 10, total: 1000}, own: time.Second}
	closing := &reading{processors: ticks{busy: 250, steal: 30, total: 1400}, own: 1250 * time.Millisecond}
	var c lab.Conditions
	shares(&c, open, closing, 0.75)
	// 4 s of processors: 0.2 s stolen; 1.5 s busy less 0.75 s units and 0.25 s own.
	if math.Abs(c.StealShare-0.05) > 1e-12 || math.Abs(c.OthersShare-0.125) > 1e-12 {
		t.Errorf("steal %v, others %v, want 0.05 and 0.125", c.StealShare, c.OthersShare)
	}
	var idle lab.Conditions
	shares(&idle, open, closing, 9)
	if idle.OthersShare != 0 {
		t.Errorf("others = %v where the units used more than all, want 0", idle.OthersShare)
	}
	var short lab.Conditions
	closing.processors = ticks{busy: 102, steal: 11, total: 1010}
	shares(&short, open, closing, 0)
	if short.StealShare != 0 || short.Unavailable["steal_share"] == "" ||
		short.Unavailable["others_share"] == "" {
		t.Errorf("a window of 10 ticks gives %+v, want reasons", short)
	}
}

func TestStalls(t *testing.T) {
	start := time.Unix(1000, 0)
	open := &reading{at: start, stalled: map[string]int64{"cpu": 500, "io": 0},
		reasons: map[string]string{"memory": "no file"}}
	closing := &reading{at: start.Add(2 * time.Second), stalled: map[string]int64{"cpu": 500_500, "io": 0},
		reasons: open.reasons}
	var c lab.Conditions
	stalls(&c, open, closing)
	if c.PressureShares["cpu"] != 0.25 || c.PressureShares["io"] != 0 {
		t.Errorf("pressure = %v, want cpu 0.25 and io 0", c.PressureShares)
	}
	if _, there := c.PressureShares["memory"]; there || c.Unavailable["pressure_shares.memory"] != "no file" {
		t.Errorf("memory pressure = %v, reason %q", c.PressureShares, c.Unavailable["pressure_shares.memory"])
	}
}

func TestObservationOfThisHost(t *testing.T) {
	observation, err := NewHost("").Observe()
	testset.Must(t, err)
	observation.Open()
	observation.Close()
	c := observation.End(0)
	if c.CalibrationBefore <= 0 || c.CalibrationAfter <= 0 {
		t.Errorf("calibration = %v s, %v s, want times", c.CalibrationBefore, c.CalibrationAfter)
	}
	if _, err := os.Stat("/proc/pressure/cpu"); err == nil && len(c.PressureShares) == 0 {
		t.Errorf("no pressure although the kernel keeps it: %v", c.Unavailable)
	}
}

// TestOneCalibrationForTwoTrials: a trial that begins directly after another uses its last calibration.
func TestOneCalibrationForTwoTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := NewHost("")
		before := func(h *Host) float64 {
			observation, err := h.Observe()
			testset.Must(t, err)
			return observation.End(0).CalibrationBefore
		}
		before(host)
		host.calibrated.seconds = 42
		if seconds := before(host); seconds != 42 {
			t.Errorf("a trial right after another begins with a calibration of %v s, "+
				"want that of the end of the other", seconds)
		}
		host.calibrated.seconds = 42
		time.Sleep(calibrationHolds + 1)
		if seconds := before(host); seconds == 42 {
			t.Error("a trial long after another begins with the calibration of its end")
		}
	})
}

func TestObservationWithoutWindow(t *testing.T) {
	observation, err := NewHost("").Observe()
	testset.Must(t, err)
	observation.Open()
	if c := observation.End(0); c.Unavailable["steal_share"] == "" || len(c.PressureShares) != 0 {
		t.Errorf("conditions of a window that was never closed: %+v", c)
	}
}

func TestObservationWithoutAccounts(t *testing.T) {
	observation, err := hostLike("container-of-two-versions").Observe()
	testset.Must(t, err)
	observation.Open()
	observation.Close()
	c := observation.End(0)
	for _, name := range []string{"load_before", "steal_share", "others_share", "pressure_shares.cpu",
		"pressure_shares.io"} {
		if c.Unavailable[name] == "" {
			t.Errorf("%s has neither a source nor a reason", name)
		}
	}
}

func TestSpinIsTheXorshiftGenerator(t *testing.T) {
	// The first value of the generator for Marsaglia's seed, computed by hand in 64-bit arithmetic.
	if got := spin(1); got != 8748534153485358512 {
		t.Errorf("spin(1) = %d, want 8748534153485358512", got)
	}
}
