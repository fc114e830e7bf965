package compose

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/deploytest"
	"github.com/cleave-lab/cleave/deploy/engine"
	"github.com/cleave-lab/cleave/deploy/fleet"
	"github.com/cleave-lab/cleave/deploy/launch"
	"github.com/cleave-lab/cleave/deploy/process"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// marked returns the entries of the file that override writes, by kind, such as "services", and name.
func marked(t *testing.T, text string, processors ...int) map[string]map[string]map[string]any {
	t.Helper()
	extra, err := override(lab.Compose{Text: text}, "7-8", processors)
	testset.Must(t, err)
	var all map[string]any
	testset.Must(t, yaml.Unmarshal([]byte(extra), &all))
	kinds := map[string]map[string]map[string]any{}
	for kind, entries := range all {
		named, is := entries.(map[string]any)
		if !is {
			continue
		}
		kinds[kind] = map[string]map[string]any{}
		for name, entry := range named {
			kinds[kind][name] = entry.(map[string]any)
		}
	}
	return kinds
}

func TestEverythingIsMarked(t *testing.T) {
	kinds := marked(t, `
services: {web: {image: web}}
---
services: {db: {image: db}}
networks: {back: {external: no}, given: {external: true}}
volumes: {data: , own: {external: "False"}, kept: {external: yes}, named: {external: {name: other}}}
`, 0, 2)
	for kind, names := range map[string][]string{"services": {"db", "web"}, "networks": {"back", "default"},
		"volumes": {"data", "own"}} {
		var found []string
		for name, entry := range kinds[kind] {
			found = append(found, name)
			if labels, _ := entry["labels"].(map[string]any); labels["cleave.run"] != "7-8" {
				t.Errorf("%s %s: %v, want the label", kind, name, entry)
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, names) {
			t.Errorf("%s %v are marked, want %v: what is external is not ours", kind, found, names)
		}
	}
	if cpus := kinds["services"]["web"]["cpuset"]; cpus != "0,2" {
		t.Errorf("web runs on %v, want 0,2", cpus)
	}
}

func TestNetworksLieInTheRangeForBenchmarks(t *testing.T) {
	kinds := marked(t, "services: {web: {image: web}}\nnetworks: {a: {}, b: {}}")
	seen := map[string]bool{}
	for name, network := range kinds["networks"] {
		config := network["ipam"].(map[string]any)["config"].([]any)[0].(map[string]any)
		subnet, _ := config["subnet"].(string)
		if !strings.HasPrefix(subnet, "198.19.") || seen[subnet] {
			t.Errorf("network %s has %q, want one of its own in 198.19.0.0/16", name, subnet)
		}
		seen[subnet] = true
	}
	if len(seen) < 2 {
		t.Errorf("the networks are %v, want a and b among them", kinds["networks"])
	}
}

func TestNetworksWithARangeKeepIt(t *testing.T) {
	kinds := marked(t, `
services: {web: {image: web, networks: {app: {ipv4_address: 172.28.0.10}}}}
networks:
  app: {ipam: {config: [{subnet: 172.28.0.0/16}]}}
  other: {ipam: {driver: own, options: {a: b}, config: []}}
`)
	if ipam := fmt.Sprint(kinds["networks"]["app"]["ipam"]); ipam != "map[config:[map[subnet:172.28.0.0/16]]]" {
		t.Errorf("app has the range %v, want its own", ipam)
	}
	if labels, _ := kinds["networks"]["app"]["labels"].(map[string]any); labels["cleave.run"] != "7-8" {
		t.Errorf("app is %v, want the label", kinds["networks"]["app"])
	}
	if ipam := fmt.Sprint(kinds["networks"]["other"]["ipam"]); !strings.Contains(ipam, "198.19.") ||
		!strings.HasSuffix(ipam, " driver:own options:map[a:b]]") {
		t.Errorf("other, without a range, gets %s, want one, and its own driver and options", ipam)
	}
	disk := marked(t, "services: {web: {image: web}}\n"+
		"volumes: {data: {driver_opts: {type: tmpfs}, labels: [a=b]}}")
	if got := fmt.Sprint(disk["volumes"]["data"]); got !=
		"map[driver_opts:map[type:tmpfs] labels:map[a:b cleave.run:7-8]]" {
		t.Errorf("data is %s, want its own options and labels, and ours", got)
	}
}

// TestFilesOfEveryVersionGetProcessors checks that services of a file of version 3 are bound, too.
func TestFilesOfEveryVersionGetProcessors(t *testing.T) {
	for _, version := range []string{"", "version: '2.4'\n", "version: '3.8'\n"} {
		kinds := marked(t, version+"services: {web: {image: web}}", 1)
		if cpus := kinds["services"]["web"]["cpuset"]; cpus != "1" {
			t.Errorf("%q: web runs on %v, want processor 1", version, cpus)
		}
	}
}

// TestServicesAreBoundLikeProcesses checks that services run on the processors that the core numbers stand
// for: a number beyond the processors of this host wraps around (launch.Processors).
func TestServicesAreBoundLikeProcesses(t *testing.T) {
	cores := []int{1001}
	processors, err := launch.Processors(cores)
	testset.Must(t, err)
	p := &project{tool: []string{"true"}, label: "7-8", dir: t.TempDir(), spec: lab.UnitSpec{Name: "web",
		Runnable:  lab.Runnable{Compose: &lab.Compose{Text: "services: {web: {image: web}}"}},
		Placement: lab.Placement{Cores: cores}}}
	testset.Must(t, p.up(t.Context()))
	text, err := os.ReadFile(filepath.Join(p.dir, "cleave.yaml"))
	testset.Must(t, err)
	var extra struct {
		Services map[string]struct{ Cpuset string }
	}
	testset.Must(t, yaml.Unmarshal(text, &extra))
	if got, want := extra.Services["web"].Cpuset, launch.List(processors); got != want {
		t.Errorf("web is bound to the processors %q, want %q", got, want)
	}
}

func TestInvalidFilesAreRefused(t *testing.T) {
	for text, says := range map[string]string{"": "no services", "volumes: {}": "no services",
		"services: [": "compose file"} {
		if _, err := override(lab.Compose{Text: text}, "7-8", nil); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("override(%q): %v, want it to say %q", text, err, says)
		}
	}
}

// onlyTools makes PATH a folder with only the given programs, each a script.
func onlyTools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		testset.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir)
}

func TestMissingToolsAreNamed(t *testing.T) {
	for name, test := range map[string]struct {
		scripts map[string]string
		says    string
	}{
		"no Docker": {nil, "apt-get install --no-install-recommends docker.io"},
		"no daemon": {map[string]string{"docker": "exit 0"}, "systemctl start docker"},
		"no compose": {map[string]string{"docker": "exit 1"},
			"apt-get install --no-install-recommends docker-compose"},
	} {
		t.Run(name, func(t *testing.T) {
			onlyTools(t, test.scripts)
			if name == "no daemon" {
				t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none"))
			} else {
				dockertest.Fake(t, nil)
			}
			if _, _, err := findTool(t.Context()); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("findTool: %v, want it to say %q", err, test.says)
			}
		})
	}
}

func TestBothComposeCommandsAreFound(t *testing.T) {
	dockertest.Fake(t, nil)
	onlyTools(t, map[string]string{"docker": "exit 0"})
	if tool, _, err := findTool(t.Context()); err != nil || !slices.Equal(tool, []string{"docker", "compose"}) {
		t.Errorf("findTool = %q, %v; want docker compose", tool, err)
	}
	onlyTools(t, map[string]string{"docker": "exit 1", "docker-compose": "exit 0"})
	if tool, _, err := findTool(t.Context()); err != nil || filepath.Base(tool[0]) != "docker-compose" {
		t.Errorf("findTool = %q, %v; want docker-compose", tool, err)
	}
}

// TestACommandThatHangsIsGivenUp checks that a command that hangs is killed after its time, with its
// children.
func TestACommandThatHangsIsGivenUp(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	begun := time.Now()
	hangs := "sleep 60 & echo $! >" + started + "; echo word >&2; wait"
	err := run(t.Context(), 3*time.Second, nil, "sh", "-c", hangs)
	deploytest.Says(t, err, "not done after 3s: word")
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	text, err := os.ReadFile(started)
	testset.Must(t, err)
	child := "/proc/" + strings.TrimSpace(string(text)) + "/cmdline"
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if text, err := os.ReadFile(child); err != nil || len(text) == 0 { // gone, or a zombie
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("its child still runs")
		}
	}
}

// TestAPreflightEndsWithItsContext checks that Preflight ends with its context if the docker program hangs.
func TestAPreflightEndsWithItsContext(t *testing.T) {
	dockertest.Fake(t, nil)
	onlyTools(t, map[string]string{"docker": "exec /bin/sleep 60"})
	deploytest.GivesUp(t, New(process.New("", nil, nil, ""), ""))
}

func TestSplitSeparatesServicesFromTheRest(t *testing.T) {
	l := lab.Layout{Lead: "generator", Units: []lab.UnitSpec{
		{Name: "web", Runnable: lab.Runnable{Compose: &lab.Compose{}}}, {Name: "generator"}}}
	services, rest := split(l)
	if len(services) != 1 || len(rest.Units) != 1 || rest.Units[0].Name != "generator" ||
		rest.Lead != "generator" || len(l.Units) != 2 {
		t.Errorf("split = %+v, %+v", services, rest)
	}
}

// TestAServiceMustOutliveTheLoad checks that a container may end with exit status 0 before the load, and not
// under it.
func TestAServiceMustOutliveTheLoad(t *testing.T) {
	dockertest.Fake(t, func(w http.ResponseWriter, _ *http.Request) { // the only question is how it ended
		_, _ = w.Write([]byte(`{"StatusCode": 0}`))
	})
	client, err := engine.Open(t.Context())
	testset.Must(t, err)
	d := &deployment{deployer: New(nil, ""), engine: client}
	dir := t.TempDir()
	d.Fleet = fleet.New(t.Context(), fleet.NewSupervisor(lab.Layout{Lead: "lead"}, dir), dir, d.platform())
	ended := func(name string) {
		c := d.newContainer(lab.UnitSpec{Name: name, Runnable: lab.Runnable{Compose: &lab.Compose{}}}, name,
			engine.Inspection{})
		close(c.followed)
		c.await()
	}
	ended("job")
	lead := fleet.NewUnit(lab.UnitSpec{Name: "lead"})
	lead.Commands = io.Discard
	d.Supervisor.Add(lead)
	testset.Must(t, d.Command(lab.Command{Command: lab.CommandStart}))
	deploytest.NoError(t, d.Failure())
	ended("web")
	deploytest.Says(t, d.Failure(), "service web ended under load, with exit status 0")
}

// TestNoDocker checks that a deployment without Docker fails and leaves no folder.
func TestNoDocker(t *testing.T) {
	onlyTools(t, nil)
	deploytest.CannotBegin(t, New(process.New("", nil, nil, ""), ""))
}
