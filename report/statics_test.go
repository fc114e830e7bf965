package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestStaticCostIsShown looks for cells as package fmt prints them: {text tone}.
func TestStaticCostIsShown(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	if s := newView(a).staticsSection(); len(filled(s.Shown...)) > 0 {
		t.Errorf("where nobody has counted there is %v", s.Shown)
	}
	var at lab.Point
	for _, p := range a.Points {
		if p.Name == newView(a).reference() {
			at = p
		}
	}
	number := func(n int) *int { return &n }
	size := int64(25e6)
	a.Statics = []lab.VariantStatics{
		{Variant: "sync", Point: at, Units: 11, Processes: number(14), Tables: number(0),
			ImageBytes: &size, CodeLines: number(4321),
			Unknown: map[string]string{"configuration_lines": "a reason"}},
	}
	v := newView(a)
	shown := fmt.Sprint(v.staticsTable().Rows)
	for _, want := range []string{"sync", "{11 ", "{14 ", "{0 ", "{4321 ", "23.8 MiB",
		"{" + absent + " muted}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("there is no %q: %s", want, shown)
		}
	}
	if why := fmt.Sprint(v.staticsSection().Folded); !strings.Contains(why, "configuration lines") ||
		!strings.Contains(why, "a reason") {
		t.Errorf("folded is %s", why)
	}
	for _, full := range []bool{false, true} {
		var printed bytes.Buffer
		err := Terminal(&printed, a, Options{Full: full})
		if has := strings.Contains(printed.String(), "beside run time"); err != nil || has != full {
			t.Errorf("full %t: printed is %t (%v)", full, has, err)
		}
	}
}
