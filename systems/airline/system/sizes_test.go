package system

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/airline/architecture"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// TestUnitsAreSizedWhereTheyRun: units of Node.js count the processors of their own host, and those of
// Java begin with a small heap.
func TestUnitsAreSizedWhereTheyRun(t *testing.T) {
	cores := func(n float64) lab.Point { return point(map[string]float64{lab.FactorUsers: 1, Cores: n}) }
	for name, c := range map[string]struct {
		runtime, workers string
		p                lab.Point
		want             string
	}{
		"Node.js": {architecture.Node, "", point(map[string]float64{lab.FactorUsers: 1}),
			"AIRLINE_WORKERS=cores"},
		"Node.js on one core": {architecture.Node, "", cores(1), "AIRLINE_WORKERS=1"},
		"a number":            {architecture.Node, "3", cores(1), "AIRLINE_WORKERS=3"},
		"Java":                {architecture.Java, "", cores(1), "JAVA_OPTS=-Xmx256m"},
	} {
		knobs := map[string]string{architecture.KnobRuntime: c.runtime}
		if c.workers != "" {
			knobs[architecture.KnobWorkers] = c.workers
		}
		layout, _ := layoutOf(t, variant(architecture.Services, knobs), c.p)
		if env := layout.Units[0].Env; !slices.Contains(env, c.want) {
			t.Errorf("%s: %q, want %s", name, env, c.want)
		}
	}
	remote := variant(architecture.Services, nil)
	remote.Deployment = lab.SSH
	_, err := System{Generator: &loadedtest.Generator{}}.Layout(remote, cores(1), 5)
	if err == nil || !strings.Contains(err.Error(), "processors of this host") {
		t.Errorf("%v, want an error: units on other hosts cannot have cores of this one", err)
	}
}

func TestCoresAreThoseOfAllUnitsTogether(t *testing.T) {
	all := runtime.NumCPU()
	for asked := range all {
		layout, _ := layoutOf(t, variant(architecture.Services, nil),
			point(map[string]float64{lab.FactorUsers: 1, Cores: float64(asked + 1)}))
		for _, u := range layout.Units {
			want := asked + 1
			if u.Name == front || u.Name == lab.RoleGenerator {
				want = all - want
			}
			if len(u.Cores) != want {
				t.Errorf("%d cores: %s has %v of %d", asked+1, u.Name, u.Cores, all)
			}
		}
	}
	tooMany := point(map[string]float64{lab.FactorUsers: 1, Cores: float64(all + 1)})
	_, err := System{Generator: &loadedtest.Generator{}}.Layout(variant(architecture.Monolith, nil), tooMany, 5)
	want := fmt.Sprintf("%d cores are asked for, this host has %d", all+1, all)
	if err == nil || !strings.Contains(err.Error(), want) || checkCores(tooMany) == nil {
		t.Errorf("%v, want it to say %s", err, want)
	}
}

// TestOnlyCallsOverGRPCHaveTheirCode: over HTTP, package web carries the calls.
func TestOnlyCallsOverGRPCHaveTheirCode(t *testing.T) {
	overGRPC := map[string]string{architecture.KnobPool: "on", architecture.KnobCalls: architecture.GRPC}
	for _, knobs := range []map[string]string{overGRPC, nil} {
		layout, _ := layoutOf(t, variant(architecture.Services, knobs),
			point(map[string]float64{lab.FactorUsers: 1}))
		for _, part := range []string{"systems/airline/calls", "binding/grpcgo"} {
			if _, counted := layout.Code[part]; counted != (knobs != nil) {
				t.Errorf("%v: the code of %s counts: %t", knobs, part, counted)
			}
		}
		if layout.Code["binding/accept"] == 0 {
			t.Errorf("%v: the code that accepts connections does not count", knobs)
		}
	}
}
