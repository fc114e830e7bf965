package hosting_test

import (
	"testing"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// TestAmplificationIsThatOfAllUnits: it is the sum of attempts divided by the sum of calls; the generator's
// report is not one of a unit.
func TestAmplificationIsThatOfAllUnits(t *testing.T) {
	values := map[string]float64{}
	err := hosting.AddAmplification(values, []lab.UnitReport{
		{Unit: "orders", Data: []byte(`{"asked":4,"attempts":9}`)},
		{Unit: "stock", Data: []byte(`{"asked":1,"attempts":1,"spans":{}}`)},
		{Unit: "proxy"},
		{Unit: lab.RoleGenerator, Data: []byte(`{"asked":"much"}`)},
	})
	if got := values[kit.QuantityAmplification]; err != nil || got != 2 {
		t.Errorf("%g, %v, want 2", got, err)
	}
	clear(values)
	err = hosting.AddAmplification(values, []lab.UnitReport{{Unit: "shop", Data: []byte("{}")}})
	if err != nil || len(values) > 0 {
		t.Errorf("without a call: %v, %v", values, err)
	}
	if hosting.AddAmplification(values, []lab.UnitReport{{Unit: "shop", Data: []byte("?")}}) == nil {
		t.Error("a report that cannot be decoded is accepted")
	}
}
