package lab

import (
	"testing"
	"time"
)

func TestTheRestIsASmallPartOfTheLoad(t *testing.T) {
	for name, c := range map[string]struct {
		job  LoadJob
		want time.Duration
	}{
		"a short load": {LoadJob{Load: Load{Duration: 2}}, 200 * time.Millisecond},
		"a middle one": {LoadJob{Load: Load{Duration: 10}}, 500 * time.Millisecond},
		"a long one":   {LoadJob{Load: Load{Duration: 300}}, time.Second},
		"counted":      {LoadJob{Load: Load{Duration: 3600}, Count: 9, Over: 8}, 400 * time.Millisecond},
		"all at once":  {LoadJob{Load: Load{Duration: 3600}, Count: 9}, 200 * time.Millisecond},
		"a search":     {LoadJob{Load: Load{Duration: 10}, Search: true}, 0},
	} {
		if got := c.job.Rest(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
