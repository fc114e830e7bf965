package analysis

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// texts returns the texts of the answers of an experiment, in order.
func texts(in Input) []string {
	var all []string
	for _, a := range NewRule(in).Answers(in.Trials) {
		all = append(all, a.Text)
	}
	return all
}

func TestWhatIsKnownOfClaims(t *testing.T) {
	in := table1(t).shift("http", "s3", 0.1, 1, 0.1, 1, 0.1)
	in.Plan.Study.Claims = slices.DeleteFunc(in.Plan.Study.Claims, func(c lab.Claim) bool {
		return c.ID != "threads-faster-than-second" && c.ID != "second-faster-than-first"
	})
	want := []string{`"Claim threads-faster-than-second" supported`, `"Claim second-faster-than-first" open again`}
	if got := texts(in); !slices.Equal(got, want) {
		t.Errorf("known: %q, want %q", got, want)
	}
	in.Plan.Study.Claims[0].ID = ""
	if got := texts(in); !slices.Equal(got, want) {
		t.Errorf("known: %q, want %q: of a claim without an ID, too", got, want)
	}
	in.Plan.Study.Claims[0].Variant = "nobody"
	if got := texts(in); !slices.Equal(got, want[1:]) {
		t.Errorf("known: %q, want %q: a claim about nobody cannot be answered", got, want[1:])
	}
}

func TestWhatIsKnownOfPairs(t *testing.T) {
	in := loaded()
	in.Plan.Study.Claims = nil
	want := []string{
		"response time p99 of b 1.50x that of a at slow", "response time p99 of b 1.50x that of a at quick",
		"capacity of b 0.800x that of a at slow", "capacity of b 0.800x that of a at quick",
	}
	if got := texts(in); !slices.Equal(got, want) {
		t.Errorf("known: %q, want %q", got, want)
	}
	in.Trials = slices.DeleteFunc(in.Trials, func(trial lab.Trial) bool { return trial.Block > 1 })
	open := NewRule(in).Answers(in.Trials)[0]
	if want := "response time p99 of b against that of a at slow"; open.Verdict != "" || open.Question != want ||
		open.Text != want+" open again" {
		t.Errorf("of one block %+v is known, want %s open", open, want)
	}
}

func TestWhatIsKnownOfSteps(t *testing.T) {
	shown, _ := pathsToSync()
	in := explainInput(shown, 5, actAlone)
	got := texts(in)
	if len(got) != 8 || got[0] != "completion time p50 of sync 3.03x that of monolith at rate-40" ||
		got[3] != "completion time p50 of sync-together equivalent to that of saga at rate-40" {
		t.Errorf("known: %q, want the wholes of two metrics and three steps of each", got)
	}
}
