package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestWhatWasNotAskedForIsNoLackOfTheHost: claims that --points or --quick left out are
// distinguished from claims that cannot be tested on the host.
func TestWhatWasNotAskedForIsNoLackOfTheHost(t *testing.T) {
	few := []string{"s1", "s2"}
	asked := func(note bool) Input {
		in := table1(t).only(func(trial lab.Trial) bool { return slices.Contains(few, trial.Point.Name) })
		s := &in.Plan.Study
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p lab.Point) bool {
			out := !slices.Contains(few, p.Name)
			if out && note {
				s.Unasked = append(s.Unasked, p.Name)
			}
			return out
		})
		s.Trends = nil
		s.Absent = []lab.AbsentVariant{{Name: "shm", Reason: "only sockets are asked for", Unasked: true},
			{Name: "castle", Reason: "no ground"}}
		s.Claims = []lab.Claim{
			{ID: "exponent", Kind: lab.ClaimLinear, Metric: "elapsed", Variant: "uds", Factor: "workers",
				Points: []string{"s1", "s2", "s3", "s4", "s5"}},
			{ID: "point", Kind: lab.ClaimSlower, Metric: "elapsed", Variant: "http", Against: "uds",
				Points: []string{"s9"}},
			{ID: "variant", Kind: lab.ClaimSlower, Metric: "elapsed", Variant: "shm", Against: "uds"},
			{ID: "host", Kind: lab.ClaimSlower, Metric: "elapsed", Variant: "castle", Against: "shm"},
			{ID: "tested", Kind: lab.ClaimSlower, Metric: "elapsed", Variant: "http", Against: "uds"},
		}
		return in
	}
	unasked := func(in Input) (ids []string) {
		for _, j := range Analyse(in).Claims {
			if j.Unasked {
				ids = append(ids, j.ID)
			}
		}
		return ids
	}
	if got, want := unasked(asked(true)), []string{"exponent", "point", "variant"}; !slices.Equal(got, want) {
		t.Errorf("not asked for: %v, want %v", got, want)
	}
	if got, want := unasked(asked(false)), []string{"variant"}; !slices.Equal(got, want) {
		t.Errorf("not asked for: %v where the host left out the points, want %v", got, want)
	}
	failed := asked(true)
	for i := range failed.Trials {
		failed.Trials[i].Valid = failed.Trials[i].Variant != "http"
	}
	if got, want := unasked(failed), []string{"exponent", "point", "variant"}; !slices.Equal(got, want) {
		t.Errorf("not asked for: %v, want %v: what was tested and did not count is something else", got, want)
	}
	a := Analyse(asked(true))
	if want := "castle (this host lacks a part), 3 claims that this run was not asked for, 1 claim that " +
		"cannot be tested here (the reasons are in the table of claims)"; !strings.HasSuffix(
		strings.Join(a.Answer.NotTested, ", "), want) {
		t.Errorf("not tested: %s; want it to end with %s", a.Answer.NotTested, want)
	}
	if text := claimsSentence(a); !strings.HasSuffix(text, "3 not asked for, 1 untestable.") {
		t.Errorf("the answer counts otherwise: %s", text)
	}
	if reason := claimOf(t, a, "variant").Reason; reason != "not asked for: only sockets are asked for" {
		t.Errorf("the reason is %q", reason)
	}
}

func TestContradictedClaimsAreQuoted(t *testing.T) {
	text := claimsSentence(lab.Analysis{Claims: []lab.Judgement{{ID: "first-faster",
		Text:    "The first is faster.",
		Verdict: lab.ClaimContradicted}}})
	if text != `Of 1 claim here: 1 contradicted ("The first is faster").` {
		t.Errorf("%q does not quote the text of the claim", text)
	}
}
