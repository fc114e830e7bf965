package kubernetes

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/kubernetes/api"
	"github.com/cleave-lab/cleave/deploy/kubernetes/userstest"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// meteredByKubelets checks that the usage of services lies between the counts of their control groups over
// the load alone, and over the load with the waits for kubelets around it.
func meteredByKubelets(t *testing.T, f *userstest.Cluster, d *deployment) {
	counted := func() map[string]time.Duration {
		all := map[string]time.Duration{}
		for _, unit := range []string{"db", "web", "web-2"} {
			p := d.Named(unit)
			var err error
			if all[unit], err = f.Named(p.nodeName).CPU(p.container); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	watched, err := d.Meter().Watch(t.Context(), d.Units())
	testset.Must(t, err)
	metering := watched.(*kubeletMetering)
	mark := func() (before, after map[string]time.Duration) {
		before = counted()
		// The next sample may have been taken before the count above. The one after that was not.
		testset.Must(t, errors.Join(metering.awaitSamples(), metering.Mark()))
		return before, counted()
	}
	ready, begun := mark()
	useServices(t, d)
	over, end := mark()
	used, err := metering.Stop()
	testset.Must(t, err)
	for _, u := range used.Units {
		name := u.Unit.Name
		least := time.Duration(0)
		most := time.Hour
		if name != "lead" { // which reports its usage itself
			least, most = over[name]-begun[name], end[name]-ready[name]
		}
		// A lower bound of 0 is right: one of the two pods of web may have served both callers.
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
	refusedByKubelets(t, f, d)
}

// useServices calls the services and runs the load of the lead.
func useServices(t *testing.T, d *deployment) {
	at, err := d.Endpoint("web")
	testset.Must(t, err)
	for range 2 {
		caller, err := net.Dial("tcp", at.Dial)
		testset.Must(t, err)
		if text, err := io.ReadAll(caller); !strings.HasPrefix(string(text), "asks ") {
			t.Fatalf("web says %q (%v)", text, err)
		}
		_ = caller.Close() // only read
	}
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStart}))
	if _, err := d.Await(t.Context(), lab.EventFinished); err != nil {
		t.Fatal(err)
	}
}

// refusedByKubelets checks that a user who may not ask kubelets learns which right is missing.
func refusedByKubelets(t *testing.T, f *userstest.Cluster, d *deployment) {
	guest, _, err := api.Open([]string{f.Guest(t)}, "")
	testset.Must(t, err)
	refused, err := kubeletMeter{Meter: d.SelfMeter(), api: guest, deployment: d}.Watch(t.Context(), d.Units())
	if err == nil {
		err = errors.Join(refused.Mark(), refused.Mark())
	}
	testset.Must(t, err)
	none, err := refused.Stop()
	if why := none.Roles["web"].Unavailable["cpu_seconds"]; err != nil ||
		!strings.Contains(why, "resources: [nodes/proxy], verbs: [get]") || len(none.Notes) != 3 {
		t.Errorf("without the right to ask kubelets: %q, with the notes %q (%v)", why, none.Notes, err)
	}
}

// TestARoleHasTheSourceOfItsMeteredUnits checks that the source of a role says "nothing" only if none of its
// units has figures, in whatever order they are.
func TestARoleHasTheSourceOfItsMeteredUnits(t *testing.T) {
	names := []string{"web", "web-2", "web-3", "db"}
	var units []lab.Unit
	m := &kubeletMetering{stop: func() {}, byPod: map[string]*kubeletCount{}}
	for _, name := range names {
		role, _, _ := strings.Cut(name, "-")
		units = append(units, lab.Unit{Name: name, Role: role})
		m.byPod[name] = &kubeletCount{unit: name, why: "it is silent", memory: []int64{1}}
	}
	m.byPod["web-2"].why = ""
	said, err := fleet.NewSupervisor(lab.Layout{}, "").SelfMeter().Watch(t.Context(), units)
	testset.Must(t, errors.Join(err, said.Mark(), said.Mark()))
	m.Metering = said
	used, err := m.Stop()
	testset.Must(t, err)
	if web, db := used.Sources["web"], used.Sources["db"]; !strings.Contains(web, "kubelet") ||
		db != "nothing: it is silent" {
		t.Errorf("the source of web is %q and that of db %q", web, db)
	}
	if metered := used.Units[1]; metered.Unavailable["idle_cores"] == "" ||
		metered.Unavailable["cpu_seconds"] != "" || metered.Unavailable["peak_memory_bytes"] != "" {
		t.Errorf("of a unit that kubelets meter there is missing %v", metered.Unavailable)
	}
	if used.Units[0].Unavailable["threads"] != "it is silent" || len(used.Notes) != 3 {
		t.Errorf("the first has used %+v, and the notes are %q", used.Units[0], used.Notes)
	}
}

// TestAKubeletIsAskedAgain checks that requests to a kubelet are repeated after failures, that a sample
// counts as new only if it is later than the first answer, and that there are no figures of a unit without a
// sample before the load.
func TestAKubeletIsAskedAgain(t *testing.T) {
	const looked = `{"pods":[{"podRef":{"name":"pod-db","namespace":"cleave"},"containers":[{"name":"unit",` +
		`"cpu":{"time":"2026-01-01T00:00:%dZ","usageCoreNanoSeconds":7},"memory":{"workingSetBytes":9}}]}]}`
	status, answer := 0, ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	said, err := fleet.NewSupervisor(lab.Layout{}, "").SelfMeter().Watch(t.Context(),
		[]lab.Unit{{Name: "db", Role: "db"}, {Name: "web", Role: "web"}})
	testset.Must(t, err)
	db := &kubeletCount{unit: "db", node: "one"}
	web := &kubeletCount{unit: "web", node: "one"}
	m := &kubeletMetering{Metering: said, ctx: t.Context(), stop: func() {},
		api:     api.New(server.URL, &tls.Config{InsecureSkipVerify: true}),
		cluster: &cluster{name: "theirs", namespace: "cleave"}, byPod: map[string]*kubeletCount{"pod-db": db}}
	known := map[*kubeletCount]time.Time{}
	for _, c := range []struct {
		status int
		answer string
		late   bool   // the wait for samples is over
		lacks  bool   // lacksSamples reports that a sample is missing
		why    string // why web has no figures afterwards
	}{
		{http.StatusServiceUnavailable, "", false, true, ""},
		{http.StatusOK, fmt.Sprintf(looked, 10), false, true, ""},
		{http.StatusOK, fmt.Sprintf(looked, 10), false, true, ""},
		{http.StatusOK, fmt.Sprintf(looked, 20), false, false, ""},
		{http.StatusServiceUnavailable, "", true, false, "the kubelet of node one says nothing of its containers"},
		{http.StatusOK, fmt.Sprintf(looked, 30), true, false, "has not looked at it for 45s"},
		{http.StatusForbidden, "", false, false, "rule {apiGroups"},
	} {
		status, answer = c.status, c.answer
		if c.why != "" { // db has its sample now; web has none, and gets the reason
			web.why, m.byPod["pod-web"] = "", web
		}
		if lacks := m.lacksSamples(known, m.read(t.Context()), c.late); lacks != c.lacks || db.why != "" &&
			c.status != http.StatusForbidden || !strings.Contains(web.why, c.why) {
			t.Errorf("%+v: a sample is missing: %t; why db has no figures: %q, and web: %q", c, lacks, db.why, web.why)
		}
	}
	db.why = ""
	db.opening = kubeletSample{at: db.last.at.Add(-20 * time.Second)}
	web.last = db.last // after the load
	testset.Must(t, errors.Join(said.Mark(), said.Mark()))
	used, err := m.Stop()
	notes := strings.Join(used.Notes, "\n")
	if err != nil || !strings.Contains(notes, "unit web is not metered") ||
		!strings.Contains(notes, "up to 20 s further apart") {
		t.Errorf("the notes are %q (%v)", notes, err)
	}
}
