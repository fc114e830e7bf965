package kubernetes

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/lab"
)

// meteredByKubelets: what is told of services lies between what their control groups counted over the load
// alone, and over the load with the waits for kubelets around it. Who may not ask these is told so.
// Long because the waits of one load are enough for both.
func meteredByKubelets(t *testing.T, f *userstest.Cluster, d *deployment) {
	counted := func() map[string]time.Duration {
		all := map[string]time.Duration{}
		for _, unit := range []string{"db", "web", "web-2"} {
			p, err := d.Named(unit), error(nil)
			if all[unit], err = f.Named(p.nodeName).CPU(p.container); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	guest, _, err := api.Open([]string{f.Guest(t)}, "")
	if err != nil {
		t.Fatal(err)
	}
	watch := func(meter lab.Meter) lab.Metering {
		metering, err := meter.Watch(t.Context(), d.Units())
		if err != nil {
			t.Fatal(err)
		}
		return metering
	}
	metering := watch(d.Meter())
	refused := watch(kubeletMeter{Meter: d.SelfMeter(), api: guest, deployment: d})
	mark := func() (before, after map[string]time.Duration) {
		before = counted()
		if err := errors.Join(metering.Mark(), refused.Mark()); err != nil {
			t.Fatal(err)
		}
		return before, counted()
	}
	ready, begun := mark()
	at, err := d.Endpoint("web")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		caller, err := net.Dial("tcp", at.Dial)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(caller); !strings.HasPrefix(string(text), "asks ") {
			t.Fatalf("web says %q (%v)", text, err)
		}
		_ = caller.Close() // all has been said
	}
	if err := d.Command(lab.Command{Command: lab.CommandStart}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Await(t.Context(), lab.EventFinished); err != nil {
		t.Fatal(err)
	}
	over, end := mark()
	used, err := metering.Stop()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range used.Units {
		name, least, most := u.Unit.Name, time.Duration(0), time.Hour
		if name != "lead" { // which says itself what it uses
			least, most = over[name]-begun[name], end[name]-ready[name]
		}
		// The two callers may both have come to one of the two pods.
		if got := u.CPUSeconds; got < least.Seconds() || got > most.Seconds() {
			t.Errorf("%s has used %g s, want from %v to %v", name, got, least, most)
		}
		if u.PeakMemoryBytes < 100<<10 || u.MeanMemoryBytes > u.PeakMemoryBytes {
			t.Errorf("%s takes %d bytes at most and %d on average", name, u.PeakMemoryBytes, u.MeanMemoryBytes)
		}
	}
	if role := used.Roles["web"]; role.Units != 2 || role.CPUSeconds == 0 ||
		role.Unavailable["read_bytes"] == "" || !strings.Contains(used.Sources["web"], "kubelet") {
		t.Errorf("the services web have used %+v, as %q says", role, used.Sources["web"])
	}
	none, err := refused.Stop()
	if why := none.Roles["web"].Unavailable["cpu_seconds"]; err != nil ||
		!strings.Contains(why, "resources: [nodes/proxy], verbs: [get]") || len(none.Notes) != 3 {
		t.Errorf("who may not ask the kubelets is told %q and %q (%v)", why, none.Notes, err)
	}
}
