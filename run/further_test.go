package run

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// threeBlocks returns a plan of three blocks of the variants a and b at two points.
func threeBlocks() lab.Plan {
	p := plan(0)
	p.Study.Points = []lab.Point{{Name: "s1"}, {Name: "s2"}}
	p.Study.Design.Blocks = 3
	p.Study.Design.Seed = 7
	for block := 1; block <= 3; block++ {
		p.Trials = append(p.Trials, p.Study.Block(block, len(p.Trials))...)
	}
	return p
}

// lose returns an error for each of some attempts, for rooms.spoil.
func lose(attempts ...int) map[int]error {
	lost := map[int]error{}
	for _, attempt := range attempts {
		lost[attempt] = errors.New("unit gateway ended")
	}
	return lost
}

// TestLostTrialsAreMadeUpForInAFurtherBlock checks that after both attempts at trial 4 of 12 have failed, all
// variants are played once more at its point, and nothing at the other.
func TestLostTrialsAreMadeUpForInAFurtherBlock(t *testing.T) {
	r := &rooms{spoil: lose(4, 5)}
	p := threeBlocks()
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), p))
	if len(r.saved) != 15 || !slices.Equal(r.further, []int{2}) {
		t.Fatalf("%d records, further blocks %v: want 13 of the plan, and one block of 2", len(r.saved), r.further)
	}
	lost := p.Trials[3].Point
	variants := []string{}
	for i, trial := range r.saved[13:] {
		variants = append(variants, trial.Variant)
		if trial.Number != 13+i || trial.Block != 4 || trial.Point.Name != lost || trial.Seed != r.saved[13].Seed {
			t.Errorf("%+v: want trial %d in block 4 at %s, with the seed of its block", trial, 13+i, lost)
		}
	}
	if slices.Sort(variants); !slices.Equal(variants, []string{"a", "b"}) {
		t.Errorf("variants %v, want a and b", variants)
	}
	want := "missing at " + lost + ": a further block is played there (2 trials)"
	if text := strings.Join(r.notes, "\n"); !strings.Contains(text, want) {
		t.Errorf("notes: %s\nwant %q", text, want)
	}
	if err := c.Play(t.Context(), p); err != nil || len(r.saved) != 15 {
		t.Errorf("resumed: %d records, %v: want nothing more", len(r.saved), err)
	}
}

// TestAFurtherBlockOfOneTrial checks the note on a further block of a study with one variant and one point.
func TestAFurtherBlockOfOneTrial(t *testing.T) {
	r := &rooms{spoil: lose(2, 3)}
	p := plan(0)
	p.Study.Variants = p.Study.Variants[:1]
	p.Study.Design.Blocks = 2
	p.Trials = append(p.Study.Block(1, 0), p.Study.Block(2, 1)...)
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), p))
	if text := strings.Join(r.notes, "\n"); !strings.Contains(text, "block is played there (1 trial)") {
		t.Errorf("notes: %s\nwant a further block of 1 trial", text)
	}
}

// TestAFurtherBlockIsResumed checks that an interrupted further block is resumed with the same numbers and
// seeds, after a warm-up.
func TestAFurtherBlockIsResumed(t *testing.T) {
	r := &rooms{spoil: lose(1, 2)}
	p := threeBlocks()
	c := r.conductor(t)
	testset.Must(t, c.Play(t.Context(), p))
	want := r.saved[len(r.saved)-1]
	r.saved = r.saved[:len(r.saved)-1]
	r.further = nil
	r.played = nil
	r.spoil = nil
	p.Study.Design.WarmupTrials = 1
	testset.Must(t, c.Play(t.Context(), p))
	if len(r.played) != 4+1 {
		t.Errorf("resumed with %q, want a warm-up of 2 variants at 2 points, and the missing trial", r.played)
	}
	got := r.saved[len(r.saved)-1]
	if len(r.saved) != 15 || got.Number != want.Number || got.Variant != want.Variant || got.Seed != want.Seed {
		t.Errorf("resumed with %+v, want %+v", got, want)
	}
}

// TestAFurtherBlockIsAsLongAsTheOthers checks that the trials of a further block are lengthened like the lost
// ones, also after an interruption: shorter trials would not count.
func TestAFurtherBlockIsAsLongAsTheOthers(t *testing.T) {
	r := &rooms{spoil: lose(12, 13)} // the last trial of the plan, twice as long as planned
	p := threeBlocks()
	c := r.conductor(t)
	c.System = longer{rooms: r}
	c.Stopping = &fakeRule{lengths: func(int) map[string]float64 { return map[string]float64{"s1": 2, "s2": 2} }}
	for _, played := range []string{"at once", "resumed"} {
		testset.Must(t, c.Play(t.Context(), p))
		if len(r.saved) != 15 || r.saved[13].Lengthened != 2 || r.saved[14].Lengthened != 2 {
			t.Errorf("%s: %d records, the last two %g and %g times as long as planned, want 15, and 2 times", played,
				len(r.saved), r.saved[13].Lengthened, r.saved[14].Lengthened)
		}
		r.saved = r.saved[:13]
	}
}

// TestFurtherBlocksAreLimited checks when there is no further block, and that there are at most MaxRepeats.
func TestFurtherBlocksAreLimited(t *testing.T) {
	broken := map[string]lab.AuditVerdict{"a": lab.AuditUnknown}
	for name, c := range map[string]struct {
		rooms   rooms
		repeats int
		until   string
		further []int
	}{
		"nothing is lost":                {rooms{}, 1, "", nil},
		"a variant never counts":         {rooms{audits: broken}, 1, "", nil},
		"a trial is not repeated":        {rooms{spoil: lose(4)}, 0, "", nil},
		"it stops by its verdicts":       {rooms{spoil: lose(4, 5)}, 1, lab.UntilDecided, nil},
		"its further block is lost, too": {rooms{spoil: lose(4, 5, 14, 15, 16, 17)}, 1, "", []int{2}},
		"two blocks are allowed":         {rooms{spoil: lose(4, 5, 6, 15, 16, 17, 18, 19, 20)}, 2, "", []int{2, 2}},
	} {
		p := threeBlocks()
		p.Study.Design.MaxRepeats = c.repeats
		p.Study.Design.Until = c.until
		conductor := c.rooms.conductor(t)
		testset.Must(t, conductor.Play(t.Context(), p))
		if !slices.Equal(c.rooms.further, c.further) {
			t.Errorf("%s: further blocks of %v trials, want %v", name, c.rooms.further, c.further)
		}
	}
}
