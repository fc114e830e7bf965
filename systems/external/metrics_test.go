package external

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
)

// TestOldPlansSayWhatTheirMetricsAre: a plan that was written before metrics had fields
// for what they are is read as if it had been written today.
func TestOldPlansSayWhatTheirMetricsAre(t *testing.T) {
	plan := lab.Plan{}
	old := metrics(true, true, true)
	old = old[:len(old)-len(loaded.ClientMetrics())] // these are younger than the fields
	for _, m := range old {
		if m.Kind == "" || m.Quantity == "" || m.Source == "" {
			t.Errorf("metric %s does not say what it is", m.Name)
		}
		plan.Study.Metrics = append(plan.Study.Metrics,
			lab.Metric{Name: m.Name, Title: m.Title, Unit: m.Unit, Better: m.Better})
	}
	plan.DescribeMetrics()
	for i, m := range old {
		if plan.Study.Metrics[i] != m {
			t.Errorf("read as %+v, want %+v", plan.Study.Metrics[i], m)
		}
	}
}
