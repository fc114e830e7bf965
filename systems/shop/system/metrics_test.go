package system

import (
	"testing"
)

func TestMetricsSayWhatTheyAre(t *testing.T) {
	for _, m := range metrics() {
		if m.Kind == "" || m.Quantity == "" || m.Source == "" {
			t.Errorf("metric %s does not say what it is: %+v", m.Name, m)
		}
	}
}
