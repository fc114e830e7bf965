package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/lab"
)

// decides is a rule by which a variant is decided after some blocks.
type decides struct {
	after map[string]int
	asked []int // the last block that each question knew of
	known func(last int) []lab.Answer
}

func (d *decides) Answers(played []lab.Trial) []lab.Answer {
	if d.known == nil {
		return nil
	}
	return d.known(played[len(played)-1].Block)
}

func (d *decides) Needed(played []lab.Trial) func(lab.PlannedTrial) bool {
	last := 0
	for _, trial := range played {
		last = max(last, trial.Block)
	}
	d.asked = append(d.asked, last)
	return func(p lab.PlannedTrial) bool { return last < d.after[p.Variant] }
}

// blocks is a plan of that many blocks of variants a and b.
func blocks(n int) lab.Plan {
	p := plan(2 * n)
	for i := range p.Trials {
		p.Trials[i].Block = 1 + i/2
	}
	p.Study.Design.Until, p.Study.Design.Blocks = lab.UntilDecided, n
	return p
}

func TestWhatIsDecidedIsPlayedNoFurther(t *testing.T) {
	r, rule := &rooms{}, &decides{after: map[string]int{"a": 3, "b": 5}}
	c := r.conductor(t)
	c.Stopping = rule
	if err := c.Play(t.Context(), blocks(8)); err != nil {
		t.Fatal(err)
	}
	want := []string{"1/1 valid", "2/1 valid", "3/1 valid", "4/1 valid", "5/1 valid", "6/1 valid", "8/1 valid", "10/1 valid"}
	if got := r.verdicts(); !slices.Equal(got, want) {
		t.Errorf("played %q, want %q: a for three blocks, b for five", got, want)
	}
	if want := []int{3, 4, 5}; !slices.Equal(rule.asked, want) {
		t.Errorf("asked after blocks %v, want %v", rule.asked, want)
	}
	notes := strings.Join(r.notes, "\n")
	for _, want := range []string{"after block 3: 1 of 2 trials a block are still needed", "All is decided: nothing more is played."} {
		if strings.Count(notes, want) != 1 {
			t.Errorf("%q is not told once in\n%s", want, notes)
		}
	}
}

// TestAnInterruptedBlockIsPlayedToItsEnd: what it holds already must not decide what
// else it needs.
func TestAnInterruptedBlockIsPlayedToItsEnd(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &decides{after: map[string]int{"a": 5, "b": 5}}
	if err := c.Play(t.Context(), blocks(8)); err != nil {
		t.Fatal(err)
	}
	want := r.verdicts()
	r.saved = r.saved[:9] // of block 5 only a
	if err := c.Play(t.Context(), blocks(8)); err != nil {
		t.Fatal(err)
	}
	if got := r.verdicts(); len(want) != 10 || !slices.Equal(got, want) {
		t.Errorf("resumed %q, want %q", got, want)
	}
}

func TestOrdinaryDesignsAskNobody(t *testing.T) {
	r, rule := &rooms{}, &decides{}
	c := r.conductor(t)
	c.Stopping = rule
	p := blocks(5)
	p.Study.Design.Until = ""
	if err := c.Play(t.Context(), p); err != nil || len(r.saved) != 10 || len(rule.asked) != 0 {
		t.Errorf("%d trials, asked %v, %v: want all ten", len(r.saved), rule.asked, err)
	}
}

func TestWhatIsKnownIsTold(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &decides{known: func(last int) []lab.Answer {
		answers := []lab.Answer{{Question: "q0", Text: "q0 open again"}}
		for i := 1; i <= 6; i++ {
			answers = append(answers, lab.Answer{Question: fmt.Sprint("q", i), Verdict: "more", Text: fmt.Sprintf("q%d more", i)})
		}
		if last >= 4 {
			answers[0].Verdict, answers[0].Text = "less", "q0 less"
			answers[1].Verdict, answers[1].Text = "", "q1 open again"
		}
		return answers
	}}
	p := blocks(6)
	p.Study.Design.Until = ""
	if err := c.Play(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"known so far, after block 2 of 6: 6 of 7 decided; new: q1 more; q2 more; q3 more; q4 more; and 2 more",
		"known so far, after block 4 of 6: 6 of 7 decided; new: q0 less; q1 open again",
	}
	if !slices.Equal(r.notes, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(r.notes, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheEndOfTheTime(t *testing.T) {
	r := &rooms{}
	c := r.conductor(t)
	c.Stopping = &decides{after: map[string]int{"a": 9, "b": 9}}
	p := blocks(5)
	p.Study.Design.Within = 1e-9
	if err := c.Play(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(r.saved) != 0 || !slices.Contains(r.notes, "The 1ns are over (--resume goes on): nothing more is played.") {
		t.Errorf("%d trials, notes %q", len(r.saved), r.notes)
	}
	// A block that cannot be done in what is left is not begun.
	l := looks{experiment: &experiment{Conductor: &c, plan: p}, began: timeAgo(50), within: seconds(60), trials: 5}
	if needed, err := l.needed(lab.PlannedTrial{Number: 7, Block: 4, Variant: "a", Point: "s1"}); needed || err != nil {
		t.Errorf("a block of about 20 s is begun with 10 s left: %v, %v", needed, err)
	}
	if last := r.notes[len(r.notes)-1]; last != "Block 4 would take about 20s, more than is left of 1m0s (--resume goes on): nothing more is played." {
		t.Errorf("note %q", last)
	}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func timeAgo(n int) time.Time { return time.Now().Add(-seconds(n)) }
