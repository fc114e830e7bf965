package system

import (
	"slices"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestOldPlansSayWhatTheirMetricsAre: a plan that was written before metrics had fields
// for what they are is read as if it had been written today.
func TestOldPlansSayWhatTheirMetricsAre(t *testing.T) {
	plan := lab.Plan{}
	for _, m := range metrics() {
		if m.Kind == "" || m.Quantity == "" || m.Source == "" {
			t.Errorf("metric %s does not say what it is", m.Name)
		}
		plan.Study.Metrics = append(plan.Study.Metrics, lab.Metric{Name: m.Name, Title: m.Title, Unit: m.Unit, Better: m.Better})
	}
	plan.DescribeMetrics()
	for i, m := range metrics() {
		if plan.Study.Metrics[i] != m {
			t.Errorf("read as %+v, want %+v", plan.Study.Metrics[i], m)
		}
	}
	own := lab.Metric{Name: "queue_p99", Kind: lab.KindCount, Quantity: "queue"}
	plan.Study.Metrics = []lab.Metric{own}
	if plan.DescribeMetrics(); !slices.Equal(plan.Study.Metrics, []lab.Metric{own}) {
		t.Errorf("a metric that says what it is was changed to %+v", plan.Study.Metrics)
	}
}
