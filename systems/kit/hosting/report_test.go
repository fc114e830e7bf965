package hosting_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/unit"
)

// TestReplicasHandOverSpansOfTheirOwn: a trial fails if two units hand over the same file.
func TestReplicasHandOverSpansOfTheirOwn(t *testing.T) {
	t.Setenv("CLEAVE_DIR", t.TempDir())
	u := unitOf("kitchen", hosting.HTTP, "", nil)
	u.Spans = spans.NewProvider(1)
	for _, replica := range []string{"kitchen", "kitchen-2"} {
		t.Setenv("CLEAVE_UNIT", replica)
		var said bytes.Buffer
		testset.Must(t, u.Report(unit.NewChannel(strings.NewReader(""), &said)))
		if file := filepath.Base(spans.File("", replica)); !strings.Contains(said.String(), `"`+file+`"`) {
			t.Errorf("%s hands over %s, want %s", replica, &said, file)
		}
	}
}

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
