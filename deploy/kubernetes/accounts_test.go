package kubernetes

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/private"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMetricsServerSaysWhatControlGroupsCount checks that the figures of metrics-server and the control group
// agree for a pod that is limited to 0.3 processors and wants more, and that metrics-server has a lag.
func TestMetricsServerSaysWhatControlGroupsCount(t *testing.T) {
	d, _ := newDeployer(t)
	if err := private.MissingMetrics(); err != nil {
		t.Skip(err)
	}
	begun := time.Now()
	running, err := d.Deploy(t.Context(), lab.Layout{Lead: "lead", Units: []lab.UnitSpec{
		{Name: "lead", Role: "lead", Runnable: lab.Runnable{Args: []string{"lead"}}},
		{Name: "burner", Role: "fire", Limits: lab.Limits{CPU: 0.3},
			Runnable: lab.Runnable{Program: "sh", Args: []string{"-c", "while :; do :; done"}, Foreign: true}},
	}}, filepath.Join(t.TempDir(), "trial"))
	testset.Must(t, err)
	defer func() { deploytest.NoError(t, running.Stop()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // two looks take 30 s on a quiet host
	defer cancel()
	for ctx.Err() == nil {
		said, note := running.Accounts(begun, time.Now())
		if len(said) == 0 && !strings.HasPrefix(note, "metrics-server has no figures of the load") {
			t.Fatalf("there are no figures, with the note %q", note)
		}
		for _, u := range said {
			if u.Unit != "burner" || u.Samples < 2 {
				continue
			}
			if t.Logf("%+v", u); u.Role != "fire" || u.Source != "metrics-server" || note != "" {
				t.Errorf("the burner is %+v (%q)", u, note)
			}
			// A busy host may give it less.
			if u.GroupMillicores < 100 || u.GroupMillicores > 330 || math.Abs(u.Millicores-u.GroupMillicores) > 60 {
				t.Errorf("metrics-server says %.0fm and its control group %.0fm, of 300m that it may use", u.Millicores,
					u.GroupMillicores)
			}
			if u.LagSeconds < u.WindowSeconds/2 || u.LagSeconds > 60 {
				t.Errorf("the lag is %.1f s, for a window of %.1f s", u.LagSeconds, u.WindowSeconds)
			}
			return
		}
		time.Sleep(time.Second)
	}
	t.Error("metrics-server did not say anything twice within two minutes")
}

// TestFiguresAreComparedOverTheirWindow checks that the count of the control group is interpolated to the
// window of each figure, and that repeated figures and those without a count are skipped.
func TestFiguresAreComparedOverTheirWindow(t *testing.T) {
	zero := time.Unix(1_000_000, 0)
	after := func(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }
	a := newAccounts()
	a.byPod["p"] = &account{unit: "u"}
	for i := range 41 { // idle for 10 s, then half of a processor
		a.byPod["p"].counted = append(a.byPod["p"].counted,
			count{after(float64(i)), time.Duration(max(0, i-10)) * time.Second / 2})
	}
	answer := func(end float64, cpu string) []api.PodMetrics {
		var m api.PodMetrics
		m.Metadata.Name = "p"
		m.Timestamp = after(end)
		m.Window = "10s"
		m.Containers = append(m.Containers, struct{ Usage struct{ CPU string } }{struct{ CPU string }{cpu}})
		return []api.PodMetrics{m}
	}
	a.add(answer(10.5, "25m"), nil, after(14))
	a.add(answer(20.5, "480000000n"), nil, after(24))
	a.add(answer(20.5, "480000000n"), nil, after(25)) // repeated
	a.add(answer(30.5, "0.52"), nil, after(36.5))
	a.add(answer(45, "1"), nil, after(46)) // without a count at the end of its window
	for name, c := range map[string]struct {
		from, to float64
		want     lab.PlatformUsage
	}{
		"all": {0, 50, lab.PlatformUsage{Samples: 3, WindowSeconds: 30, Millicores: 1025, MostMillicores: 520,
			GroupMillicores: 1025, LagSeconds: 8.5 + 8.5 + 11}},
		"part": {11, 25, lab.PlatformUsage{Samples: 1, WindowSeconds: 10, Millicores: 480, MostMillicores: 480,
			GroupMillicores: 500, LagSeconds: 8.5}},
		"before": {-9, 5, lab.PlatformUsage{}},
	} {
		byUnit := map[string]lab.PlatformUsage{}
		a.byPod["p"].sum(byUnit, after(c.from), after(c.to))
		got := byUnit["u"]
		for _, pair := range [][2]float64{{got.WindowSeconds, c.want.WindowSeconds},
			{got.Millicores, c.want.Millicores}, {got.MostMillicores, c.want.MostMillicores},
			{got.GroupMillicores, c.want.GroupMillicores}, {got.LagSeconds, c.want.LagSeconds}} {
			if math.Abs(pair[0]-pair[1]) > 1e-6 || got.Samples != c.want.Samples {
				t.Errorf("%s: %+v, want %+v", name, got, c.want)
				break
			}
		}
	}
}

// TestAFigureThatIsNone checks that a quantity that is no number, and a window without a length, over which
// there is no mean, give an error and no figure.
func TestAFigureThatIsNone(t *testing.T) {
	for _, c := range []struct{ cpu, window, says string }{
		{"2 cores", "10s", `"2 cores"`}, {"25m", "0s", `"0s"`},
	} {
		var m api.PodMetrics
		m.Metadata.Name = "p"
		m.Window = c.window
		m.Containers = append(m.Containers, struct{ Usage struct{ CPU string } }{struct{ CPU string }{c.cpu}})
		a := newAccounts()
		a.byPod["p"] = &account{unit: "u"}
		if a.add([]api.PodMetrics{m}, nil, time.Now()); a.err == nil ||
			!strings.Contains(a.err.Error(), c.says) || len(a.byPod["p"].figures) > 0 {
			t.Errorf("%+v: the error is %v, the figures %+v", c, a.err, a.byPod["p"].figures)
		}
	}
}
