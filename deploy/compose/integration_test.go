package compose

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// TestMain lets the test binary be the program in a container.
func TestMain(m *testing.M) {
	switch os.Getenv("CLEAVE_COMPOSE_TEST") {
	case "sleep":
		time.Sleep(time.Hour)
	case "die":
		_, _ = os.Stderr.WriteString("out of luck\n")
		time.Sleep(time.Second)
		os.Exit(3)
	case "":
		os.Exit(m.Run())
	}
}

// nothing deploys nothing beside the containers.
type nothing struct{ lab.Deployer }

func (nothing) Deploy(context.Context, lab.Layout, string) (lab.Deployment, error) {
	return idle{}, nil
}

// idle is a deployment of no units, whose lead says nothing.
type idle struct{ lab.Deployment }

func (idle) Stop() error             { return nil }
func (idle) Units() []lab.Unit       { return nil }
func (idle) Logs() map[string]string { return map[string]string{} }

func (idle) Await(ctx context.Context, _ lab.EventKind) (lab.Event, error) {
	<-ctx.Done()
	return lab.Event{}, context.Cause(ctx)
}

// image is a Docker image of this test binary. The test is skipped, with the
// reason, where there is no Docker.
func image(t *testing.T) string {
	t.Helper()
	dockertest.Start(t)
	if _, err := findTool(); err != nil {
		t.Skip(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	const name = "cleave-compose-test:1"
	dockertest.Image(t, name, program)
	return name
}

// up deploys a compose file of a service that plays the part.
func up(t *testing.T, label, part string) (lab.Deployment, error) {
	t.Helper()
	text := `
services:
  web: {image: "` + image(t) + `", environment: {CLEAVE_COMPOSE_TEST: ` + part + `}, volumes: ["data:/data"]}
volumes: {data: {}}
`
	layout := lab.Layout{Units: []lab.UnitSpec{{Name: "system", Role: "system", Foreign: true, Compose: &lab.Compose{Text: text, Dir: t.TempDir()}}}}
	return New(nothing{}, label).Deploy(t.Context(), layout, t.TempDir())
}

// left lists what a conductor has in Docker.
func left(t *testing.T, label string) []leftovers.Leftover {
	t.Helper()
	found, err := leftovers.Docker(func(l string) bool { return l == label })
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestIntegrationContainersComeAndGo(t *testing.T) {
	d, err := up(t, "1-1", "sleep")
	if err != nil {
		t.Fatal(err)
	}
	units := d.Units()
	if len(units) != 1 || units[0].PID == 0 || units[0].Role != "system" || units[0].Span != lab.SpanContainer {
		t.Errorf("units %+v, want the container's processes", units)
	}
	if program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", units[0].PID)); err != nil || program != "/program" {
		t.Errorf("the unit's process runs %q (%v), want the container's program", program, err)
	}
	if found := left(t, "1-1"); len(found) != 3 {
		t.Errorf("%v carry the label, want a container, a network and a volume", found)
	}
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
	if found := left(t, "1-1"); len(found) != 0 {
		t.Errorf("%v are left", found)
	}
}

func TestIntegrationAContainerThatDiesFailsTheTrial(t *testing.T) {
	d, err := up(t, "1-2", "die")
	if err == nil {
		_, err = d.Await(t.Context(), lab.EventReady)
		defer func() {
			if err := d.Stop(); err != nil || !strings.Contains(d.Logs()["web"], "out of luck") {
				t.Errorf("Stop: %v, logs %q", err, d.Logs())
			}
		}()
	}
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("Await: %v, want the exit status", err)
	}
}

func TestIntegrationLeftoversAreFoundAndRemoved(t *testing.T) {
	if _, err := up(t, "1-3", "sleep"); err != nil { // and the conductor dies
		t.Fatal(err)
	}
	for _, leftover := range left(t, "1-3") {
		if removed, err := leftover.Remove(); err != nil || !removed {
			t.Errorf("%s was removed: %t, %v", leftover, removed, err)
		}
	}
	if found := left(t, "1-3"); len(found) != 0 {
		t.Errorf("%v are left", found)
	}
}
