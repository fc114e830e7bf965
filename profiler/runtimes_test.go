package profiler

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestARoleOfTwoRuntimesIsNotDivided: their samples have different weights. A program that ended before the
// load does not count.
func TestARoleOfTwoRuntimesIsNotDivided(t *testing.T) {
	function := &profile.Function{ID: 1, Name: "main.work"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function}}}
	gopher := profile.Profile{Function: []*profile.Function{function}, Location: []*profile.Location{location},
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{4, 4e6}}}}
	var inGo bytes.Buffer
	testset.Must(t, gopher.Write(&inGo))
	began := time.UnixMilli(1_800_000_000_000)
	layout := lab.Layout{Units: []lab.UnitSpec{
		{Name: "shop", Role: "shop", Runnable: lab.Runnable{Foreign: true}},
		{Name: "shop-2", Role: "shop", Runnable: lab.Runnable{Own: "shop"}},
	}}
	for _, c := range []struct {
		name, runtime, unsampled string
		inNode                   []byte
	}{
		{"both during the load", "", "two runtimes, go and node", v8(t, began, 2, 2, 3, 3)},
		{"Node.js before the load", runtimeGo, "", v8(t, began.Add(-time.Minute), 2, 2, 3, 3)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			testset.Must(t, os.WriteFile(filepath.Join(dir, "shop-2.profile.pprof"), inGo.Bytes(), 0o600))
			testset.Must(t, os.WriteFile(filepath.Join(dir, "shop.7.cpuprofile"), c.inNode, 0o600))
			all, err := Profiler{}.Layers(layout, lab.Profiling{}, lab.ProfiledWindow{Dir: dir, Began: began,
				Ended:   began.Add(time.Second),
				Metered: lab.Metered{Roles: map[string]lab.Usage{"shop": {CPUSeconds: 2}}},
				Threads: []lab.ThreadUse{{Role: "shop", First: true, UserSeconds: 2}}})
			testset.Must(t, err)
			shop := all[0]
			if shop.Runtime != c.runtime || (shop.Unsampled == "") != (c.unsampled == "") ||
				!strings.Contains(shop.Unsampled, c.unsampled) || shop.Samples > 0 != (c.runtime != "") {
				t.Errorf("the shop is divided as %+v", shop)
			}
		})
	}
}
