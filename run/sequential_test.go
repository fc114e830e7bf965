package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// fakeRule is a stopping rule that decides variants after a number of blocks. last is the number of the last
// block that was played.
type fakeRule struct {
	after   map[string]int                    // number of blocks after which a variant is decided
	asked   []int                             // last, for each call of Needed
	known   func(last int) []lab.Answer       // the result of Answers; nil: none
	lengths func(last int) map[string]float64 // the result of Lengths; nil: as planned
}

func (d *fakeRule) Answers(played []lab.Trial) []lab.Answer {
	if d.known == nil {
		return nil
	}
	return d.known(played[len(played)-1].Block)
}

func (d *fakeRule) Headline(played []lab.Trial) *lab.Headline {
	return &lab.Headline{Title: fmt.Sprintf("%d trials", len(played))}
}

func (d *fakeRule) Lengths(played []lab.Trial) map[string]float64 {
	if d.lengths == nil {
		return nil
	}
	return d.lengths(played[len(played)-1].Block)
}

func (d *fakeRule) Needed(played []lab.Trial) func(lab.PlannedTrial) bool {
	last := 0
	for _, trial := range played {
		last = max(last, trial.Block)
	}
	d.asked = append(d.asked, last)
	return func(p lab.PlannedTrial) bool { return last < d.after[p.Variant] }
}

// blocks returns a plan of n blocks of the variants a and b that stops when all is decided.
func blocks(n int) lab.Plan {
	p := plan(2 * n)
	for i := range p.Trials {
		p.Trials[i].Block = 1 + i/2
	}
	p.Study.Design.Until = lab.UntilDecided
	p.Study.Design.Blocks = n
	return p
}

func TestDecidedVariantsAreNotPlayed(t *testing.T) {
	r := &rooms{}
	rule := &fakeRule{after: map[string]int{"a": 3, "b": 5}}
	c := r.conductor(t)
	c.Stopping = rule
	testset.Must(t, c.Play(t.Context(), blocks(8)))
	want := []string{"1/1 valid", "2/1 valid", "3/1 valid", "4/1 valid", "5/1 valid", "6/1 valid", "8/1 valid",
		"10/1 valid"}
	if got := r.verdicts(); !slices.Equal(got, want) {
		t.Errorf("played %q, want %q: a for three blocks, b for five", got, want)
	}
	if want := []int{3, 4, 5}; !slices.Equal(rule.asked, want) {
		t.Errorf("asked after blocks %v, want %v", rule.asked, want)
	}
	notes := strings.Join(r.notes, "\n")
	for _, want := range []string{"after block 3: still needed of each block: 1 of 2 trials",
		"All is decided: nothing more is played."} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("%q is not once in the notes\n%s", want, notes)
		}
	}
}

// TestAnInterruptedBlockIsPlayedToItsEnd checks that the trials of an interrupted block do not decide which
// of its other trials are needed.
func TestAnInterruptedBlockIsPlayedToItsEnd(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &fakeRule{after: map[string]int{"a": 5, "b": 5}}
	testset.Must(t, c.Play(t.Context(), blocks(8)))
	want := r.verdicts()
	r.saved = r.saved[:9] // block 5 has only the trial of a
	testset.Must(t, c.Play(t.Context(), blocks(8)))
	if got := r.verdicts(); len(want) != 10 || !slices.Equal(got, want) {
		t.Errorf("resumed %q, want %q", got, want)
	}
}

// TestOrdinaryDesignsPlayAllTrials checks that a design that does not stop by its verdicts plays all trials
// and does not ask the rule which are needed.
func TestOrdinaryDesignsPlayAllTrials(t *testing.T) {
	r := &rooms{}
	rule := &fakeRule{}
	c := r.conductor(t)
	c.Stopping = rule
	p := blocks(5)
	p.Study.Design.Until = ""
	if err := c.Play(t.Context(), p); err != nil || len(r.saved) != 10 || len(rule.asked) != 0 {
		t.Errorf("%d trials, asked %v, %v: want all ten", len(r.saved), rule.asked, err)
	}
}

// TestChangedVerdictsAreReported checks the notes about verdicts that have changed since the last look.
func TestChangedVerdictsAreReported(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &fakeRule{known: func(last int) []lab.Answer {
		answers := []lab.Answer{{Question: "q0", Text: "q0 open again"}}
		for i := 1; i <= 6; i++ {
			answers = append(answers, lab.Answer{Question: fmt.Sprint("q", i), Verdict: "more",
				Text: fmt.Sprintf("q%d more", i)})
		}
		if last >= 4 {
			answers[0].Verdict = "less"
			answers[0].Text = "q0 less"
			answers[1].Verdict = ""
			answers[1].Text = "q1 open again"
		}
		return answers
	}}
	p := blocks(6)
	p.Study.Design.Until = ""
	testset.Must(t, c.Play(t.Context(), p))
	want := []string{
		"known so far, after block 2 of 6: 6 of 7 decided; new: q1 more; q2 more; q3 more; q4 more; and 2 more",
		"known so far, after block 4 of 6: 6 of 7 decided; new: q0 less; q1 open again",
	}
	if !slices.Equal(r.notes, want) {
		t.Errorf("notes\n%s\nwant\n%s", strings.Join(r.notes, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheTimeLimitEndsTheExperiment(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &fakeRule{after: map[string]int{"a": 9, "b": 9}}
	p := blocks(5)
	p.Study.Design.Within = 1e-9
	testset.Must(t, c.Play(t.Context(), p))
	if len(r.saved) != 0 || !slices.Contains(r.notes,
		"The 1ns are over (--resume goes on): nothing more is played.") {
		t.Errorf("%d trials, notes %q", len(r.saved), r.notes)
	}
}

// TestABlockThatExceedsTheTimeLimitIsNotBegun checks the estimate of the time of a block: the time of earlier
// trials, including all attempts, and more if loads have become longer since.
func TestABlockThatExceedsTheTimeLimitIsNotBegun(t *testing.T) {
	took := func(number, attempt int, variant string, lengthened, job float64) lab.Trial {
		return lab.Trial{Number: number, Attempt: attempt, Block: 3, Variant: variant, Point: lab.Point{Name: "s1"},
			Lengthened: lengthened,
			Phases: []lab.Phase{{Name: lab.PhaseStart, Seconds: 1}, {Name: lab.PhaseReady, Seconds: 1},
				{Name: lab.PhaseJob, Seconds: job}}}
	}
	for name, c := range map[string]struct {
		played  float64 // length of earlier trials, as a multiple of the planned one
		lengths map[string]float64
		want    string
	}{
		"as planned":    {0, nil, "20s"}, // 8 s of a, and twice 6 s of b
		"twice as long": {0, map[string]float64{"s1": 2}, "37s"},
		"was longer":    {2, map[string]float64{"s1": 2}, "20s"},
		"another point": {0, map[string]float64{"s2": 2}, "20s"},
	} {
		r := &rooms{saved: []lab.Trial{took(5, 1, "a", c.played, 6), took(6, 1, "b", c.played, 4),
			took(6, 2, "b", c.played, 4)}}
		conductor := r.conductor(t)
		conductor.Stopping = &fakeRule{after: map[string]int{"a": 9, "b": 9},
			lengths: func(int) map[string]float64 { return c.lengths }}
		p := blocks(5)
		l := looks{experiment: &experiment{Conductor: &conductor, plan: p}, began: timeAgo(50), within: seconds(60)}
		if needed, err := l.needed(p.Trials[6]); needed || err != nil {
			t.Errorf("%s: a block is begun with 10 s left: %v, %v", name, needed, err)
		}
		if last := r.notes[len(r.notes)-1]; last != "Block 4 would take about "+c.want+
			", more than is left of 1m0s (--resume goes on): nothing more is played." {
			t.Errorf("%s: note %q, want %s", name, last, c.want)
		}
		l = looks{experiment: l.experiment, began: timeAgo(20), within: seconds(60), isNeeded: l.isNeeded,
			reported: map[string]string{}}
		if needed, err := l.needed(p.Trials[6]); !needed || err != nil {
			t.Errorf("%s: a block is not begun with 40 s left: %v, %v", name, needed, err)
		}
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func timeAgo(n int) time.Time { return time.Now().Add(-seconds(n)) }

// longer is a system whose load can be made longer.
type longer struct {
	*rooms
	times float64 // length of the load, as a multiple of the planned one
}

func (l longer) Lengthened(times float64) lab.System { return longer{l.rooms, times} }

func (l longer) Layout(v lab.Variant, p lab.Point, seed uint64) (lab.Layout, error) {
	layout, err := l.rooms.Layout(v, p, seed)
	if l.times > 1 {
		layout.Lead += fmt.Sprintf(", %g times", l.times)
	}
	return layout, err
}

// TestTheRuleLengthensTrials checks that lengths of the rule apply from the next block on, also after an
// interruption.
func TestTheRuleLengthensTrials(t *testing.T) {
	r := &rooms{}
	rule := &fakeRule{lengths: func(last int) map[string]float64 {
		return map[string]float64{"s1": []float64{0, 0, 2, 2, 4}[last]}
	}}
	c := r.conductor(t)
	c.System = longer{rooms: r}
	c.Stopping = rule
	p := blocks(5)
	p.Study.Design.Until = ""
	p.Trials = p.Trials[:7]
	testset.Must(t, c.Play(t.Context(), p))
	p.Trials = blocks(5).Trials
	testset.Must(t, c.Play(t.Context(), p)) // goes on in the middle of block 4
	var lengths []float64
	for _, trial := range r.saved {
		lengths = append(lengths, trial.Lengthened)
	}
	if want := []float64{0, 0, 0, 0, 2, 2, 2, 2, 4, 4}; !slices.Equal(lengths, want) {
		t.Errorf("trials last %v times as long as planned, want %v", lengths, want)
	}
	if got := r.played[7]; got != "b at s1, 2 times" {
		t.Errorf("the eighth trial is %q", got)
	}
	if notes := strings.Join(r.notes, "\n"); !strings.Contains(notes,
		"not steady at s1: from block 3 on load and warm-up last 2 times as long as planned") {
		t.Errorf("notes: %s", notes)
	}
	c.System = r
	p.Trials = append(p.Trials, lab.PlannedTrial{Number: 11, Block: 5, Variant: "a", Point: "s1"})
	if err := c.Play(t.Context(), p); err == nil || !strings.Contains(err.Error(), "design.lengthen") {
		t.Errorf("a system whose load cannot be made longer: %v", err)
	}
}

// reliefs is a system that measures in every trial its relief: when response times met the objective for good
// (lab.Relief).
type reliefs struct{ *rooms }

func (reliefs) Measure(
	context.Context, lab.Variant, lab.Point, lab.Metered, lab.Leftover,
) (lab.Measured, error) {
	return lab.Measured{Values: map[string]float64{lab.Relief: 0, "goodput": 1}}, nil
}

// TestReliefIsKeptOnlyWithAutoscaling checks that the relief is kept only in studies with a variant that
// scales.
func TestReliefIsKeptOnlyWithAutoscaling(t *testing.T) {
	for scaled, want := range map[bool]int{false: 1, true: 2} {
		r := &rooms{}
		c := r.conductor(t)
		c.System = reliefs{r}
		e := experiment{Conductor: &c, plan: plan(1)}
		if scaled {
			e.plan.Study.Variants[1].Autoscale = map[string]lab.Autoscale{"front": {Max: 2, CPU: 0.5}}
		}
		var trial lab.Trial
		if err := e.measure(t.Context(), setting{}, lab.Leftover{}, &trial); err != nil ||
			len(trial.Measures) != want {
			t.Errorf("a variant that scales: %v; measures %v, %v", scaled, trial.Measures, err)
		}
	}
}
