package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// rests makes the units of a variant use so much of what they use under load when nobody asks.
func rests(in Input, variant string, share float64) {
	for i := range in.Trials {
		trial := &in.Trials[i]
		if trial.Variant != variant {
			continue
		}
		trial.Metered.IdleSeconds, trial.Metered.WindowSeconds = 0.25, 2
		trial.Metered.Roles = map[string]lab.Usage{
			"unit":            {CPUSeconds: 0.5, IdleCores: 0.25 * share},
			lab.RoleGenerator: {CPUSeconds: 1, IdleCores: 0.5},
		}
	}
}

func TestWhatUnitsUseWhenNobodyAsksIsTold(t *testing.T) {
	in := loaded()
	rests(in, "a", 0.04)
	rests(in, "b", 0.2)
	notes := Analyse(in).Notes
	i := slices.IndexFunc(notes, func(note string) bool { return strings.Contains(note, "while nobody asks") })
	if i < 0 {
		t.Fatalf("notes %q do not say it", notes)
	}
	if !strings.HasPrefix(notes[i], "Of the CPU per operation, up to 20 % with b at ") ||
		!strings.Contains(notes[i], "(5.0 % of one processor)") {
		t.Errorf("note %q", notes[i])
	}
	if strings.Contains(notes[i], "with a at") {
		t.Errorf("note %q names a variant of which it is 4 %%", notes[i])
	}
}
