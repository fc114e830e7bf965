package run

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// measurer is a system that measures its capacity, and the course of its load.
type measurer struct {
	rooms
	course []lab.Slice
	err    error
}

func (m *measurer) Measure(
	_ context.Context, _ lab.Variant, _ lab.Point, metered lab.Metered, _ lab.Leftover,
) (lab.Measured, error) {
	return lab.Measured{Values: map[string]float64{"capacity": 100 * metered.Total.CPUSeconds},
		Course: m.course}, m.err
}

// TestCourseOfUsageNeedsACourseOfTheLoad checks that the course of the usage is kept only if the load has a
// course: a search has many loads, and a job none.
func TestCourseOfUsageNeedsACourseOfTheLoad(t *testing.T) {
	for name, c := range map[string]struct {
		measures bool // the system implements lab.Measurer
		course   []lab.Slice
		kept     bool
	}{
		"a job":                {false, nil, false},
		"a search":             {true, nil, false},
		"a load with a course": {true, make([]lab.Slice, 1), true},
	} {
		m := &measurer{course: c.course}
		conductor := m.rooms.conductor(t)
		if c.measures {
			conductor.System = m
		}
		testset.Must(t, conductor.Play(t.Context(), plan(1)))
		if kept := m.saved[0].Metered.Course != nil; kept != c.kept {
			t.Errorf("%s: the course of the usage is kept: %t, want %t", name, kept, c.kept)
		}
	}
}

func TestASystemMeasuresItsOwnTrials(t *testing.T) {
	m := &measurer{}
	c := m.rooms.conductor(t)
	c.System = m
	testset.Must(t, c.Play(t.Context(), plan(1)))
	if got := m.saved[0].Values()["capacity"]; got != 300 {
		t.Errorf("capacity %g, want 300", got)
	}
}

// lateOnce is a system whose generator is late in one trial.
type lateOnce struct {
	rooms
	late int // the number of that trial
}

func (l *lateOnce) Measure(
	context.Context, lab.Variant, lab.Point, lab.Metered, lab.Leftover,
) (lab.Measured, error) {
	found := lab.Measured{Cohorts: &lab.Cohorts{},
		Values: map[string]float64{"p50": 1, "p99": 2, "completed": 3, "service": 4, "cpu": 5}}
	if len(l.played) == l.late {
		found.Late = map[float64]string{0.99: "it sent late"}
	}
	return found, nil
}

// TestTimesOfALateTrialAreWithheld checks that a late trial counts without the times that lateness may have
// distorted, and that a further block makes up for these.
func TestTimesOfALateTrialAreWithheld(t *testing.T) {
	s := &lateOnce{late: 4}
	p := threeBlocks()
	p.Study.Metrics = []lab.Metric{
		{Name: "p50", Quantity: lab.ResponseTime, Quantile: 0.5},
		{Name: "p99", Quantity: lab.ResponseTime, Quantile: 0.99},
		{Name: "completed", Quantity: lab.CompletionTime, Quantile: 0.99},
		{Name: "service", Quantity: lab.ServiceTime, Quantile: 0.99}, {Name: "cpu", Quantity: lab.CPU},
	}
	c := s.conductor(t)
	c.System = s
	testset.Must(t, c.Play(t.Context(), p))
	if len(s.saved) != 14 || !slices.Equal(s.further, []int{2}) {
		t.Errorf("%d records, further blocks %v: want 12 of the plan, and one block of 2", len(s.saved), s.further)
	}
	for i, trial := range s.saved {
		late := i == 3
		left := []string{"completed", "cpu", "p50", "p99", "service"}
		if late {
			left = []string{"cpu", "p50", "service"}
		}
		if got := slices.Sorted(maps.Keys(trial.Measures)); !trial.Valid || trial.Late != late ||
			!slices.Equal(got, left) || (trial.Cohorts == nil) != late ||
			(trial.Unmeasured["p99"] == "it sent late") != late {
			t.Errorf("trial %d: valid %t, late %t, measures %q, cohorts %v, unmeasured %v", trial.Number, trial.Valid,
				trial.Late, got, trial.Cohorts, trial.Unmeasured)
		}
	}
}

func TestATrialWhoseMeasuresCannotBeReadDoesNotCount(t *testing.T) {
	m := &measurer{err: errors.New("the generator's report is torn")}
	c := m.rooms.conductor(t)
	c.System = m
	testset.Must(t, c.Play(t.Context(), plan(1)))
	if trial := m.saved[0]; trial.Valid || trial.Reason != m.err.Error() {
		t.Errorf("valid %v, reason %q, want an invalid trial with the reason", trial.Valid, trial.Reason)
	}
}
