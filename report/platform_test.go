package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/lab"
)

// TestThePlatformsFiguresAreShown beside those of the control group, if the platform reports any.
func TestThePlatformsFiguresAreShown(t *testing.T) {
	a := fixture(t, "shop-under-load.json")
	v := newView(a)
	at := v.reference()
	if rows := v.platformCPUTable(at).Rows; len(rows) > 0 {
		t.Errorf("without reports of the platform there are rows: %v", rows)
	}
	for i, u := range a.Usages {
		if u.Point.Name == at && u.Role != lab.RoleGenerator {
			a.Usages[i].Platform = &lab.PlatformUsage{Role: u.Role, Source: "metrics-server", Samples: 2,
				WindowSeconds: 10.2,
				Millicores:    270, MostMillicores: 301, GroupMillicores: 300, LagSeconds: 12.4}
			break
		}
	}
	rows := newView(a).platformCPUTable(at).Rows
	if len(rows) != 1 {
		t.Fatalf("the table has %d rows, want one", len(rows))
	}
	shown := fmt.Sprint(rows[0])
	for _, want := range []string{"270m", "301m", "300m", "-10.0 %", "12 s"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the row %s has no %s", shown, want)
		}
	}
}
