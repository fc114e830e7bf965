package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/deploy/compose"
	"github.com/cleave-lab/cleave/deploy/compose/dockertest"
	"github.com/cleave-lab/cleave/deploy/registry"
	"github.com/cleave-lab/cleave/deploy/registry/pushtest"
	"github.com/cleave-lab/cleave/lab"
)

// shopFile is a compose file with several services. Tests put a number in the place of REPLICAS.
const shopFile = `
x-image: &image {image: ` + composeImage + `, volumes: ["data:/data"]}
services:
  front:
    <<: *image
    command: [-host, "", -port, "80", -calls, "http://basket:81/"]
    ports: ["8080:80"]
    depends_on: {cart: {condition: service_healthy}}
  cart:
    <<: *image
    command: [-host, "", -port, "81", -needs, /data/filled]
    depends_on: {fill: {condition: service_completed_successfully}}
    healthcheck: {test: [CMD, /program, -check, "http://127.0.0.1:81/"], interval: 300ms}
    networks: {default: {aliases: [basket]}}
    deploy: {replicas: REPLICAS, resources: {limits: {cpus: "0.9", memory: 256M}}}
  fill: {<<: *image, command: [-keep, /data/filled]}
volumes: {data: {}}
`

// builtImage is an image that Cleave builds.
const builtImage = "cleave-built-test:1"

// TestComposeFilesAreComparedAsTheyAre: each service of a compose file is a unit, which is metered and can
// have faults.
func TestComposeFilesAreComparedAsTheyAre(t *testing.T) {
	t.Parallel()
	dockertest.Once(t, composeImage, buildServer)
	if err := compose.Missing(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, replicas := range map[string]string{"one": "1", "two": "2"} {
		text := strings.Replace(shopFile, "REPLICAS", replicas, 1)
		if name == "two" { // the image of its cart is built, with a label
			text = strings.Replace(text, "  cart:\n", "  cart:\n    build: .\n    image: "+builtImage+"\n", 1)
			writeFiles(t, dir, map[string]string{
				"two/Dockerfile": "FROM " + composeImage + "\nLABEL built=here\n"})
		}
		writeFiles(t, dir, map[string]string{name + "/compose.yaml": text})
	}
	played := playedComparison(t, dir, "one/compose.yaml", "other=two/compose.yaml", "-d", "3s", "--build",
		"--fault", "kill:cart@500ms+500ms")
	inspect := exec.Command("docker", "inspect", "--format", "{{.Config.Labels}}", builtImage)
	labels, err := inspect.CombinedOutput()
	if err != nil || !strings.Contains(string(labels), "built:here") {
		t.Errorf("the image was not built: %s%v", labels, err)
	}
	for variant, carts := range map[string]int{"one": 1, "other": 2} {
		for _, trial := range played.of(t, variant) {
			front, cart := trial.Metered.Roles["front"], trial.Metered.Roles["cart"]
			if trial.Audit.Counts["ok"] == 0 || front.Units != 1 || cart.Units != carts || front.CPUSeconds == 0 ||
				cart.CPUSeconds == 0 || cart.PeakMemoryBytes == 0 || len(trial.Parts) < 3 {
				t.Errorf("%s: %s, %+v, front %+v, cart %+v", variant, trial.Reason, trial.Audit, front, cart)
			}
			if len(trial.Faults) != 1 || !trial.Faults[0].Effective || trial.Faults[0].Target != "cart" ||
				trial.Measures[lab.Outage] < 0.1 && carts == 1 {
				t.Errorf("%s: the faults are %+v, the outage is %g s", variant, trial.Faults, trial.Measures[lab.Outage])
			}
		}
	}
	report, err := os.ReadFile(filepath.Join(dir, "results", "compare", "latest", "report.html"))
	if err != nil || !strings.Contains(string(report), "cart") {
		t.Errorf("the report does not name the services: %v", err)
	}
	expectNoContainers(t)
}

// shopManifests has the same services as manifests of Kubernetes.
const shopManifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  template:
    metadata: {labels: {app: front}}
    spec:
      containers: [{name: front, image: "` + composeImage + `", args: [-host, "", -port, "80", -calls,
        "http://basket:81/"]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart}
spec:
  template:
    metadata: {labels: {app: cart}}
    spec:
      initContainers:
      - {name: fill, image: "` + composeImage + `", args: [-keep, /data/filled], volumeMounts: [{name: data,
        mountPath: /data}]}
      containers:
      - name: cart
        image: ` + composeImage + `
        args: [-host, "", -port, "81", -needs, /data/filled]
        readinessProbe: {httpGet: {path: /, port: 81}, periodSeconds: 1}
        resources: {limits: {cpu: 900m, memory: 256Mi}}
        volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: v1
kind: Service
metadata: {name: basket}
spec: {selector: {app: cart}, ports: [{port: 81}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {type: NodePort, selector: {app: front}, ports: [{port: 80}]}
`

// pricesService and pricesManifests describe a service that records spans. The cart calls it.
const (
	pricesService = `  prices: {image: ` + tracedImage + `, command: [traced, -host, "", -port, "82"]}
`
	pricesManifests = `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: prices}
spec:
  template:
    metadata: {labels: {app: prices}}
    spec:
      containers: [{name: prices, image: "` + tracedImage + `", args: [traced, -host, "", -port, "82"]}]
---
apiVersion: v1
kind: Service
metadata: {name: prices}
spec: {selector: {app: prices}, ports: [{port: 82}]}
`
)

// playShop compares the compose file with the manifests in the deployment of the arguments, with a fault. It
// checks the figures of each service, and the spans.
func playShop(t *testing.T, args ...string) {
	t.Helper()
	dockertest.Once(t, composeImage, buildServer)
	dockertest.Once(t, tracedImage, buildTraced)
	dir := t.TempDir()
	const needs, volumes = "-needs, /data/filled", "volumes: {data: {}}"
	callPrices := strings.NewReplacer( // the cart calls prices, which records spans
		needs, needs+`, -calls, "http://prices:82/"`, volumes, pricesService+volumes,
		"REPLICAS", "1")
	writeFiles(t, dir, map[string]string{"compose.yaml": "name: shop\n" + callPrices.Replace(shopFile),
		"k8s/all.yaml": callPrices.Replace(shopManifests) + pricesManifests})
	played := playedComparison(t, dir, append(args, "compose.yaml", "k8s", "-d", "5s", "--trace-share", "1",
		"--fault", "kill:cart@500ms+500ms")...)
	for _, variant := range []string{"shop", "k8s"} {
		for _, trial := range played.of(t, variant) {
			front, cart := trial.Metered.Roles["front"], trial.Metered.Roles["cart"]
			if trial.Audit.Counts["ok"] == 0 || front.Units != 1 || cart.Units != 1 || front.CPUSeconds == 0 ||
				cart.CPUSeconds == 0 || cart.PeakMemoryBytes == 0 || len(trial.Parts) < 4 {
				t.Errorf("%s: %s, %+v, front %+v, cart %+v", variant, trial.Reason, trial.Audit, front, cart)
			}
			if spans := trial.Traced; spans == nil || int64(spans.Traces) < trial.Audit.Counts["ok"] {
				t.Errorf("%s: the counts are %+v, the traces %+v", variant, trial.Audit.Counts, spans)
			}
			if len(trial.Faults) != 1 || !trial.Faults[0].Effective || trial.Measures[lab.Outage] < 0.1 {
				t.Errorf("%s: the faults are %+v, the outage is %g s", variant, trial.Faults, trial.Measures[lab.Outage])
			}
		}
	}
}

// TestManifestsAreComparedWithAComposeFile compares them in Docker on this host.
func TestManifestsAreComparedWithAComposeFile(t *testing.T) {
	t.Parallel()
	playShop(t)
	expectNoContainers(t)
}

// TestServicesAreComparedOnASwarm compares the services of a compose file and of manifests.
func TestServicesAreComparedOnASwarm(t *testing.T) {
	needSwarm(t)
	playShop(t, "--deploy", "swarm")
}

// TestServicesAreComparedOnKubernetes compares the services of a compose file and of manifests.
func TestServicesAreComparedOnKubernetes(t *testing.T) {
	needKubernetes(t)
	playShop(t, "--deploy", "kubernetes")
}

// registryCompose and registryManifests use an image that the nodes pull from a registry.
const (
	registryCompose = `
name: shop
services:
  front:
    image: IMAGE
    command: [-host, "", -port, "80", -calls, "http://cart:81/"]
    ports: ["8080:80"]
    depends_on: {cart: {condition: service_healthy}}
  cart:
    image: IMAGE
    command: [-host, "", -port, "81", -needs, /given/filled]
    volumes: ["./filled:/given/filled:ro", "data:/data"]
    healthcheck: {test: [CMD, /program, -check, "http://127.0.0.1:81/"], interval: 300ms}
volumes: {data: {}}
`
	registryManifests = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: front}
spec:
  template:
    metadata: {labels: {app: front}}
    spec:
      containers:
      - name: front
        image: IMAGE
        args: [-host, "", -port, "80", -needs, /given/filled]
        volumeMounts: [{name: given, mountPath: /given}]
      volumes: [{name: given, configMap: {name: given}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: given}
data: {filled: "of a config map"}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {type: NodePort, selector: {app: front}, ports: [{port: 80}]}
`
)

// compareOnUserCluster compares a compose file, a variant of it and manifests on a cluster of the user. The
// environment variables name the cluster. The services use files of this host and a volume. On Kubernetes
// they are metered, and send spans.
func compareOnUserCluster(t *testing.T, variables map[string]string, deployment string) {
	image := pushtest.Push(t, variables[registry.Variable], filepath.Join(serverFolder(t), "server"))
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"filled": "of this host",
		"shop.yaml": strings.ReplaceAll(registryCompose, "IMAGE", image),
		"k8s.yaml":  strings.ReplaceAll(registryManifests, "IMAGE", image)})
	const compare = "compare one=shop.yaml k8s.yaml --rate 50 -d 1s --warm-up 100ms --blocks 1 --no-gates " +
		"--deploy "
	const share = " --trace-share 1"
	if deployment != lab.Kubernetes {
		refused := onUserCluster(t, variables, nil, compare+deployment+share)
		refused.Dir = dir
		expectRun(t, refused, exitBadPlan, []string{"--trace-share: the spans", "do not come back to this host"})
	}
	command := onUserCluster(t, variables, nil, compare+deployment)
	command.Args = append(command.Args, "less=shop.yaml cart.cpu=0.5")
	command.Dir = dir
	if deployment == lab.Kubernetes {
		own, err := os.Executable() // the test program is the traced server, too
		if err != nil {
			t.Fatal(err)
		}
		const volumes = "volumes: {data: {}}"
		pushed := pushtest.Push(t, variables[registry.Variable], own)
		prices := strings.ReplaceAll(pricesService, tracedImage, pushed)
		writeFiles(t, dir, map[string]string{"shop.yaml": strings.NewReplacer("IMAGE", image, `"http://cart:81/"`,
			`"http://prices:82/"`, volumes, prices+volumes).Replace(registryCompose)})
		command.Args = append(command.Args, strings.Fields(share)...)
	}
	expectRun(t, command, exitFine, []string{"less", "k8s", "4 of 4 trials counted"})
	if deployment == lab.Kubernetes {
		expectServiceFigures(t, trialsOf(t, filepath.Join(dir, "results")))
	}
}

// expectServiceFigures checks that trials have figures of each service on a cluster of the user, and the
// spans of all operations on the service that records spans.
func expectServiceFigures(t *testing.T, trials []lab.Trial) {
	t.Helper()
	for _, trial := range trials {
		front := trial.Metered.Roles["front"]
		if why, missing := front.Unavailable["cpu_seconds"]; missing || front.CPUSeconds == 0 ||
			front.PeakMemoryBytes == 0 {
			t.Errorf("%s: front has used %+v: %s", trial.Variant, front, why)
		}
		if spans := trial.Traced; trial.Variant != "k8s" && (spans == nil || trial.Audit.Counts["ok"] == 0 ||
			int64(spans.Traces) < trial.Audit.Counts["ok"]) {
			t.Errorf("%s: the counts are %+v, the traces %+v", trial.Variant, trial.Audit.Counts, spans)
		}
		if said := strings.Join(trial.Remarks, "\n"); strings.Contains(said, "spans may be missing") {
			t.Errorf("%s: %s", trial.Variant, said)
		}
	}
}

// TestComposeFilesAsArguments: compose files are refused, or converted to system files, without Docker. Long
// because all cases use the same files.
func TestComposeFilesAsArguments(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"two.yaml": "name: two\nservices: {a: {image: a, ports: [\"8080:80\"]}, " +
			"b: {image: b, ports: [\"81:81\"]}}",
		"power.yaml":  "name: power\nservices: {a: {image: a, privileged: true, ports: [\"8080:80\"]}}",
		"fine.yaml":   "name: fine\nservices: {a: {image: a:1, ports: [\"8080:80\"]}, db: {image: db}}",
		"system.yaml": "schema: cleave-system/1\nname: s\nurl: http://b:81/\ncompose: two.yaml\n",
		"k8s/a.yaml":  shopManifests,
	})
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"two.yaml", "fine.yaml"}, exitBadPlan, []string{"two.yaml: compose: these ports are published",
			"http://127.0.0.1:8080/ (a, port 80)", "--url"}},
		{[]string{"power.yaml", "fine.yaml"}, exitBadPlan, []string{"system power asks for power over this host",
			"service a: is privileged", "--trust"}},
		{[]string{"fine.yaml", "fine.yaml"}, exitBadPlan, []string{"two systems are called fine"}},
		{[]string{"fine.yaml", "system.yaml", "--fault", "kill:cart@1s", "--plan"}, exitBadPlan,
			[]string{"there is no such unit", "a, db"}},
		{[]string{"fine.yaml", "fine2=fine.yaml", "--fault", "slow:a@1s,delay=1s", "--plan"}, exitBadPlan,
			[]string{"--fault slow:a: services of a file"}},
		{[]string{"fine.yaml", "system.yaml", "--plan"}, exitFine, nil},
		{[]string{"fine.yaml", "fine.yaml db.replicas=2 db.cpu=0.5", "--plan"}, exitFine,
			[]string{"variants  fine, fine.twin, fine-db.replicas-2-db.cpu-0.5"}},
		{[]string{"fine.yaml", "less=fine.yaml db=null", "--plan"}, exitFine, []string{"fine.twin, less"}},
		{[]string{"fine.yaml", "fine.yaml web.cpu=1"}, exitBadPlan, []string{"there is no service web"}},
		{[]string{"fine.yaml", "system.yaml", "--compose-command", "--plan"}, exitFine, nil},
		{[]string{"fine.yaml", "system.yaml", "--deploy", "ssh", "--plan"}, exitBadPlan,
			[]string{"a compose file runs on docker-bridge, swarm, kubernetes"}},
		{[]string{"k8s", "less=k8s cart=null", "--plan"}, exitFine, []string{"variants  k8s, k8s.twin, less"}},
		{[]string{"k8s", "fine.yaml", "--compose-command", "--plan"}, exitBadPlan,
			[]string{"k8s is no compose file"}},
		{[]string{"k8s", "fine.yaml", "--deploy", "docker-host", "--plan"}, exitBadPlan,
			[]string{"manifests run on docker-bridge, swarm, kubernetes"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			args := slices.Concat([]string{"compare", "--rate", "10"}, c.args)
			expectRun(t, program(dir, args...), c.code, c.says)
		})
	}
	for from, want := range map[string]string{
		"fine.yaml": "# Its units, for --fault kill:UNIT@5s: a, db.\nschema: cleave-system/1\nname: fine\n" +
			"compose: fine.yaml\nurl: http://127.0.0.1:8080/\n",
		"k8s": "# Its units, for --fault kill:UNIT@5s: front, cart-fill, cart.\nschema: cleave-system/1\n" +
			"name: k8s\nmanifests: k8s\nurl: http://front:80/\n",
	} {
		path := filepath.Join(dir, strings.TrimSuffix(from, ".yaml")+"-system.yaml")
		expectRun(t, program(dir, "init", "system", path, "--from", from), exitFine, nil)
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(text), want) {
			t.Errorf("it is (%v)\n%s\nwant the end\n%s", err, text, want)
		}
		expectRun(t, program(dir, "compare", path, "fine.yaml db.cpu=1", "--rate", "10", "--plan"), exitFine, nil)
	}
}

// TestPlansOfOthersShowWhatServicesMayDo: before somebody else's plan is played, the user sees the commands,
// the containers with their rights on this host, and the database queries of the plan.
func TestPlansOfOthersShowWhatServicesMayDo(t *testing.T) {
	web := lab.ContainerSpec{Command: []string{"a b"}, Privileged: true, CapAdd: []string{"SYS_ADMIN"},
		Env: []string{"KEY=${CLEAVE_MASKED_KEY}"}, Health: &lab.HealthCheck{Test: []string{"CMD", "curl", "a b"}},
		Mounts: []lab.ContainerMount{{Kind: lab.MountBind, Source: "/etc"},
			{Kind: lab.MountFiles, Target: "/conf", Files: map[string]string{"a": "x\ny"}}}}
	does := describeActions(lab.Study{Variants: []lab.Variant{{External: &lab.ExternalSystem{
		Ready: lab.SystemReady{Command: []string{"./ready.sh", "{port}"}},
		Audit: &lab.SystemAudit{Queries: []lab.AuditQuery{{In: "shop", SQL: "SELECT 1"}},
			Databases: map[string]lab.AuditDatabase{
				"shop": {At: "db:1", Name: "a", User: "me", PasswordFile: "/etc/x"}}},
		Services: []lab.SystemService{{Name: "web", Image: "nginx", Container: web}, {Name: "db", Image: "db"}}}}}})
	expectTexts(t, "it", does, `start a container of the image nginx 'a b' as web`, "give it /etc of this host",
		"give it power over this host (privileged: true, its processes: false, SYS_ADMIN)",
		`with 'KEY=${CLEAVE_MASKED_KEY}'`, "give it /conf/a:\n      x\n      y", "have it run curl 'a b'",
		"start a container of the image db as db", "run ./ready.sh {port} in a folder of its own",
		`ask the database db:1/a as the user me, with the password of /etc/x: 'SELECT 1'`)
	if strings.Count(does, "power") != 1 {
		t.Errorf("db has power over this host:\n%s", does)
	}
}
