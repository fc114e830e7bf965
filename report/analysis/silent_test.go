package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestTheAnswerBeginsWithWhatIsMissing: variants without a trial that counts are named
// first, with the reason of the last attempt and the place of its logs.
func TestTheAnswerBeginsWithWhatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil map[string]float64 // variants without a trial that counts, with the seconds of their trials
		want  []string           // beginnings of the first sentences
	}{
		"one never started": {map[string]float64{"http": 0},
			[]string{"http never got through a load (", "Nothing can be said of http: none of its trials count. "}},
		"one was not valid": {map[string]float64{"http": 1},
			[]string{"http gave no valid trial (", "Nothing can be said of http"}},
		"two": {map[string]float64{"threads": 0, "http": 1},
			[]string{"threads never got through a load (", "http gave no valid trial ("}},
		"a twin is left out": {map[string]float64{"uds.twin": 0}, []string{"Compared with "}},
		"all": {map[string]float64{"threads": 0, "uds": 0, "uds.twin": 0, "uds-persistent": 0, "http": 0}, []string{
			"threads never got", "http never got", "uds never got", "uds-persistent never got", "No trial counted ("}},
	} {
		t.Run(name, func(t *testing.T) {
			in := table1(t)
			for i := range in.Trials {
				trial := &in.Trials[i]
				if seconds, spoilt := c.spoil[trial.Variant]; spoilt {
					trial.Valid = false
					trial.ElapsedSeconds = seconds
					trial.Reason = "out\n  of luck"
				}
			}
			said := Analyse(in).Answer
			answer := append(slices.Clone(said.Withheld), said.Sentence)
			for i, want := range c.want {
				if i >= len(answer) || !strings.HasPrefix(answer[i], want) {
					t.Fatalf("the answer is %+v, want sentence %d to begin with %q", answer, i+1, want)
				}
				if strings.Contains(want, "(") && strings.Contains(want, "never") &&
					!strings.Contains(answer[i], "The last attempt: out of luck (record and logs: trials/") {
					t.Errorf("%q does not say why and where", answer[i])
				}
			}
		})
	}
	silent := SilentVariants(lab.Study{Variants: []lab.Variant{{Name: "a"}}}, nil)
	if len(silent) > 0 {
		t.Errorf("variants that were not played are silent: %v", silent)
	}
}
