package run

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// hosted is a deployment with a platform.
type hosted struct {
	deployment
	daemons []lab.Unit
	why     string
}

func (h *hosted) PlatformCost() lab.PlatformCost { return lab.PlatformCost{ReadySeconds: 3} }
func (h *hosted) Daemons() ([]lab.Unit, string)  { return h.daemons, h.why }

// twoMeters is a meter that records which units it marks, and may fail to mark daemons.
type twoMeters struct {
	marked  *[]string
	trouble error // of every mark of daemons
}

func (m twoMeters) Watch(_ context.Context, units []lab.Unit) (lab.Metering, error) {
	if units[0].Name == "gone" {
		return nil, errors.New("unit gone has gone")
	}
	return oneMeter{metering{}, m, units[0].Name}, nil
}

type oneMeter struct {
	metering
	twoMeters
	name string
}

func (m oneMeter) Mark() error {
	*m.marked = append(*m.marked, m.name)
	if m.name == "dockerd" {
		return m.trouble
	}
	return nil
}

func (m oneMeter) Stop() (lab.Metered, error) {
	return lab.Metered{Total: lab.Usage{CPUSeconds: 1}, OwnShare: 0.002,
		Sources: map[string]string{"Docker": "of " + m.name}}, nil
}

// TestThePlatformIsMeteredAtTheMarksOfTheUnits checks that daemons are marked around the marks of the units,
// so that reading them is in no figure of the units, and that a trial goes on if they cannot be metered.
func TestThePlatformIsMeteredAtTheMarksOfTheUnits(t *testing.T) {
	dockerd := []lab.Unit{{Name: "dockerd", Role: "Docker", PID: 1}}
	for name, c := range map[string]struct {
		hosted
		trouble error
		marked  []string
		metered bool
		why     string
	}{
		"daemons": {hosted{daemons: dockerd}, nil, []string{"dockerd", "one", "one", "dockerd"}, true, ""},
		"daemons that go": {hosted{daemons: dockerd}, errors.New("it has gone"),
			[]string{"dockerd", "one", "one", "dockerd"}, false, "it has gone"},
		"gone before": {hosted{daemons: []lab.Unit{{Name: "gone"}}}, nil, []string{"one", "one"}, false,
			"unit gone has gone"},
		"somebody else's": {hosted{why: "it is the user's"}, nil, []string{"one", "one"}, false,
			"it is the user's"},
		"no platform": {hosted{}, nil, []string{"one", "one"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var marked []string
			c.deployment = deployment{rooms: &rooms{}, dir: t.TempDir(), failed: make(chan struct{})}
			played, err := Job{Deployment: &c.hosted, Meter: twoMeters{&marked, c.trouble}}.Play(t.Context())
			must(t, err)
			if !slices.Equal(marked, c.marked) {
				t.Errorf("marked were %v, want %v", marked, c.marked)
			}
			p := played.Platform
			if p == nil || p.ReadySeconds != 3 || p.Unmetered != c.why || (p.Used != nil) != c.metered {
				t.Fatalf("the platform took %+v; want it metered %v, else for %q", p, c.metered, c.why)
			}
			if c.metered && (p.Source != "of dockerd" || played.Used.OwnShare != 0.004) {
				t.Errorf("the source is %q, both meters took %g", p.Source, played.Used.OwnShare)
			}
		})
	}
}
