package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose"
	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/leftovers"
	"github.com/cleave-lab/cleave/lab"
)

// composeImage is an image with the server of testdata/server.
const composeImage = "cleave-compare-test:1"

// composeFixture is a folder with two system files: web.yaml names a compose file, and image.yaml the image
// directly. system is the one that is compared.
type composeFixture struct{ dir, servers, system string }

// buildServer builds composeImage.
func buildServer() error { return dockertest.Build(composeImage, filepath.Join(binaries, "server")) }

// newComposeFixture returns the fixture. It skips the test if there is no compose command.
func newComposeFixture(t *testing.T) composeFixture {
	t.Helper()
	if err := compose.Missing(); err != nil {
		t.Skip(err)
	}
	f := composeFixture{t.TempDir(), serverFolder(t), "web.yaml"}
	ports, err := launch.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ports.Close)
	address := launch.Loopback(ports.Numbers[0])
	image := fmt.Sprintf("schema: cleave-system/1\nname: web\nimage: %s\nport: 8000\ncommand: [-host, "+
		"0.0.0.0, -port, \"8000\"]\nready: {path: /}\n", composeImage)
	writeFiles(t, f.dir, map[string]string{
		"web.yaml": fmt.Sprintf("schema: cleave-system/1\nname: web\nurl: http://%s/\ncompose: "+
			"compose.yaml\ndeployment: compose\nready: {path: /}\n", address),
		"image.yaml": image,
		"compose.yaml": fmt.Sprintf("services:\n  front: {image: %q, command: [-host, 0.0.0.0, -port, "+
			"\"80\"], ports: [%q]}\n", composeImage, address+":80"),
	})
	return f
}

// plain returns the argument of compare for the same program as a process.
func (f composeFixture) plain() string {
	return "plain=" + filepath.Join(f.servers, "server") + " -port {port}"
}

// compare returns the command that compares the container with the same program as a process.
func (f composeFixture) compare(args ...string) *exec.Cmd {
	return program(f.dir, append([]string{"compare", f.system, f.plain()}, args...)...)
}

// reportedLabels holds the labels whose leftovers were returned by containers: each fails only one test, not
// all that use the same daemon.
var reportedLabels sync.Map

// expectNoContainers checks that no cleave that has ended has left something in Docker.
func expectNoContainers(t *testing.T) {
	t.Helper()
	if left := containers(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// containers lists the objects in Docker with the label of a cleave that has ended; those of running ones
// belong to other tests.
func containers(t *testing.T) []leftovers.Leftover {
	t.Helper()
	left := labelledInDocker(t, func(label string) bool {
		id, is := launch.ParseID(label)
		_, before := reportedLabels.Load(label)
		return !before && (!is || id.Fate() != launch.Running)
	})
	for _, leftover := range left {
		reportedLabels.Store(leftover.Label, true)
	}
	return left
}

// labelledInDocker lists the objects in Docker with a label of Cleave for which wanted returns true.
func labelledInDocker(t *testing.T, wanted func(label string) bool) []leftovers.Leftover {
	t.Helper()
	found, err := leftovers.Docker(wanted)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestContainersAreComparedWithAProcess compares a process with the container of a compose file, and with
// that of an image.
func TestContainersAreComparedWithAProcess(t *testing.T) {
	t.Parallel()
	dockertest.Once(t, composeImage, buildServer)
	f := newComposeFixture(t)
	for _, f.system = range []string{"web.yaml", "image.yaml"} {
		f.expectCompared(t)
	}
}

func TestSystemsAreComparedOnASwarm(t *testing.T) {
	needSwarm(t)
	dockertest.Once(t, composeImage, buildServer)
	newComposeFixture(t).expectComparedOn(t, lab.Swarm)
}

func TestSystemsAreComparedOnKubernetes(t *testing.T) {
	needKubernetes(t)
	dockertest.Once(t, composeImage, buildServer)
	newComposeFixture(t).expectComparedOn(t, lab.Kubernetes)
}

// expectComparedOn compares an image and a command, both deployed on a cluster, with the program as a
// process.
func (f composeFixture) expectComparedOn(t *testing.T, cluster string) {
	image := string(contents(t, f.dir)["image.yaml"])
	writeFiles(t, f.dir, map[string]string{
		"boxed.yaml": strings.Replace(image, "name: web", "name: boxed\ndeployment: "+cluster, 1),
		"command.yaml": "schema: cleave-system/1\nname: command\ncommand: " + systemServer(t) + "\ndeployment: " +
			cluster,
	})
	played := playedComparison(t, f.dir, "boxed.yaml", "command.yaml", f.plain())
	expectAnswered(t, played, "boxed", "boxed.twin", "command", "plain")
	for _, name := range []string{"boxed", "command"} {
		for _, trial := range played[name] {
			if !slices.ContainsFunc(trial.Parts, func(p lab.Part) bool { return strings.HasPrefix(p.Node, "node-") }) {
				t.Errorf("%s: no part is on a node: %+v", name, trial.Parts)
			}
		}
	}
	expectNoContainers(t)
}

// expectCompared compares the system with the process, and checks that both were metered and that nothing is
// left.
func (f composeFixture) expectCompared(t *testing.T) {
	command := f.compare("--rate", "50", "-d", "1s", "--warm-up", "100ms", "--blocks", "1", "--no-gates",
		"--cores", "none")
	if code, printed := finish(t, command); code != exitFine && code != exitLoadNotReached ||
		!strings.Contains(printed, "web against plain") {
		t.Fatalf("%s: exit code %d\n%s", f.system, code, printed)
	}
	trials := trialsOf(t, filepath.Join(f.dir, "results"))
	if len(trials) < 3 { // web, its twin and plain
		t.Fatalf("%s: %d trials, want 3", f.system, len(trials))
	}
	for _, trial := range trials {
		system := trial.Metered.Roles["system"]
		if trial.Variant != "plain" && f.system == "web.yaml" {
			system = trial.Metered.Roles["front"]
		}
		// On a busy host the audit is unknown, because the generator may have been the limit.
		if trial.Audit.Verdict == lab.AuditInvalid || system.Units != 1 || system.CPUSeconds == 0 ||
			system.PeakMemoryBytes < 1<<20 {
			t.Errorf("%s: %s: %+v, metered %+v", f.system, trial.Variant, trial.Audit, system)
		}
	}
	expectNoContainers(t)
}

// TestContainersOfADeadCleaveGo uses its own Docker daemon, because other tests check that ended cleaves have
// left nothing.
func TestContainersOfADeadCleaveGo(t *testing.T) {
	dockertest.Private(t)
	if err := buildServer(); err != nil {
		t.Fatal(err)
	}
	f := newComposeFixture(t)
	command := f.compare("--rate", "20", "-d", "60s", "--blocks", "1", "--cores", "none")
	all := func() []leftovers.Leftover { return labelledInDocker(t, func(string) bool { return true }) }
	killWhen(t, command, "there is a container", func() bool { return len(all()) > 0 })
	await(t, "no container is left, without a clean", func() bool { return len(all()) == 0 })
}
