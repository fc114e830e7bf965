package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestUnitsRestBeforeTheLoad checks that the units rest for as long as the lead unit asks, as a phase before
// the job.
func TestUnitsRestBeforeTheLoad(t *testing.T) {
	const rest = 30 * time.Millisecond
	lead := lab.UnitSpec{Name: "lead", Lifecycle: lab.Lifecycle{Rest: rest}}
	other := lab.UnitSpec{Name: "other"}
	for name, c := range map[string]struct {
		layout lab.Layout
		rests  bool
	}{
		"the lead asks for it": {lab.Layout{Lead: "lead", Units: []lab.UnitSpec{other, lead}}, true},
		"the lead does not":    {lab.Layout{Lead: "other", Units: []lab.UnitSpec{lead, other}}, false},
		"the lead is alone":    {lab.Layout{Lead: "lead", Units: []lab.UnitSpec{lead}}, false},
	} {
		var phases []lab.PhaseName
		r := &rooms{}
		j := Job{Deployment: &deployment{rooms: r, failed: make(chan struct{})}, Meter: r, Layout: c.layout,
			Lap: func(phase lab.PhaseName) { phases = append(phases, phase) }}
		begun := time.Now()
		_, err := j.Play(t.Context())
		testset.Must(t, err)
		want := []lab.PhaseName{lab.PhaseReady, lab.PhaseJob, lab.PhaseReports}
		if c.rests {
			want = slices.Insert(want, 1, lab.PhaseIdle)
		}
		if took := time.Since(begun); !slices.Equal(phases, want) || c.rests && took < rest {
			t.Errorf("%s: phases %v in %v, want %v", name, phases, took, want)
		}
	}
}

// TestAFailureEndsTheRest checks that the rest ends when the trial fails.
func TestAFailureEndsTheRest(t *testing.T) {
	failed := errors.New("the database ended")
	ctx, fail := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { fail(failed) })
	r := &rooms{}
	layout := lab.Layout{Lead: "lead", Units: []lab.UnitSpec{
		{Name: "lead", Lifecycle: lab.Lifecycle{Rest: time.Minute}}, {Name: "other"}}}
	_, err := Job{Deployment: &deployment{rooms: r, failed: make(chan struct{})}, Meter: r,
		Layout: layout}.Play(ctx)
	if !errors.Is(err, failed) {
		t.Errorf("ended with %v, want %v", err, failed)
	}
}
