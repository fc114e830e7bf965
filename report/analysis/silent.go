package analysis

import (
	"fmt"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// Silent is a variant of which trials were played and none counts.
type Silent struct {
	Variant  string
	Attempts int
	Loaded   bool // a load was played to its end
	Last     lab.Trial
}

// SilentVariants returns the silent variants of a plan, in its order; a twin stands behind the variant
// that it is. Nothing can be said of them, which an answer must begin with.
func SilentVariants(study lab.Study, trials []lab.Trial) []Silent {
	var all []Silent
	for _, v := range study.Variants {
		s := Silent{Variant: v.Name}
		counts := v.TwinOf != ""
		for _, t := range trials {
			if t.Variant != v.Name || t.Profiled {
				continue
			}
			s.Attempts++
			counts = counts || t.Valid
			s.Loaded = s.Loaded || t.ElapsedSeconds > 0
			if t.Number > s.Last.Number || t.Number == s.Last.Number && t.Attempt > s.Last.Attempt {
				s.Last = t
			}
		}
		if s.Attempts > 0 && !counts {
			all = append(all, s)
		}
	}
	return all
}

// String returns the sentence about it.
func (s Silent) String() string {
	what := "never got through a load"
	if s.Loaded {
		what = "gave no valid trial"
	}
	return fmt.Sprintf("%s %s (%s): nothing can be said of it. The last attempt: %s (record and logs: "+
		"trials/%04d-%d).", s.Variant, what,
		count(s.Attempts, "attempt"), strings.Join(strings.Fields(s.Last.Reason), " "), s.Last.Number,
		s.Last.Attempt)
}
