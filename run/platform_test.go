package run

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// hosted is a deployment on a platform with daemons; why is the reason why they cannot be metered.
type hosted struct {
	deployment
	daemons []lab.Unit
	why     string
}

func (h *hosted) PlatformCost() lab.PlatformCost { return lab.PlatformCost{ReadySeconds: 3} }
func (h *hosted) Daemons() ([]lab.Unit, string)  { return h.daemons, h.why }

// recordingMeter is a meter that records the order of the marks, by the name of the first metered unit. Its
// marks of the daemon dockerd fail with daemonErr.
type recordingMeter struct {
	marked    *[]string
	daemonErr error
}

func (m recordingMeter) Watch(_ context.Context, units []lab.Unit) (lab.Metering, error) {
	if units[0].Name == "gone" {
		return nil, errors.New("unit gone has gone")
	}
	return recordedMetering{metering{}, m, units[0].Name}, nil
}

// recordedMetering meters either the units or the daemons of a trial.
type recordedMetering struct {
	metering
	recordingMeter
	name string
}

func (m recordedMetering) Mark() error {
	*m.marked = append(*m.marked, m.name)
	if m.name == "dockerd" {
		return m.daemonErr
	}
	return nil
}

func (m recordedMetering) Stop() (lab.Metered, error) {
	return lab.Metered{Total: lab.Usage{CPUSeconds: 1}, OwnShare: 0.002,
		Sources: map[string]string{"Docker": "of " + m.name}}, nil
}

// TestThePlatformIsMeteredAtTheMarksOfTheUnits checks that daemons are marked before the first and after the
// last mark of the units, so that the cost of reading the daemons is outside of the window of the units. It
// also checks that a trial continues if the daemons cannot be metered.
func TestThePlatformIsMeteredAtTheMarksOfTheUnits(t *testing.T) {
	dockerd := []lab.Unit{{Name: "dockerd", Role: "Docker", PID: 1}}
	for name, c := range map[string]struct {
		hosted
		daemonErr error
		marked    []string
		metered   bool
		why       string
	}{
		"daemons": {hosted{daemons: dockerd}, nil, []string{"dockerd", "one", "one", "dockerd"}, true, ""},
		"daemons that end": {hosted{daemons: dockerd}, errors.New("it has gone"),
			[]string{"dockerd", "one", "one", "dockerd"}, false, "it has gone"},
		"daemons that have ended": {hosted{daemons: []lab.Unit{{Name: "gone"}}}, nil, []string{"one", "one"}, false,
			"unit gone has gone"},
		"the user's daemons": {hosted{why: "it is the user's"}, nil, []string{"one", "one"}, false,
			"it is the user's"},
		"no platform": {hosted{}, nil, []string{"one", "one"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var marked []string
			c.deployment = deployment{rooms: &rooms{}, dir: t.TempDir(), failed: make(chan struct{})}
			played, err := Job{Deployment: &c.hosted, Meter: recordingMeter{&marked, c.daemonErr}}.Play(t.Context())
			testset.Must(t, err)
			if !slices.Equal(marked, c.marked) {
				t.Errorf("marked were %v, want %v", marked, c.marked)
			}
			p := played.Platform
			if p == nil || p.ReadySeconds != 3 || p.Unmetered != c.why || (p.Used != nil) != c.metered {
				t.Fatalf("cost of the platform %+v; want metered %v, or the reason %q", p, c.metered, c.why)
			}
			if c.metered && (p.Source != "of dockerd" || played.Used.OwnShare != 0.004) {
				t.Errorf("the source is %q, the share of both meters %g", p.Source, played.Used.OwnShare)
			}
		})
	}
}
