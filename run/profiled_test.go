package run

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// profilingRooms are fake rooms with a profiler. The CPU time of the thread grows by 2 s with every reading.
type profilingRooms struct {
	*rooms
	readings int
	broken   error // result of Layers
	seen     []lab.ProfiledWindow
	ended    []bool // whether the deployments were stopped when profiles were read
}

func (r *profilingRooms) Threads([]lab.Unit) ([]lab.ThreadUse, error) {
	r.readings++
	return []lab.ThreadUse{{Role: "one", ID: "1/1", UserSeconds: 2 * float64(r.readings)}}, nil
}

func (r *profilingRooms) Instrument(layout lab.Layout) lab.Layout {
	layout.Lead += ", profiled"
	return layout
}

func (r *profilingRooms) Layers(
	layout lab.Layout, about lab.Profiling, seen lab.ProfiledWindow,
) ([]lab.RoleLayers, error) {
	r.seen = append(r.seen, seen)
	r.ended = append(r.ended, r.stopped == len(r.played))
	return []lab.RoleLayers{{Role: layout.Units[0].Name, Runtime: about.Own[0], Samples: 1}}, r.broken
}

func (r *profilingRooms) Profiling(lab.Variant) lab.Profiling {
	return lab.Profiling{Own: []string{"own"}}
}

func (r *profilingRooms) conductor(t *testing.T) Conductor {
	c := r.rooms.conductor(t)
	c.System = r
	c.Meter = r
	c.Profiler = r
	return c
}

func TestProfiledTrialsAreInstrumentedAndRead(t *testing.T) {
	r := &profilingRooms{rooms: &rooms{}}
	p := plan(2)
	p.Trials[1].Profiled = true
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), p))
	if want := []string{"a at s1", "b at s1, profiled"}; !reflect.DeepEqual(r.played, want) {
		t.Errorf("played %q, want %q", r.played, want)
	}
	timed, profiled := r.saved[0], r.saved[1]
	if timed.Profiled || len(timed.Layers) > 0 || !profiled.Profiled ||
		!reflect.DeepEqual(profiled.Layers, []lab.RoleLayers{{Role: "one", Runtime: "own", Samples: 1}}) {
		t.Errorf("records: timed %t %v, profiled %t %v", timed.Profiled, timed.Layers, profiled.Profiled,
			profiled.Layers)
	}
	if len(r.seen) != 1 || r.ended[0] {
		t.Fatalf("%d profiles were read, after the end: %v", len(r.seen), r.ended)
	}
	if w := r.seen[0]; w.Threads[0].UserSeconds != 2 || w.Metered.Total.CPUSeconds != 3 ||
		w.Ended.Before(w.Began) || w.Dir == "" {
		t.Errorf("the window was %+v", w)
	}
}

func TestAProfileThatCannotBeReadSpoilsTheTrial(t *testing.T) {
	r := &profilingRooms{rooms: &rooms{}, broken: errors.New("the profile 7.jfr of unit one: it is empty")}
	p := plan(1)
	p.Trials[0].Profiled = true
	p.Study.Design.MaxRepeats = 0
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), p))
	r.expectVerdicts(t, []string{"1/1 the profile 7.jfr of unit one: it is empty"})
}

// samplingProfiler is a profiler with a sampler and counters. It counts how often they were ended.
type samplingProfiler struct {
	*profilingRooms
	refused error           // of the start of both
	ends    int             // of the sampling
	counted int             // ends of the counting
	threads []lab.ThreadUse // at the end of the sampling
}

func (o *samplingProfiler) Sample(lab.Layout) (lab.Sampling, error) {
	if o.refused != nil {
		return nil, o.refused
	}
	return o, nil
}

func (o *samplingProfiler) Count([]lab.ThreadUse) (lab.Counting, error) {
	if o.refused != nil {
		return nil, o.refused
	}
	return counter{o}, nil
}

// counter implements lab.Counting for samplingProfiler.
type counter struct{ of *samplingProfiler }

func (c counter) End() (map[string]lab.Counted, error) {
	c.of.counted++
	return map[string]lab.Counted{"one": {Instructions: 9}}, nil
}

func (o *samplingProfiler) End(threads []lab.ThreadUse) []lab.ProgramSamples {
	o.ends++
	o.threads = threads
	return []lab.ProgramSamples{{Unit: "one"}}
}

// TestSamplingAndCountingEndOnce checks that sampling and counting end once, also if the trial fails, and
// that the window has the reason if they are refused.
func TestSamplingAndCountingEndOnce(t *testing.T) {
	for name, c := range map[string]struct {
		refused, broken error
		programs, ends  int
		unsampled       string
		instructions    float64
	}{
		"both run":         {programs: 1, ends: 1, instructions: 9},
		"both are refused": {refused: errors.New("not as this user"), unsampled: "not as this user"},
		"the load fails":   {broken: errors.New("the lead is gone"), ends: 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := &samplingProfiler{profilingRooms: &profilingRooms{rooms: &rooms{}}, refused: c.refused}
			d := finishing{&deployment{}, c.broken}
			played, err := Job{Deployment: d, Meter: o, Profiler: o}.Play(t.Context())
			if !errors.Is(err, c.broken) {
				t.Fatal(err)
			}
			if o.ends != c.ends || c.ends > 0 && c.broken == nil && len(o.threads) == 0 {
				t.Errorf("the sampling was ended %d times, with the threads %v", o.ends, o.threads)
			}
			seen := played.profile.window
			if c.broken == nil && (len(seen.Programs) != c.programs || seen.Unsampled != c.unsampled ||
				seen.Uncounted != c.unsampled || seen.Counted["one"].Instructions != c.instructions) {
				t.Errorf("seen: %+v", seen)
			}
			if o.counted != c.ends {
				t.Errorf("the counting was ended %d times, want %d", o.counted, c.ends)
			}
		})
	}
}

// finishing is a deployment whose lead finishes, or fails with an error.
type finishing struct {
	*deployment
	err error
}

func (f finishing) Await(_ context.Context, kind lab.EventKind) (lab.Event, error) {
	if kind == lab.EventFinished {
		return lab.Event{}, f.err
	}
	return lab.Event{}, nil
}

// endingDeployment is a deployment that ends its foreign units, or fails to with an error.
type endingDeployment struct {
	lab.Deployment
	err error
}

func (d endingDeployment) EndForeign(context.Context) error { return d.err }
func (d endingDeployment) HandedOver() string               { return "" }

func TestUnitsThatDoNotEndHaveNoProfile(t *testing.T) {
	r := &profilingRooms{rooms: &rooms{}}
	c := r.conductor(t)
	e := experiment{Conductor: &c}
	s := setting{layout: lab.Layout{Units: []lab.UnitSpec{{Name: "one"}}}}
	stuck := errors.New("unit one does not end")
	if err := e.addLayers(t.Context(), s, endingDeployment{err: stuck}, profileRecorder{},
		&lab.Trial{}); !errors.Is(err, stuck) || len(r.seen) > 0 {
		t.Errorf("error %v, %d profiles read; want %v and none", err, len(r.seen), stuck)
	}
	if err := e.addLayers(t.Context(), s, endingDeployment{}, profileRecorder{}, &lab.Trial{}); err != nil ||
		len(r.seen) != 1 {
		t.Errorf("error %v, %d profiles read; want one", err, len(r.seen))
	}
}
