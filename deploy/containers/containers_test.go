package containers

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestAnImageIsTheSameOnAllNodes checks that the id of an image does not depend on its name.
func TestAnImageIsTheSameOnAllNodes(t *testing.T) {
	program := filepath.Join(t.TempDir(), "unit")
	testset.Must(t, os.WriteFile(program, []byte("program"), 0o755))
	ids := map[string]bool{}
	for _, name := range []string{"cleave-unit-a:1", "cleave-unit-b:2"} {
		archive, id, err := Archive(name, program, map[string]string{"cleave.run": "1"})
		if err != nil || !strings.Contains(string(archive), name) {
			t.Errorf("the archive of %s lacks its name (%v)", name, err)
		}
		ids[id] = true
	}
	_, other, err := Archive("cleave-unit-c:1", "", nil)
	if len(ids) != 1 || ids[other] || err != nil {
		t.Errorf("images of one program are %v, that of none is %s (%v)", ids, other, err)
	}
	if _, _, err := Archive("cleave-unit-d:1", program+"-none", nil); err == nil ||
		!strings.Contains(err.Error(), "make an image") {
		t.Errorf("an image of a program that is not there: %v", err)
	}
}

func TestSplitSeparatesContainersFromTheRest(t *testing.T) {
	servers, contained, rest := Split(lab.Layout{Lead: "load", Units: []lab.UnitSpec{
		{Name: "front"},
		{Name: "store", Runnable: lab.Runnable{Foreign: true, Server: &lab.Server{}}},
		{Name: "load", Runnable: lab.Runnable{Program: "cleave"}},
		{Name: "proxy", Runnable: lab.Runnable{Foreign: true, Program: "proxy"}},
	}, Prepare: []lab.UnitSpec{{Name: "reset"}}})
	if len(servers) != 1 || servers[0].Name != "store" || len(contained) != 2 || len(rest.Units) != 1 ||
		rest.Units[0].Name != "load" || rest.Prepare != nil {
		t.Errorf("servers %v, containers %v, rest %v", servers, contained, rest)
	}
}

// TestProcessesBesideContainersAreOnNoNode checks that CheckBeside refuses a node for them.
func TestProcessesBesideContainersAreOnNoNode(t *testing.T) {
	rest := lab.Layout{Units: []lab.UnitSpec{{Name: "generator"}}}
	deploytest.NoError(t, CheckBeside(rest))
	rest.Units[0].Node = "load"
	deploytest.Says(t, CheckBeside(rest), "unit generator is placed on load")
}

// TestForwardedPorts checks that CheckPorts refuses a port that would be forwarded to another, and says
// what to do.
func TestForwardedPorts(t *testing.T) {
	ports := []lab.ContainerPort{{Port: 81, Target: 81}}
	units := []lab.UnitSpec{{Name: "web", Runnable: lab.Runnable{Container: &lab.ContainerSpec{Ports: ports}}}}
	deploytest.NoError(t, CheckPorts(units))
	ports[0].Port = 80
	deploytest.Says(t, CheckPorts(units), "web is called at port 80, and listens on 81",
		"deploy with docker-bridge")
}

// TestVisibleEnvironment checks that the description of a container shows nothing of the environment of a
// unit of ours except the path of its file and what Go's runtime reads before the unit can.
func TestVisibleEnvironment(t *testing.T) {
	trial := Trial{Label: "label", Dir: t.TempDir(), Endpoints: map[string]lab.Endpoint{}}
	spec := lab.UnitSpec{
		Name:     "worker",
		Runnable: lab.Runnable{Env: []string{"GOGC=off", "GOMAXPROCS=1", "PASSWORD=secret"}},
	}
	testset.Must(t, MakeVolume(trial.Dir, spec, trial.Endpoints))
	visible, token, err := trial.visibleEnvironment(spec, "198.18.0.9:8080")
	testset.Must(t, err)
	path := visible[lab.EnvironmentVariable]
	if want := map[string]string{lab.EnvironmentVariable: path, "GOGC": "off",
		"GOMAXPROCS": "1"}; !maps.Equal(visible, want) {
		t.Errorf("the container has %v, want %v", visible, want)
	}
	text, err := os.ReadFile(path)
	var all map[string]string
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil || token == "" ||
		all[lab.TokenVariable] != token || all["PASSWORD"] != "secret" || all["GOGC"] != "off" {
		t.Errorf("the file has %s (%v), want the whole environment, and the token %q", text, err, token)
	}
	spec.Foreign = true
	visible, token, err = trial.visibleEnvironment(spec, "")
	if err != nil || token != "" || visible["PASSWORD"] != "secret" {
		t.Errorf("a foreign unit has %v and the token %q (%v)", visible, token, err)
	}
}

// TestFoldersThatDifferOnNodes checks that CheckDescribed refuses mounts of folders of this host in whose
// place nodes can have their own, of what is below these, and of folders that hold them.
func TestFoldersThatDifferOnNodes(t *testing.T) {
	for source, refused := range map[string]bool{
		"/run": true, "/var/run/docker.sock": true, "/proc/": true, "/": true, "/var": true, "/srv/../var": true,
		"/var/lib": true, "/runner": false, "/var/spool": false, "/etc": false, "/va": false,
	} {
		err := CheckDescribed("Swarm", []lab.UnitSpec{{Name: "web", Runnable: lab.Runnable{
			Container: &lab.ContainerSpec{Mounts: []lab.ContainerMount{{Kind: lab.MountBind, Source: source}}}}}},
			func(lab.UnitSpec) []Lack { return nil })
		if !refused {
			deploytest.NoError(t, err)
			continue
		}
		deploytest.Says(t, err, "unit web has "+source+" of this host, which Swarm cannot give it")
	}
}

// TestAMountWithoutFilesIsAFolder checks that a mount of files that has none, such as an empty ConfigMap, is
// an empty folder: Swarm mounts nothing that does not exist.
func TestAMountWithoutFilesIsAFolder(t *testing.T) {
	trial := Trial{Dir: t.TempDir()}
	spec := lab.UnitSpec{Name: "web", Runnable: lab.Runnable{Container: &lab.ContainerSpec{
		Mounts: []lab.ContainerMount{{Kind: lab.MountFiles, Target: "/etc/web"}}}}}
	testset.Must(t, MakeVolume(trial.Dir, spec, nil))
	c, err := trial.Describe(spec, "")
	testset.Must(t, err)
	if about, err := os.Stat(c.Mounts[0].Source); err != nil || !about.IsDir() || about.Mode()&0o005 != 0o005 {
		t.Errorf("%s is no folder that everybody may read: %v", c.Mounts[0].Source, err)
	}
}

// TestAnImageHasTheNameOfItsServer checks that the image of a server whose setup runs further programs is
// listed by the name of the server.
func TestAnImageHasTheNameOfItsServer(t *testing.T) {
	made := &fleet.Made{}
	load := func(context.Context, string, bool) (string, int, error) { return "db:1", 1, nil }
	i := &Images{IsRemote: true, Made: made, Load: load}
	db := lab.Runnable{Program: "/none/db", Foreign: true,
		Server: &lab.Server{Setup: []lab.ServerSetup{{Program: "/none/initdb"}}}}
	testset.Must(t, i.Bring(t.Context(), []lab.UnitSpec{{Runnable: db}}))
	if all := made.Cost(lab.PlatformCost{}).Images; len(all) != 1 || all[0].Program != "db" {
		t.Errorf("the images are %+v", all)
	}
}
