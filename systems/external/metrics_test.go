package external

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestOldPlansSayWhatTheirMetricsAre: a plan that was written before metrics had fields
// for what they are is read as if it had been written today.
func TestOldPlansSayWhatTheirMetricsAre(t *testing.T) {
	plan := lab.Plan{}
	for _, m := range metrics(true, true, true) {
		if m.Kind == "" || m.Quantity == "" || m.Source == "" {
			t.Errorf("metric %s does not say what it is", m.Name)
		}
		plan.Study.Metrics = append(plan.Study.Metrics, lab.Metric{Name: m.Name, Title: m.Title, Unit: m.Unit, Better: m.Better})
	}
	plan.DescribeMetrics()
	for i, m := range metrics(true, true, true) {
		if plan.Study.Metrics[i] != m {
			t.Errorf("read as %+v, want %+v", plan.Study.Metrics[i], m)
		}
	}
}
