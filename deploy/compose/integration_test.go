package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test program be the janitor of units that are processes, and a keeper.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != "keeper" {
		deploytest.Main(m, process.Janitor, nil)
	}
	if err := process.Keep(os.Stdin, os.Stdout, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fixture is a deployer with Docker behind it, and an image that has the suite's program.
type fixture struct {
	*Deployer
	label string
	image string
}

// newFixture returns a fixture. It skips the test if there is no Docker.
func newFixture(t *testing.T) fixture {
	t.Helper()
	dockertest.Start(t)
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	program := deploytest.Program(t)
	label := deploytest.Label(t)
	f := fixture{New(process.New(program, deploytest.Part("janitor"), deploytest.Part("keeper"), label), label),
		label, "cleave-compose-test:1"}
	dockertest.Image(t, f.image, program)
	return f
}

// layout returns a lead and the named services of a compose file. IMAGE in its text is replaced by the image.
func (f fixture) layout(t *testing.T, text string, services ...string) lab.Layout {
	t.Helper()
	file := &lab.Compose{Text: strings.ReplaceAll(text, "IMAGE", f.image), Dir: t.TempDir()}
	layout := deploytest.Layout()
	for _, name := range services {
		layout.Units = append(layout.Units, lab.UnitSpec{
			Name: name, Role: "system",
			Runnable: lab.Runnable{Foreign: true, Compose: file},
		})
	}
	return layout
}

// deploy deploys a layout until the end of the test.
func (f fixture) deploy(t *testing.T, layout lab.Layout) lab.Deployment {
	t.Helper()
	d := deploytest.Deploy(t, f, layout)
	t.Cleanup(func() { deploytest.NoError(t, d.Stop()) })
	return d
}

// left returns the deployer's objects in Docker.
func (f fixture) left(t *testing.T) []leftovers.Leftover {
	t.Helper()
	found, err := leftovers.Docker(func(l string) bool { return l == f.label })
	testset.Must(t, err)
	return found
}

// TestIntegrationSuite runs the suite with a service that Docker restarts whenever it ends
// (restart: always): a kill must last, and an unexpected end must fail the trial nevertheless. The file is of
// version 3, and the service is bound to a processor.
func TestIntegrationSuite(t *testing.T) {
	f := newFixture(t)
	ports, err := launch.ReservePorts(1)
	testset.Must(t, err)
	t.Cleanup(ports.Close)
	boxed := deploytest.Foreign{Address: launch.Loopback(ports.Numbers[0]),
		Unit: func(part string) lab.UnitSpec {
			text := fmt.Sprintf("version: '3.8'\nservices: {boxed: {image: %q, restart: always, command: [%s, /data, "+
				"':80'], ports: ['%s:80'], volumes: ['data:/data']}}\nvolumes: {data: }",
				f.image, part, launch.Loopback(ports.Numbers[0]))
			return lab.UnitSpec{
				Runnable:  lab.Runnable{Compose: &lab.Compose{Text: text, Dir: t.TempDir()}},
				Placement: lab.Placement{Cores: []int{0}},
			}
		}}
	deploytest.ForeignSuite(t, f, boxed, func() (left []string) {
		for _, leftover := range f.left(t) {
			left = append(left, leftover.String())
		}
		return left
	})
}

// TestIntegrationEveryContainerIsAUnit checks that the second container of a service is a unit, too, and
// that one that has finished is not. Output to a terminal is in the log like any other.
func TestIntegrationEveryContainerIsAUnit(t *testing.T) {
	f := newFixture(t)
	d := f.deploy(t, f.layout(t, `
services:
  init: {image: IMAGE, command: [move, "", /data/lives], volumes: ["data:/data"]}
  web: {image: IMAGE, command: [boxed, /data, ":80"], volumes: ["data:/data"], scale: 2, tty: true,
    depends_on: {init: {condition: service_completed_successfully}}}
volumes: {data: {}}
`, "init", "web"))
	var names []string
	for _, u := range d.Units() {
		names = append(names, u.Name)
	}
	if fmt.Sprint(names) != "[web web-2 lead]" {
		t.Errorf("units %q, want two of web and the lead", names)
	}
	if all := d.PlatformCost().Images; len(all) != 1 || all[0].Program != f.image || all[0].Bytes < 1<<20 {
		t.Errorf("the images are %+v, want the one of both with its size", all)
	}
	awaitLog(t, d, "web-2")
	restart := lab.Fault{Target: "web-2", Kind: lab.FaultRestart}
	_, err := d.Harm(t.Context(), restart)
	testset.Must(t, err)
	testset.Must(t, d.Heal(t.Context(), restart))
	deploytest.NoError(t, d.Stop())
	logs := d.Logs()
	if logs["init"] != "moves to /data/lives\n" || strings.Count(logs["web-2"], "boxed listens") != 2 ||
		!strings.HasPrefix(logs["web"], "boxed listens") {
		t.Errorf("logs %q, want what init did and two lives of web-2", logs)
	}
}

// awaitLog waits until a unit has written something: it listens.
func awaitLog(t *testing.T, d lab.Deployment, unit string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); d.Logs()[unit] == ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen", unit)
		}
	}
}

// TestIntegrationServicesMayShareANetwork checks that a service that is started again is not expected to
// listen at the ports of another one that was in its network: that one keeps the former network.
func TestIntegrationServicesMayShareANetwork(t *testing.T) {
	f := newFixture(t)
	d := f.deploy(t, f.layout(t, `
services:
  owner: {image: IMAGE, command: [boxed, /data, ":80"], volumes: ["owner:/data"]}
  guest: {image: IMAGE, command: [boxed, /data, ":81"], volumes: ["guest:/data"], network_mode: "service:owner"}
volumes: {owner: {}, guest: {}}
`, "owner", "guest"))
	awaitLog(t, d, "owner")
	awaitLog(t, d, "guest")
	for _, name := range []string{"guest", "owner"} {
		restart := lab.Fault{Target: name, Kind: lab.FaultRestart}
		_, err := d.Harm(t.Context(), restart)
		testset.Must(t, err)
		testset.Must(t, d.Heal(t.Context(), restart))
	}
}

// TestIntegrationAServiceMayHaveAnAddress checks that a service gets its address in a network whose range
// the file gives.
func TestIntegrationAServiceMayHaveAnAddress(t *testing.T) {
	f := newFixture(t)
	d := f.deploy(t, f.layout(t, `
services:
  web:
    {image: IMAGE, command: [boxed, /data, ":80"], volumes: ["data:/data"],
      networks: {app: {ipv4_address: 198.18.77.10}}}
volumes: {data: {}}
networks: {app: {ipam: {config: [{subnet: 198.18.77.0/24}]}}}
`, "web"))
	units := d.Units()
	if len(units) != 2 {
		t.Fatalf("units %v, want web and the lead", units)
	}
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/fib_trie", units[0].PID))
	if err != nil || !strings.Contains(string(table), "198.18.77.10") {
		t.Errorf("web has the addresses %s (%v), want 198.18.77.10", table, err)
	}
}

// TestIntegrationPreparationsComeFirst checks that a command that prepares runs before any container is
// made, and that no service starts if it fails.
func TestIntegrationPreparationsComeFirst(t *testing.T) {
	f := newFixture(t)
	folder := t.TempDir()
	layout := f.layout(t, fmt.Sprintf("services: {web: {image: IMAGE, command: [boxed, /data, ':80'], "+
		"volumes: [%q]}}", folder+":/data"), "web")
	reset := `docker ps --all --quiet --filter label=cleave.run=` + f.label + ` | tee "$1/seen"; echo reset`
	layout.Prepare = []lab.UnitSpec{{
		Name: "reset", Role: "reset",
		Runnable: lab.Runnable{
			Program: "sh", Args: []string{"-c", reset, "reset", folder},
			Env: []string{"DOCKER_HOST=" + os.Getenv("DOCKER_HOST")},
		},
	}}
	d := f.deploy(t, layout)
	if seen, err := os.ReadFile(filepath.Join(folder, "seen")); err != nil || len(seen) > 0 {
		t.Errorf("the command has seen the containers %q (%v), want none", seen, err)
	}
	if logs := d.Logs(); logs["reset"] != "reset\n" || len(f.left(t)) == 0 {
		t.Errorf("logs %q, want that of reset; in Docker are %v", logs, f.left(t))
	}
	testset.Must(t, d.Stop())
	layout.Prepare[0].Args = []string{"-c", "echo no disk; exit 3"}
	if _, err := f.Deploy(t.Context(), layout, deploytest.Folder(t)); err == nil ||
		!strings.HasPrefix(err.Error(), "prepare the trial: reset (sh) ") ||
		!strings.HasSuffix(err.Error(), "no disk") {
		t.Errorf("Deploy: %v, want why the command has failed, and nothing else", err)
	}
}

func TestIntegrationLeftoversAreFoundAndRemoved(t *testing.T) {
	f := newFixture(t)
	f.deploy(t, f.layout(t, "services: {web: {image: IMAGE, command: [boxed, /data, ':80'], volumes: "+
		"['data:/data']}}\nvolumes: {data: }", "web"))
	found := f.left(t)
	if len(found) != 3 {
		t.Errorf("%v carry the label, want a container, a network and a volume", found)
	}
	for _, leftover := range found { // the conductor has died
		if removed, err := leftover.Remove(); err != nil || !removed {
			t.Errorf("%s was removed: %t, %v", leftover, removed, err)
		}
	}
	if found := f.left(t); len(found) != 0 {
		t.Errorf("%v are left", found)
	}
}
