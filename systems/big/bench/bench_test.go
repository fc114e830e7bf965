package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/internal/trials"
	"github.com/cleave-lab/cleave/systems/big"
)

// TestMain lets the test binary also run as a janitor, for which a deployment starts its own program.
// Otherwise a deployment in a test would run all tests again.
func TestMain(m *testing.M) {
	trials.Main("bench-big", func(context.Context) error {
		os.Exit(m.Run())
		return nil
	})
}

// TestBinaryIsItsJanitor: started as a janitor, this binary runs no test. If it does, the variable prevents
// an endless recursion.
func TestBinaryIsItsJanitor(t *testing.T) {
	const once = "CLEAVE_TEST_JANITOR_STARTED"
	if os.Getenv(once) != "" {
		t.Skip("the binary was started as a janitor, but runs the tests")
	}
	janitor := exec.CommandContext(t.Context(), os.Args[0], "janitor", filepath.Join(t.TempDir(), "trial"))
	janitor.Env = append(os.Environ(), once+"=1")
	output, err := janitor.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "does not lead its process group") {
		t.Errorf("%v: %s; want the refusal of a janitor that was started by hand", err, output)
	}
}

// figureNamed returns the figure with a name.
func figureNamed(t *testing.T, all []figures.Figure, name string) figures.Figure {
	t.Helper()
	for _, f := range all {
		if f.Figure == name {
			return f
		}
	}
	t.Fatalf("there is no figure %q", name)
	return figures.Figure{}
}

func TestDerive(t *testing.T) {
	rounds := costs{}
	add := func(name string, s size, values ...float64) {
		for _, value := range values {
			rounds[named(name, s)] = append(rounds[named(name, s)], cost{cpu: value, elapsed: value / 2})
		}
	}
	add(threads, small(), 400e-9, 500e-9, 450e-9)
	add(threadsFast, small(), 40e-9, 50e-9, 45e-9)
	add(uds, small(), 100e-6, 90e-6, 110e-6)
	add(udsBinary, small(), 10e-6, 9e-6, 11e-6)
	add(shm, small(), 0.9e-6, 0.9e-6, 0.9e-6)
	add(shm, large(), 2e-6, 2e-6, 2e-6)
	add(shmGang, small(), 1e-6, 1e-6, 1e-6)
	add(shmGang, large(), 1.5e-6, 1.5e-6, 1.5e-6)
	all, err := derive(rounds)
	testset.Must(t, err)
	for _, want := range []struct {
		name                 string
		value, must, stretch float64
	}{
		{"threads-fast / threads, CPU, 10x10", 1.0 / 10, 1.0 / 4, 1.0 / 8},
		{"threads-fast / threads, wall, 10x10", 1.0 / 10, 1.0 / 4, 1.0 / 8},
		{"uds-persistent binary / uds, CPU, 10x10", 1.0 / 10, 1.0 / 8, 1.0 / 16},
		{"best process per worker, 10x50 / 10x10, CPU", 1.5, 2, 1.2},
	} {
		f := figureNamed(t, all, want.name)
		if math.Abs(f.Value-want.value) > 1e-9 || *f.Must != want.must || *f.Stretch != want.stretch || f.N != 3 {
			t.Errorf("%s: got %v (must %v, stretch %v, n %d), want %v (%v, %v, 3)",
				want.name, f.Value, *f.Must, *f.Stretch, f.N, want.value, want.must, want.stretch)
		}
	}
	best := figureNamed(t, all, "best process per worker / uds, CPU, 10x10")
	if !strings.Contains(best.Note, "shm gang 10x10 1.00 us over uds 10x10 100 us") || best.Low >= best.Value ||
		best.High <= best.Value {
		t.Errorf("best process per worker: %+v", best)
	}
	if f := figureNamed(t, all, "threads 10x10, CPU per round trip"); f.Value != 450e-9 || f.Low != 400e-9 ||
		f.High != 500e-9 || f.Must != nil {
		t.Errorf("threads: %+v, want the median, least and greatest round and no goal", f)
	}
	for _, f := range all {
		if strings.Contains(f.Figure, tokio) {
			t.Errorf("figure %q of a contender that did not run", f.Figure)
		}
	}
}

func TestCheapest(t *testing.T) {
	at := func(seconds float64) []cost { return []cost{{cpu: seconds}} }
	for _, test := range []struct {
		name  string
		costs costs
		want  string
	}{
		{"gang alone", costs{"shm gang 10x10": at(2), "shm gang 10x50": at(2)}, shmGang},
		{"one at one size only", costs{"shm gang 10x10": at(1), "shm 10x10": at(2), "shm 10x50": at(2)}, shm},
		{"by the sum", costs{"shm gang 10x10": at(3), "shm gang 10x50": at(4), "shm 10x10": at(2),
			"shm 10x50": at(6)}, shmGang},
	} {
		if got := cheapest(test.costs); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose(contenders(), "shm gang,threads")
	if err != nil || len(chosen) != 4 || chosen[0].name != threads {
		t.Errorf("got %v, %v, want threads and shm gang in both sizes", chosen, err)
	}
	if _, err := choose(contenders(), "threads,shmem"); err == nil || !strings.Contains(err.Error(), `"shmem"`) {
		t.Errorf("got %v, want an error that names shmem", err)
	}
}

// TestContendersExist: the system has a layout for every contender.
func TestContendersExist(t *testing.T) {
	for _, c := range contenders() {
		if c.architecture == "" {
			continue
		}
		layout, err := big.System{}.Layout(c.variant(), c.point(), 1)
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
		if want := c.job().RoundTrips(); layout.Operations != want {
			t.Errorf("%s: %d round trips, the layout says %d", c, want, layout.Operations)
		}
	}
}

func TestPeerWithoutToolChain(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := buildPeer(t.Context(), "."); err == nil ||
		!strings.Contains(err.Error(), "install a Rust tool chain") {
		t.Errorf("got %v, want what to install", err)
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, test := range []struct {
		o    options
		want string
	}{
		{options{rounds: 1}, "-rounds 1"},
		{options{rounds: 2, units: filepath.Join(t.TempDir(), "none")}, "make build"},
	} {
		if err := bench(t.Context(), test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want an error with %q", err, test.want)
		}
	}
}
