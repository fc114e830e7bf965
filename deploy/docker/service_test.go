package docker

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/lab"
)

// services are units as a compose file has them: web looks db up by another name when it starts, which is
// healthy and filled by then.
func services(image string) lab.Layout {
	const test = "/program"
	data := []lab.ContainerMount{{Kind: lab.MountVolume, Source: "data", Target: "/data"}}
	unit := func(name string, c lab.ContainerSpec, after ...string) lab.UnitSpec {
		return lab.UnitSpec{Name: name, Role: name, Foreign: true, Image: image, Container: &c, After: after}
	}
	db := unit("db", lab.ContainerSpec{Names: []string{"data-base"}, Command: []string{"boxed", "/", ":80"},
		Mounts: data, Health: &lab.HealthCheck{Test: []string{"CMD", test, "move", "", "/data/healthy"},
			Interval: 0.2}})
	db.Listens, db.Port, db.Readiness.Healthy = true, 80, true
	fill := unit("fill", lab.ContainerSpec{Command: []string{"move", "/data/healthy", "/data/filled"},
		Mounts: data}, "db")
	fill.Finishes = true
	web := unit("web", lab.ContainerSpec{Entrypoint: []string{test, "proxy"}, Command: []string{"db"},
		Env: []string{"CLEAVE_ADDRESS_DB=data-base:80", "CLEAVE_ADDRESS=:81"}}, "fill")
	web.Listens, web.Port, web.Scalable = true, 81, true
	lead := lab.UnitSpec{Name: "lead", Role: "lead", Args: []string{"lead"}}
	return lab.Layout{Lead: "lead", Units: []lab.UnitSpec{lead, web, fill, db}}
}

// says returns what a unit tells who calls it.
func says(t *testing.T, d lab.Deployment, unit string) string {
	t.Helper()
	endpoint, err := d.Endpoint(unit)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.DialTimeout("tcp", endpoint.Dial, time.Second)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = connection.Close() }() // only read
	text, _ := io.ReadAll(connection)
	return string(text)
}

// TestServicesOfAComposeFile start in their order, find each other by names, and go on where they were.
func TestServicesOfAComposeFile(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-services-test:1"
	dockertest.Image(t, image, program)
	layout, err := lab.Variant{Replicas: map[string]int{"web": 2}}.Scale(services(image))
	if err != nil {
		t.Fatal(err)
	}
	d := newDeployer(t, Bridge, program)
	if err := d.Preflight(layout); err != nil {
		t.Fatal(err)
	}
	running, err := d.Deploy(t.Context(), layout, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range running.Units() {
		names = append(names, u.Name)
	}
	if got := strings.Join(names, " "); got != "lead web web-2 db" {
		t.Errorf("the units are %s, want all but what has finished", got)
	}
	harmer := running
	for _, f := range []lab.Fault{{Target: "db", Kind: lab.FaultKill}, {Target: "db", Kind: lab.FaultCut},
		{Target: "web-2", Kind: lab.FaultRestart}} {
		if _, err := harmer.Harm(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if err := harmer.Heal(t.Context(), f); err != nil {
			t.Fatalf("%v: %v", f, err)
		}
	}
	for deadline := time.Now().Add(time.Minute); says(t, running, "web-2") != "knows all"; {
		if time.Now().After(deadline) {
			t.Fatalf("web-2 says %q: %s", says(t, running, "web-2"), running.Logs()["web-2"])
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := says(t, running, "db"); got != "boxed:2" {
		t.Errorf("after it was killed, db says %q, want its second life", got)
	}
	if err := running.Failure(); err != nil {
		t.Error(err)
	}
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	if left := things(t, "container", "network", "volume"); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestServicesThatAreNotUsable fail the trial at its start, with what they say.
func TestServicesThatAreNotUsable(t *testing.T) {
	dockertest.Start(t)
	program := deploytest.Program(t)
	const image = "cleave-services-test:2"
	dockertest.Image(t, image, program)
	for name, c := range map[string]struct {
		change func(db, fill *lab.UnitSpec)
		says   string
	}{
		"unhealthy": {func(db, _ *lab.UnitSpec) {
			db.Container.Health = &lab.HealthCheck{Test: []string{"CMD", "/program", "die"}, Interval: 0.1, Retries: 1}
		}, "unit db (" + image + ") is unhealthy: out of luck"},
		"no check": {func(db, _ *lab.UnitSpec) { db.Container.Health = nil }, "has no health check"},
		"fails": {func(_, fill *lab.UnitSpec) { fill.Container.Command = []string{"die"} },
			"ended: exit status 1; its last words"},
	} {
		t.Run(name, func(t *testing.T) {
			layout := services(image)
			c.change(&layout.Units[3], &layout.Units[2])
			_, err := newDeployer(t, Bridge, program).Deploy(t.Context(), layout, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Deploy: %v, want it to say %q", err, c.says)
			}
			if left := things(t, "container", "network", "volume"); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}
