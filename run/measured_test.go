package run

import (
	"context"
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// measurer is a system with a metric of its own.
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

// TestUseIsFollowedWhereTheLoadIs: a search plays many loads, and a job none.
func TestUseIsFollowedWhereTheLoadIs(t *testing.T) {
	for _, slices := range []int{0, 1} {
		m := &measurer{course: make([]lab.Slice, slices)}
		c := conductorOf(t, &m.rooms)
		if c.System = m; slices == 0 {
			c.System = &m.rooms
		}
		for range 2 { // a job, and then a search
			if err := c.Play(t.Context(), plan(1)); err != nil {
				t.Fatal(err)
			}
			if kept := m.saved[0].Metered.Course != nil; kept != (slices > 0) {
				t.Errorf("of a load with a course of %d slices the course of its use is kept: %t", slices, kept)
			}
			c.System, m.saved = m, nil
		}
	}
}

func TestASystemMeasuresItsOwnTrials(t *testing.T) {
	m := &measurer{}
	c := conductorOf(t, &m.rooms)
	c.System = m
	if err := c.Play(t.Context(), plan(1)); err != nil {
		t.Fatal(err)
	}
	if got := m.saved[0].Values()["capacity"]; got != 300 {
		t.Errorf("capacity %g, want 300", got)
	}
}

func TestATrialWhoseMeasuresCannotBeReadDoesNotCount(t *testing.T) {
	m := &measurer{err: errors.New("the generator's report is torn")}
	c := conductorOf(t, &m.rooms)
	c.System = m
	if err := c.Play(t.Context(), plan(1)); err != nil {
		t.Fatal(err)
	}
	if trial := m.saved[0]; trial.Valid || trial.Reason != m.err.Error() {
		t.Errorf("valid %v, reason %q, want the trial struck out", trial.Valid, trial.Reason)
	}
}
