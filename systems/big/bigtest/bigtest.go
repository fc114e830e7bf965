// Package bigtest plays whole trials of an architecture of Big in that architecture's own tests: it deploys
// the units as processes, as a trial does, and audits their reports. The test binary is the program of its
// units, too.
//
// Entry points: Main for TestMain, WholeTrials and Run for whole trials, Start for tests that
// interfere with the units of a trial; RunWorkers for architectures with one process.
package bigtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/unit"
)

// Main implements TestMain for the package of an architecture: it runs the tests, or, if this binary was
// started as a unit or as a part of the deployer, that.
func Main(
	m *testing.M, newCore func(big.UnitJob) (big.Workers, error),
	runWorker func(big.UnitJob) (big.Account, error),
) {
	if filepath.Base(os.Args[0]) == unitProgram {
		unit.Main(func(channel *unit.Channel, job string) error {
			return big.PlayUnit(channel, job, newCore, runWorker)
		})
		return
	}
	part := trials.Part(os.Args[1:])
	if part == nil {
		os.Exit(m.Run())
	}
	if err := part(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Trial describes a trial.
type Trial struct {
	Architecture                   string
	Knobs                          map[string]string
	Neighbourhoods, Workers, Pings int // workers of each neighbourhood, pings of each worker
}

// Name returns a name for a subtest: "10x10 keepalive=off".
func (t Trial) Name() string {
	name := fmt.Sprintf("%dx%d", t.Neighbourhoods, t.Workers)
	for _, knob := range slices.Sorted(maps.Keys(t.Knobs)) {
		name += fmt.Sprintf(" %s=%s", knob, t.Knobs[knob])
	}
	return name
}

func (t Trial) variant() lab.Variant {
	return lab.Variant{System: big.Name, Architecture: t.Architecture, Knobs: t.Knobs}
}

func (t Trial) job() big.Job {
	return big.Job{Neighbourhoods: t.Neighbourhoods, Workers: t.Workers, Pings: t.Pings}
}

func (t Trial) point() lab.Point { return t.job().Point(t.Name()) }

// WholeTrials plays the trials that every architecture must pass, and one that must fail because a worker is
// killed.
func WholeTrials(t *testing.T, architecture string, settings ...map[string]string) {
	for _, trial := range Sizes(architecture, settings...) {
		t.Run(trial.Name(), func(t *testing.T) { Run(t, trial) })
	}
	t.Run("killed worker", func(t *testing.T) {
		d := startReady(t, Trial{Architecture: architecture, Neighbourhoods: 2, Workers: 3, Pings: 10_000_000})
		testset.Must(t, d.Command(lab.Command{Command: lab.CommandStart}))
		testset.Must(t, d.kill("worker-00004"))
		// A neighbour may notice the end of the worker before its deployer does.
		if why := d.AwaitFailure(); !strings.HasPrefix(why, "unit ") {
			t.Errorf("failure %q, want that of a unit", why)
		}
	})
}

// startReady starts all units of a trial and waits until they are ready.
func startReady(tb testing.TB, trial Trial) *Deployment {
	tb.Helper()
	d := Start(tb, trial)
	_, err := d.AwaitEvent(lab.EventReady)
	testset.Must(tb, err)
	return d
}

// Run plays a whole trial and fails the test unless its audit is valid.
func Run(tb testing.TB, trial Trial) {
	tb.Helper()
	audit, err := startReady(tb, trial).finish()
	if err != nil || audit.Verdict != lab.AuditValid {
		tb.Fatalf("%s: %v, audit %s: %q", trial.Name(), err, audit.Verdict, audit.Problems)
	}
	if want := trial.job().RoundTrips(); audit.Counts["received"] != want {
		tb.Fatalf("%s: %d pongs, want %d", trial.Name(), audit.Counts["received"], want)
	}
}

// Sizes returns the trials that every architecture must pass: tiny, odd and full neighbourhoods (full ones
// only with testset.All, since they start a hundred processes), and one with self-pings, each with every one
// of the settings of knobs.
func Sizes(architecture string, settings ...map[string]string) []Trial {
	if len(settings) == 0 {
		settings = []map[string]string{nil}
	}
	sizes := [][3]int{{2, 2, 50}, {4, 5, 40}}
	if testset.All() {
		sizes = append(sizes, [3]int{10, 10, 30})
	}
	var trials []Trial
	for _, knobs := range settings {
		for _, size := range sizes {
			trials = append(trials, Trial{
				Architecture: architecture, Knobs: knobs, Neighbourhoods: size[0], Workers: size[1], Pings: size[2],
			})
		}
		withSelf := map[string]string{"self": "on"}
		maps.Copy(withSelf, knobs)
		trials = append(trials, Trial{
			Architecture: architecture, Knobs: withSelf, Neighbourhoods: 2, Workers: 5, Pings: 100,
		})
	}
	return trials
}
