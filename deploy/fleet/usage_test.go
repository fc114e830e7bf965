package fleet

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestIdleUsage checks that idle usage is that from the first answers to the first mark, and
// that it is not reported if that time is too short.
func TestIdleUsage(t *testing.T) {
	answers := func(cpu time.Duration) []*lab.UsageAnswer {
		return []*lab.UsageAnswer{{CPUNanoseconds: int64(cpu)}}
	}
	begun := time.Now()
	for idle, want := range map[time.Duration]float64{500 * time.Millisecond: 0.5, 100 * time.Millisecond: 0} {
		m := selfMetering{units: []lab.Unit{{Name: "core", Role: "core"}},
			start: selfMark{begun, answers(time.Second)},
			marks: []selfMark{{begun.Add(idle), answers(1250 * time.Millisecond)},
				{begun.Add(2 * time.Second), answers(3 * time.Second)}}}
		used, err := m.Stop()
		testset.Must(t, err)
		if c := used.Course; c == nil || len(c.End) > 0 || c.Unavailable["CPU"] == "" ||
			c.Unavailable["memory"] == "" {
			t.Errorf("units that are asked at the marks only have the course %+v, "+
				"want the reason why there is none", c)
		}
		if used.Units[0].IdleCores != want || used.Roles["core"].IdleCores != want ||
			(used.IdleSeconds > 0) != (want > 0) {
			t.Errorf("%g processors in %g s without load, of the role %g, want %g", used.Units[0].IdleCores,
				used.IdleSeconds, used.Roles["core"].IdleCores, want)
		}
	}
}

// TestUnitsOfOthersHaveNoFigures checks that every figure of a unit that is not metered is unavailable, so
// that no file shows its zero.
func TestUnitsOfOthersHaveNoFigures(t *testing.T) {
	used := between(nil, nil)
	for field := range reflect.TypeFor[lab.Usage]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, missing := used.Unavailable[name]; !missing && name != "units" && name != "unavailable" {
			t.Errorf("%s of a unit that is not metered is available", name)
		}
	}
}

// TestUsageOfKilledUnits checks that the usage of a unit is that of all its lives between the marks.
func TestUsageOfKilledUnits(t *testing.T) {
	there := lab.UnitHost{KernelRun: "there", Processors: 16}
	answer := func(cpu time.Duration, memory int64) *lab.UsageAnswer {
		return &lab.UsageAnswer{Host: there, CPUNanoseconds: int64(cpu), MemoryBytes: memory, LargestBytes: memory,
			Threads: 5}
	}
	begun := time.Now()
	m := selfMetering{supervisor: NewSupervisor(lab.Layout{}, ""),
		units: []lab.Unit{{Name: "core", Role: "core"}}, former: map[string]former{}}
	if err := m.Suspend("core"); err == nil {
		t.Error("a unit was suspended before the first mark")
	}
	m.start = selfMark{begun, []*lab.UsageAnswer{answer(time.Second, 1)}}
	m.marks = []selfMark{{begun, []*lab.UsageAnswer{answer(time.Second, 100)}}}
	core := NewUnit(lab.UnitSpec{Name: "core"})
	m.supervisor.Add(core)
	m.ctx = t.Context()
	for _, life := range []struct{ end, begin *lab.UsageAnswer }{
		{answer(3*time.Second, 500), answer(time.Second/4, 50)},
		{answer(time.Second, 200), answer(time.Second/4, 60)},
	} {
		core.Commands = answering{core, life.end}
		err := m.Suspend("core")
		core.Commands = answering{core, life.begin}
		testset.Must(t, errors.Join(err, m.Resume(m.units[0])))
	}
	m.marks = append(m.marks, selfMark{begun.Add(time.Second), []*lab.UsageAnswer{answer(time.Second/2, 80)}})
	used, err := m.Stop()
	if err != nil || len(used.Notes) != 2 {
		t.Fatalf("%v, notes %q", err, used.Notes)
	}
	want := lab.Usage{Units: 1, CPUSeconds: 3.5, Threads: 5, PeakMemoryBytes: 500, MeanMemoryBytes: 70,
		PeakResidentBytes: 500}
	if got := used.Units[0].Host; got != there {
		t.Errorf("it ran on %+v, want %+v", got, there)
	}
	if got := used.Units[0].Usage; !reflect.DeepEqual(got, want) || !reflect.DeepEqual(used.Total, want) {
		t.Errorf("it used %+v, in total %+v, want %+v", got, used.Total, want)
	}
}

// TestAUnitThatIsStartedAgainWhenTheLoadEndsIsNotAsked checks that the second mark skips a unit that has no
// control connection yet, and that its usage is then that of its former lives.
func TestAUnitThatIsStartedAgainWhenTheLoadEndsIsNotAsked(t *testing.T) {
	begun := time.Now()
	first := []*lab.UsageAnswer{{MemoryBytes: 1}}
	m := selfMetering{ctx: t.Context(), supervisor: NewSupervisor(lab.Layout{}, ""), former: map[string]former{},
		units: []lab.Unit{{Name: "core", Role: "core"}},
		start: selfMark{begun, first}, marks: []selfMark{{begun, first}}}
	core := NewUnit(lab.UnitSpec{Name: "core"})
	m.supervisor.Add(core)
	core.Commands = answering{core, &lab.UsageAnswer{CPUNanoseconds: int64(3 * time.Second), MemoryBytes: 5}}
	testset.Must(t, m.Suspend("core"))
	m.supervisor.Add(NewUnit(lab.UnitSpec{Name: "core"}))
	testset.Must(t, m.Mark())
	used, err := m.Stop()
	if err != nil || used.Total.CPUSeconds != 3 || used.Total.PeakMemoryBytes != 5 {
		t.Errorf("it used %+v (%v), want the three seconds of its life", used.Total, err)
	}
	if err := m.Resume(m.units[0]); err != nil {
		t.Errorf("a unit that is back after the load: %v", err)
	}
}

// answering is the control connection of a unit that answers every command at once with its usage.
type answering struct {
	unit   *Unit
	answer *lab.UsageAnswer
}

// Write implements io.Writer.
func (a answering) Write(command []byte) (int, error) {
	data, err := json.Marshal(a.answer)
	a.unit.usage <- reply{data: data}
	return len(command), err
}

// TestAUnitThatIsBackWhileTheLoadEnds checks that Resume is no error if the second mark comes at the same
// moment. It repeats this, because the order is up to chance.
func TestAUnitThatIsBackWhileTheLoadEnds(t *testing.T) {
	for range 3000 {
		m := selfMetering{ctx: t.Context(), supervisor: NewSupervisor(lab.Layout{}, ""), marks: []selfMark{{}},
			units:  []lab.Unit{{Name: "core", Role: "core"}},
			former: map[string]former{"core": {began: &lab.UsageAnswer{}, away: true}}}
		core := NewUnit(lab.UnitSpec{Name: "core"})
		core.Commands = answering{core, &lab.UsageAnswer{}}
		m.supervisor.Add(core)
		marked := make(chan error)
		go func() { marked <- m.Mark() }()
		testset.Must(t, errors.Join(m.Resume(m.units[0]), <-marked))
	}
}
