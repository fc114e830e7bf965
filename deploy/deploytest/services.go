package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// Services returns a layout of units as a user's compose file describes them, of an image with the suite's
// program: web calls db by another of db's names, and starts once db is healthy and fill has finished. fill
// fails until db is healthy, because it moves a file that db's health check makes. db counts its lives in the
// folder keeps.
func Services(image, keeps string) lab.Layout {
	const program = "/program" // of the suite, in the image
	data := []lab.ContainerMount{{Kind: lab.MountVolume, Source: "data", Target: "/data"}}
	unit := func(name string, c lab.ContainerSpec, after ...string) lab.UnitSpec {
		return lab.UnitSpec{
			Name: name, Role: name,
			Runnable:  lab.Runnable{Foreign: true, Image: image, Container: &c},
			Lifecycle: lab.Lifecycle{After: after},
		}
	}
	db := unit("db", lab.ContainerSpec{Names: []string{"data-base"}, Command: []string{"boxed", keeps, ":80"},
		Mounts: data, Health: &lab.HealthCheck{Test: []string{"CMD", program, "move", "", "/data/healthy"},
			Interval: 1}})
	db.Role = "server"
	db.Listens = true
	db.Port = 80
	db.Readiness.Healthy = true
	fill := unit("fill", lab.ContainerSpec{Command: []string{"move", "/data/healthy", "/data/filled"},
		Mounts: data})
	fill.Finishes = true
	fill.Restarts = true
	given := lab.ContainerMount{Kind: lab.MountFiles, Target: "/given", Files: map[string]string{"word": "asks"}}
	web := unit("web", lab.ContainerSpec{Entrypoint: []string{program, "asks"},
		Command: []string{":81", "/given/word", "data-base:80"}, Env: []string{"WORD=$(A){{b}}"},
		Mounts: []lab.ContainerMount{given, {Kind: lab.MountMemory, Target: "/memory", Options: "size=1m"}},
		Health: &lab.HealthCheck{Port: 81}}, "fill", "db")
	web.Listens = true
	web.Port = 81
	web.Scalable = true
	web.Readiness.Healthy = true
	return burner(web, fill, db)
}

// ServicesSuite checks that services start in their order, find each other by name, become healthy, are
// metered, and keep their data after faults.
func ServicesSuite(t *testing.T, deployer lab.Deployer, image, keeps string, left func() []string) {
	l := Services(image, keeps)
	web, db := l.Units[1].Container, l.Units[3].Container
	web.Command[2] = "data-base:90" // db is called there, and listens on 80
	db.Ports = []lab.ContainerPort{{Port: 90, Target: 80}}
	layout, err := lab.Variant{Replicas: map[string]int{"web": 2}}.Scale(l)
	testset.Must(t, err)
	s := &suite{Deployer: deployer, dir: Folder(t)}
	defer s.leavesNothing(t, left)
	d := s.deploy(t, layout)
	Await(t, d, lab.EventReady)
	var names []string
	for _, u := range d.Units() {
		names = append(names, u.Name)
		if u.PID == 0 {
			t.Errorf("unit %s has no process", u.Name)
		}
	}
	if got := strings.Join(names, " "); got != "lead web web-2 db" && got != "lead db web web-2" {
		t.Errorf("the units are %s, want all but what has finished", got)
	}
	if !slices.ContainsFunc(d.PlatformCost().Images, func(one lab.ProgramImage) bool {
		return one.Program == image && one.Bytes > 1<<20
	}) {
		t.Errorf("the images are %+v, want %s with its size", d.PlatformCost().Images, image)
	}
	awaitAnswer(t, d, "web", endpointOf(t, d, "web"), "asks $(A){{b}} boxed:1")
	for _, f := range []lab.Fault{{Target: "db", Kind: lab.FaultKill}, {Target: "db", Kind: lab.FaultCut},
		{Target: "web-2", Kind: lab.FaultRestart}} {
		harm(t, d, f.Target, f.Kind)
		heal(t, d, f.Target, f.Kind)
	}
	awaitAnswer(t, d, "web-2", endpointOf(t, d, "web-2"), "asks $(A){{b}} boxed:2")
	goesOn(t, d)
	checkUsage(t, meteredJob(t, d))
}

// awaitAnswer waits until a unit gives the wanted answer at an address.
func awaitAnswer(t *testing.T, d lab.Deployment, unit string, at lab.Endpoint, want string) {
	t.Helper()
	for deadline := time.Now().Add(patience); answerAt(at, silence) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s says %q, want %q: %s", unit, answerAt(at, silence), want, d.Logs()[unit])
		}
	}
}

// Demanding returns a layout of a service that asks for what only containers of this host's Docker can have.
func Demanding(image string) lab.Layout {
	return lab.Layout{Lead: "web", Units: []lab.UnitSpec{{
		Name: "web", Role: "web",
		Runnable: lab.Runnable{
			Foreign: true, Image: image,
			Container: &lab.ContainerSpec{Privileged: true, HostPID: true, SecurityOpt: []string{"apparmor=x"},
				Ports:  []lab.ContainerPort{{Port: 80, Target: 8080}},
				Mounts: []lab.ContainerMount{{Kind: lab.MountBind, Source: "/var/run/docker.sock", Target: "/s"}}},
		},
	}}}
}

// ServicesOnUserNodes starts services on a user's nodes, which have nothing of this host and pull the image.
// It checks that they start in their order, with copies of this host's files and with volumes of their own,
// and that Preflight refuses what such nodes cannot give. metered then checks their usage.
func ServicesOnUserNodes(t *testing.T, deployer lab.Deployer, image string, left func() []string,
	metered func(lab.Deployment)) {
	layout := Services(image, "/data")
	folder := t.TempDir()
	Says(t, deployer.Preflight(t.Context(), layout), "shares the volume data with")
	for i := range layout.Units {
		switch u := &layout.Units[i]; u.Name {
		case "fill":
			u.Container.Command = []string{"move", "", "/memory/done"}
			u.Container.Mounts = []lab.ContainerMount{{Kind: lab.MountMemory, Target: "/memory"}}
		case "web":
			u.Container.Mounts[0] = lab.ContainerMount{Kind: lab.MountBind, Source: folder, Target: "/given"}
		}
	}
	testset.Must(t, os.WriteFile(filepath.Join(folder, "word"), []byte("asks"), 0o600))
	layout, err := lab.Variant{Replicas: map[string]int{"web": 2}}.Scale(layout)
	testset.Must(t, err)
	mustRefuse := func(change func(*lab.UnitSpec), says string) {
		other := layout
		other.Units = slices.Clone(layout.Units)
		web := slices.IndexFunc(other.Units, func(u lab.UnitSpec) bool { return u.Name == "web" })
		change(&other.Units[web])
		Says(t, deployer.Preflight(t.Context(), other), says)
	}
	mustRefuse(func(u *lab.UnitSpec) { u.Faults = []lab.FaultKind{lab.FaultKill} },
		"shall have the faults [kill]")
	mustRefuse(func(u *lab.UnitSpec) { u.Leaves = "profile" }, "shall be profiled")
	mustRefuse(func(u *lab.UnitSpec) {
		c := *u.Container
		c.Mounts = []lab.ContainerMount{{Kind: lab.MountBind, Source: os.DevNull, Target: "/null"}}
		u.Container = &c
	}, os.DevNull+" is neither a file nor a folder")
	s := &suite{Deployer: deployer, dir: Folder(t)}
	defer s.leavesNothing(t, left)
	d := s.deploy(t, layout)
	Await(t, d, lab.EventReady)
	for _, name := range []string{"web", "web-2"} {
		awaitAnswer(t, d, name, endpointOf(t, d, name), "asks $(A){{b}} boxed:1")
	}
	metered(d)
}

// Unmetered has the lead do its job and checks that the usage of unit web is reported as not available.
func Unmetered(t *testing.T, d lab.Deployment) {
	if used := meteredJob(t, d).Roles["web"]; used.Unavailable["cpu_seconds"] == "" {
		t.Errorf("web is said to have used %+v", used)
	}
}
