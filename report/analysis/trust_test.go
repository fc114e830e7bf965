package analysis

import (
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestTheAnswerMentionsABusyHost, unless the load may be that of an unmetered system or a platform.
func TestTheAnswerMentionsABusyHost(t *testing.T) {
	nothing := func(*lab.Variant, *lab.Trial) {}
	unavailable := func(name string) func(*lab.Variant, *lab.Trial) {
		return func(_ *lab.Variant, t *lab.Trial) {
			t.Conditions.Unavailable = map[string]string{name: "it cannot be read"}
		}
	}
	for name, test := range map[string]struct {
		share float64
		every int // every trial with a multiple of this index has the share
		with  func(*lab.Variant, *lab.Trial)
		want  bool
	}{
		"busy":            {0.4, 1, nothing, true},
		"nearly idle":     {0.09, 1, nothing, false},
		"at times":        {0.4, 7, nothing, true},
		"rarely":          {0.4, 15, nothing, false},
		"not known":       {0.4, 1, unavailable("others_share"), false},
		"steal not known": {0.4, 1, unavailable("steal_share"), true},
		"runs already": {0.4, 1, func(v *lab.Variant, _ *lab.Trial) {
			v.External = &lab.ExternalSystem{}
		}, false},
		"a metered platform": {0.4, 1, func(_ *lab.Variant, t *lab.Trial) {
			t.Platform = &lab.PlatformCost{Used: &lab.Usage{}}
		}, false},
		"processes": {0.4, 1, func(_ *lab.Variant, t *lab.Trial) { t.Platform = &lab.PlatformCost{} }, true},
	} {
		in := shopUnderLoad()
		for i := range in.Trials {
			if i%test.every == 0 {
				in.Trials[i].Conditions.OthersShare = test.share
			}
			for v := range in.Plan.Study.Variants {
				test.with(&in.Plan.Study.Variants[v], &in.Trials[i])
			}
		}
		got := strings.Join(newExperiment(in).howSure(lab.Analysis{}, lab.Metric{}), " ")
		mentioned := strings.Contains(got, "Other programs used")
		if mentioned != test.want || mentioned && !strings.Contains(got, "up to 40 %") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
