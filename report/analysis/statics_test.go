package analysis

import (
	"reflect"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestStaticCostIsComparedToTheBaseline: code in packages that only one of two variants has differs.
func TestStaticCostIsComparedToTheBaseline(t *testing.T) {
	point := at("p", lab.FactorRate, 10)
	in := underLoad(point)
	number := func(n int) *int { return &n }
	for i, cost := range []*lab.StaticCost{
		{Units: 9}, // an earlier trial
		{Units: 2, Tables: number(8), Code: map[string]int{"orders": 300, "local": 50}},
		{Units: 7, Queues: number(3), Code: map[string]int{"orders": 300, "saga": 70, "calls": 200},
			Images:  []lab.ProgramImage{{Program: "a", Bytes: 2e6}, {Program: "b", Bytes: 3e6}},
			Unknown: map[string]string{"tables": "a reason"}},
	} {
		variant, block := "one", i+1
		if i == 2 {
			variant, block = "two", 1
		}
		in.trial(variant, point, block, nil).Static = cost
	}
	in.Plan.Study.Baseline = "one"
	size := int64(5e6)
	want := []lab.VariantStatics{
		{Variant: "one", Point: point, Units: 2, Tables: number(8), CodeLines: number(350), CodeAdded: number(0),
			CodeSaved: number(0)},
		{Variant: "two", Point: point, Units: 7, Queues: number(3), Images: number(2), ImageBytes: &size,
			CodeLines: number(570), CodeAdded: number(270), CodeSaved: number(50),
			Unknown: map[string]string{"tables": "a reason"}},
	}
	if got := Analyse(in).Statics; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for i := range in.Trials {
		in.Trials[i].Static = nil
	}
	if got := Analyse(in).Statics; got != nil {
		t.Errorf("of trials that recorded none there is %+v", got)
	}
}
