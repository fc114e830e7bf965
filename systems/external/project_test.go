package external

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded/loadedtest"
)

// projectFolder creates a folder with these files and returns the path of its compose.yaml.
func projectFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	for name, text := range files {
		path := filepath.Join(dir, name)
		testset.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testset.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return filepath.Join(dir, "compose.yaml")
}

// parseBeside parses a system file without a schema as one in the folder of a compose file.
func parseBeside(compose, text string) (Definition, error) {
	return Parse(filepath.Join(filepath.Dir(compose), "system.yaml"), []byte("schema: cleave-system/1\n"+text))
}

// ofCompose reads a compose file in its default deployment.
func ofCompose(t *testing.T, text, address string) (Definition, error) {
	t.Helper()
	d, err := OfServices(projectFolder(t, map[string]string{"compose.yaml": text}), address)
	if err != nil {
		return d, err
	}
	all, err := d.In(nil)
	if err != nil {
		return d, err
	}
	return all[0], nil
}

// writtenShop has the files of a project with all supported keys.
func writtenShop() map[string]string {
	return map[string]string{
		"compose.yaml": `
x-common: &common
  environment: &env {MODE: fast, DB_PASSWORD: "${DB_PASSWORD}"}
  restart: always
include: [more/db.yaml]
services:
  web:
    <<: *common
    image: web:${TAG}
    command: serve --port 80 "two words"
    ports: ["8080:80"]
    depends_on: {db: {condition: service_healthy}, init: {condition: service_completed_successfully}}
    networks: {front: {aliases: [www]}, back: {}}
    volumes: ["data:/data", "./conf:/etc/conf:ro", "/anonymous"]
    deploy: {replicas: 2, resources: {limits: {cpus: "0.3", memory: 64M}}}
  init: {extends: {file: base.yaml, service: base}, entrypoint: [sh, -c], user: "7",
    healthcheck: {test: [NONE]}}
  debug: {image: debug, profiles: [debug]}
networks: {front: {}, back: {}}
volumes: {data: {}}
`,
		"base.yaml":    "services: {base: {image: base:1, working_dir: /srv, env_file: [values.env]}}",
		"values.env":   "A=b\n",
		"more/db.yaml": "services: {db: {image: db, healthcheck: {test: [CMD, ok], interval: 2s, retries: 4}}}",
		".env":         "DB_PASSWORD=from-the-file\n",
	}
}

// layoutOf returns the units of a system by name, and their names in order. It checks that the plan has no
// password.
func layoutOf(t *testing.T, d Definition) (units map[string]lab.UnitSpec, names []string) {
	t.Helper()
	vault := secret.NewVault(os.LookupEnv)
	testset.Must(t, d.Mask(vault))
	text, err := json.Marshal(d.ExternalSystem)
	if err != nil || strings.Contains(string(text), "from-the-file") {
		t.Errorf("the plan has a password (%v): %s", err, text)
	}
	v := lab.Variant{Name: d.Name, External: &d.ExternalSystem, Replicas: d.Replicas, Limits: d.Limits}
	l, err := System{Generator: &loadedtest.Generator{}, Secrets: vault}.Layout(v, at(lab.FactorRate, 5), 1)
	if err == nil {
		l, err = v.Scale(l)
	}
	testset.Must(t, err)
	units = map[string]lab.UnitSpec{}
	for _, u := range l.Units {
		units[u.Name] = u
		names = append(names, u.Name)
	}
	return units, names
}

func TestAComposeFileBecomesUnits(t *testing.T) {
	t.Setenv("TAG", "2")
	t.Setenv("COMPOSE_PROFILES", "")
	path := projectFolder(t, writtenShop())
	d, err := OfServices(path, "")
	testset.Must(t, err)
	all, err := d.In(nil)
	if err != nil || d.Name != "shop" || all[0].Kind() != kindServices || all[0].Deployment != lab.DockerBridge {
		t.Fatalf("%+v, %v", all, err)
	}
	units, names := layoutOf(t, all[0])
	if want := []string{"db", "init", "web", "web-2", "generator"}; !slices.Equal(names, want) {
		t.Errorf("the units are %q, want %q", names, want)
	}
	web := units["web-2"]
	if web.Role != "web" || web.Image != "web:2" || web.Port != 80 || !web.Listens ||
		web.Limits != (lab.Limits{CPU: 0.3, Memory: 64 << 20}) ||
		!slices.Equal(web.After, []string{"db", "init"}) ||
		!slices.Equal(web.Container.Command, []string{"serve", "--port", "80", "two words"}) ||
		!slices.Equal(web.Container.Env, []string{"DB_PASSWORD=from-the-file", "MODE=fast"}) ||
		!slices.Equal(web.Container.Names, []string{"www"}) {
		t.Errorf("web is %+v with %+v", web, web.Container)
	}
	if want := []lab.ContainerMount{{Kind: lab.MountVolume, Source: "data", Target: "/data"},
		{Kind: lab.MountBind, Source: filepath.Dir(path) + "/conf", Target: "/etc/conf", ReadOnly: true},
		{Kind: lab.MountVolume, Target: "/anonymous"}}; !reflect.DeepEqual(web.Container.Mounts, want) {
		t.Errorf("it has the mounts %+v, want %+v", web.Container.Mounts, want)
	}
	if db := units["db"]; !db.Readiness.Healthy || db.Container.Health.Interval != 2 ||
		db.Container.Health.Retries != 4 || db.Listens {
		t.Errorf("db is %+v with %+v", db, db.Container.Health)
	}
	if init := units["init"]; !init.Finishes || init.Readiness.Healthy || init.Container.User != "7" ||
		init.Container.Dir != "/srv" ||
		!slices.Equal(init.Container.Entrypoint, []string{"sh", "-c"}) ||
		!slices.Equal(init.Container.Env, []string{"A=b"}) {
		t.Errorf("init is %+v with %+v", init, init.Container)
	}
	if g := units["generator"]; !slices.Equal(g.Peers, []string{"web", "web-2"}) || len(g.Uses) != 1 {
		t.Errorf("it is loaded by %+v", g)
	}
	if !slices.Equal(d.Notes, []string{"all services share one network in place of back, default, front"}) {
		t.Errorf("the notes are %q", d.Notes)
	}
}

// TestEntryPointOfAComposeFile: it is the only published port, or the chosen one.
func TestEntryPointOfAComposeFile(t *testing.T) {
	const two = "services: {a: {image: a, ports: [\"8080:80\", \"9:9/udp\"]}, " +
		"b: {image: b, ports: [\"81\"]}, c: {image: c}}"
	const twice = `services: {a: {image: a, ports: ["8080:80", "8443:80"]}}`
	for name, c := range map[string]struct{ text, address, entry, url, message string }{
		"the only one":    {"services: {a: {image: a, ports: [\"80\"]}, b: {image: b}}", "", "a:80", "", ""},
		"published":       {two, "http://127.0.0.1:8080/x", "a:80", "http://127.0.0.1:{port}/x", ""},
		"escaped":         {two, "http://a:80/x%2Fy?z=1", "a:80", "http://127.0.0.1:{port}/x%2Fy?z=1", ""},
		"by its name":     {two, "http://c:7000/", "c:7000", "", ""},
		"none":            {"services: {a: {image: a}}", "", "", "", "no port is published"},
		"several":         {two, "", "", "", "http://127.0.0.1:8080/ (a, port 80), http://b:81/ (b, port 81)"},
		"published twice": {twice, "http://127.0.0.1:8443/", "a:80", "", ""},
		"the only port":   {twice, "", "a:80", "", ""},
		"another":         {two, "http://127.0.0.1:8081/", "", "", "leads to no service"},
		"an unknown name": {two, "http://d:80/", "", "", "one of the services a, b, c"},
	} {
		d, err := ofCompose(t, c.text, c.address)
		if c.message != "" {
			if err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), "--url") {
				t.Errorf("%s: %v, want it to say %q and --url", name, err, c.message)
			}
			continue
		}
		at := entryPoint{service: d.Entry}
		for _, s := range d.Services {
			if s.Name == d.Entry {
				at.port = s.Port
			}
		}
		if err != nil || "http://"+c.entry+"/" != at.address() || c.url != "" && d.URL != c.url {
			t.Errorf("%s: %v at %s, %v; want %s at %s", name, at, d.URL, err, c.entry, c.url)
		}
	}
}

// TestTheComposeCommandLoadsTheURLThatWasWritten, at the published port.
func TestTheComposeCommandLoadsTheURLThatWasWritten(t *testing.T) {
	for written, want := range map[string]string{"": "http://127.0.0.1:8080/",
		"https://a:80/x%20y": "https://127.0.0.1:8080/x%20y", "grpc://a:80": "grpc://127.0.0.1:8080",
		"http://127.0.0.1:8080/z": "http://127.0.0.1:8080/z"} {
		d, err := parseBeside(projectFolder(t, map[string]string{
			"compose.yaml": `services: {a: {image: a, ports: ["8080:80"]}}`}),
			"name: it\nurl: \""+written+"\"\ncompose: compose.yaml\ndeployment: compose")
		if err != nil || d.URL != want {
			t.Errorf("%q: it is at %s, %v; want %s", written, d.URL, err, want)
		}
	}
}

// TestPortsOfCallsAreFound in environments and commands. The address of an extra host is no port.
func TestPortsOfCallsAreFound(t *testing.T) {
	d, err := ofCompose(t, `services:
  web: {image: web, ports: ["80"], environment: {DB: "db:5432"},
    extra_hosts: ["db:10.9.0.2", "cart:10.9.0.3"]}
  db: {image: db}
  cart: {image: cart}
`, "")
	testset.Must(t, err)
	for name, want := range map[string][]lab.ContainerPort{"db": {{Port: 5432, Target: 5432}}, "cart": nil} {
		if got := serviceIn(d.Services, name).Container.Ports; !slices.Equal(got, want) {
			t.Errorf("%s is called at %+v, want %+v", name, got, want)
		}
	}
}

// TestExposedPortsMayBeRanges: others call a service at each of them.
func TestExposedPortsMayBeRanges(t *testing.T) {
	d, err := ofCompose(t, `services: {a: {image: a, ports: ["80"], expose: ["7-9", 443, "9/tcp"]}}`, "")
	testset.Must(t, err)
	var got []int
	for _, port := range d.Services[0].Container.Ports {
		got = append(got, port.Port)
	}
	if want := []int{7, 8, 9, 443, 80}; !slices.Equal(got, want) {
		t.Errorf("it is called at %v, want %v", got, want)
	}
}

// TestPortsThatAreNotOfTCPAreNamed once, both for compose files and for manifests.
func TestPortsThatAreNotOfTCPAreNamed(t *testing.T) {
	const note = "service dns: port 53/udp gets no load, and on kubernetes no other service reaches it"
	const file = `services: {dns: {image: dns, ports: ["80:80", "53:53/udp"], expose: ["53/udp"]}}`
	d, err := ofCompose(t, file, "")
	if err != nil || !slices.Equal(d.Notes, []string{note}) {
		t.Errorf("a compose file: %q, %v", d.Notes, err)
	}
	path := filepath.Join(t.TempDir(), "dns.yaml")
	const manifests = `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: dns}, spec: {template:
  {metadata: {labels: {app: dns}}, spec: {containers: [{name: dns, image: dns}]}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: dns}, spec: {type: NodePort, selector: {app: dns},
  ports: [{port: 80}, {port: 53, protocol: UDP, name: dns}]}}
`
	testset.Must(t, os.WriteFile(path, []byte(manifests), 0o600))
	if d, err = OfServices(path, ""); err != nil || !slices.Equal(d.Notes, []string{note}) {
		t.Errorf("manifests: %q, %v", d.Notes, err)
	}
	const ingress = "---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: in}, spec: " +
		"{defaultBackend: {service: {name: dns, port: {number: 53}}}}}\n"
	testset.Must(t, os.WriteFile(path, []byte(manifests+ingress), 0o600))
	if _, err = OfServices(path, ""); err == nil ||
		!strings.Contains(err.Error(), "no Service dns has the port 53") {
		t.Errorf("an Ingress to a port of UDP: %v", err)
	}
}

// TestWhatCannotBeAUnitRunsThroughTheCommand, with one message per reason.
func TestWhatCannotBeAUnitRunsThroughTheCommand(t *testing.T) {
	t.Setenv("HOME", "/root")
	for keys, message := range map[string]string{
		"network_mode: host":                       "service a: network_mode",
		"gpus: all":                                "service a: gpus",
		"dns: 8.8.8.8":                             "service a: dns",
		"volumes: [\"kept:/data\"]":                "service a: volumes (kept is external",
		"networks: {app: {aliases: [b]}}":          "service a: networks: b is a name of b, too",
		"environment: {DB: \"10.9.0.2:5432\"}":     "it names the address 10.9.0.2",
		"extra_hosts: [\"db:10.9.0.2\"]":           "it names the address 10.9.0.2",
		"links: [\"b:database\"]":                  "service a: links (b:database",
		"deploy: {resources: {limits: {pids: 5}}}": "service a: deploy.resources.limits (pids",
		"deploy: {replicas: 0}":                    "service a: replicas (0: a unit runs 1 to 20 times",
		"configs: [{source: c, target: /c}]":       "service a: configs (c is no file)",
		"expose: [many]":                           "service a: expose (many is no port)",
		`expose: ["9-7"]`:                          "service a: expose (9-7 ends before it begins: write 7-9)",
		`expose: ["1-1001"]`:                       "service a: expose (with 1-1001 more than 1000 ports: name",
		`expose: [1, "2-500", "501-1001"]`:         "service a: expose (with 501-1001 more than 1000 ports: name",
		"networks: {given: {}}":                    "networks: given is external",
	} {
		text := "services:\n  a: {image: a, " + keys + "}\n  b: {image: b, ports: [\"127.0.0.1:8080:80\"], " +
			"networks: {app: {ipv4_address: 10.9.0.2}}}\nnetworks: {app: {ipam: {config: [{subnet: 10.9.0.0/24}]}}, " +
			"given: {external: true}}\nvolumes: {kept: {external: true}}\nconfigs: {c: {content: x}}"
		d, err := ofCompose(t, text, "")
		if err != nil || d.Kind() != kindCompose || d.Deployment != kindCompose ||
			d.URL != "http://127.0.0.1:8080/" || !strings.Contains(strings.Join(d.Notes, "\n"), message) {
			t.Errorf("%s: %s at %s with %q, %v; want it to say %q", keys, d.Kind(), d.URL, d.Notes, err, message)
		}
		if _, err := d.In([]string{lab.DockerBridge}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s on a bridge: %v, want it to say %q", keys, err, message)
		}
	}
}

// TestManyPorts: a service that publishes too many ports runs through the compose command, at the chosen one.
func TestManyPorts(t *testing.T) {
	const file = `services: {a: {image: a, ports: ["9000-10000:9000-10000"]}, b: {image: b, ports: ["8080:80"]}}`
	const many = "service a: ports (more than 1000 ports: name those that others call)"
	d, err := ofCompose(t, file, "http://127.0.0.1:9500/")
	if err != nil || d.Kind() != kindCompose || !strings.Contains(strings.Join(d.Notes, "\n"), many) {
		t.Errorf("it is %s with %q, %v; want it to say %q", d.Kind(), d.Notes, err, many)
	}
	if d, err := ofCompose(t, file, ""); err == nil {
		t.Errorf("without a URL it is loaded at %s, although two services publish ports", d.URL)
	}
}

// TestAddressesOfAFileGiveWayToNames: services that call each other by name can be units.
func TestAddressesOfAFileGiveWayToNames(t *testing.T) {
	d, err := ofCompose(t, `
services:
  web: {image: nginx, networks: {app: {ipv4_address: 172.28.0.10}}, ports: ["127.0.0.1:8080:80"],
    environment: {OUTSIDE: "172.28.0.100:5432", INSIDE: "1172.28.0.10"}}
networks: {app: {ipam: {config: [{subnet: 172.28.0.0/16}]}}}`, "")
	if err != nil || d.Kind() != kindServices || len(d.Notes) != 1 ||
		d.Notes[0] != "services are found by their names, not at 172.28.0.10" {
		t.Errorf("%s with %q, %v", d.Kind(), d.Notes, err)
	}
}

// TestPowerOverThisHostIsNamed, for units and for the compose command.
func TestPowerOverThisHostIsNamed(t *testing.T) {
	for keys, message := range map[string]string{
		"privileged: true":                       "service a: is privileged",
		"pid: host":                              "shares a namespace of this host (pid: host)",
		"network_mode: host":                     "shares a namespace of this host (network_mode: host)",
		"cap_add: [SYS_ADMIN]":                   "has the capabilities SYS_ADMIN",
		"security_opt: [\"seccomp:unconfined\"]": "has the security option seccomp:unconfined",
		"volumes: [\"/var/run/docker.sock:/s\"]": "mounts Docker's socket",
		"volumes: [\"/etc:/host\"]":              "mounts /etc, which is outside of the project's folder",
		"volumes: [\"../..:/host\"]":             "which is outside of the project's folder",
		"volumes: [\"here:/host\"]":              "mounts /usr, which is outside",
		"devices: [/dev/fuse]":                   "has devices",
		"volumes: [\"./a:/a\"]":                  "",
	} {
		text := "services: {a: {image: a, ports: [\"8080:80\"], " + keys +
			"}}\nvolumes: {here: {driver_opts: {type: none, o: bind, device: /usr}}}"
		d, err := ofCompose(t, text, "")
		if risks := strings.Join(d.Risks, "\n"); !strings.Contains(risks, message) || message == "" && risks != "" {
			t.Errorf("%s: %q (%v), want %q", keys, risks, err, message)
		}
	}
}

// TestABuiltServiceSaysHowItsImageComes, without secrets: the plan shows the command.
func TestABuiltServiceSaysHowItsImageComes(t *testing.T) {
	d, err := ofCompose(t, `
name: shop
services: {cart: {build: {context: ./cart, target: slim, args: {V: "a b"}}, ports: ["80"]}}`, "")
	if err != nil || len(d.Services) != 1 || len(d.Builds) != 1 ||
		!slices.Contains(d.Builds[0].Command, "V=a b") {
		t.Fatalf("%+v, %v", d, err)
	}
	s := d.Services[0]
	if s.Image != "shop-cart" || !strings.HasPrefix(s.Install, "docker build --tag shop-cart --target slim "+
		"--build-arg 'V=a b' /") || !strings.HasSuffix(s.Install, "/cart") {
		t.Errorf("the image is %q, from %q", s.Image, s.Install)
	}
	for _, build := range []string{`{context: ., args: {NPM_TOKEN: "from-the-file"}}`,
		`{context: "https://me:from-the-file@example.org/cart.git"}`} {
		d, err := ofCompose(t, `services: {cart: {build: `+build+`, ports: ["80"]}}`, "")
		testset.Must(t, err)
		layoutOf(t, d) // its plan has no password
		if len(d.Builds) != 1 {
			t.Errorf("%s: it is built by %v", build, d.Builds)
		}
	}
	for context, want := range map[string]string{"https://example.org/cart.git": "slim.Dockerfile",
		"/srv/cart": "/srv/cart/slim.Dockerfile"} {
		d, err := ofCompose(t, `services: {cart: {build: {context: "`+context+`", dockerfile: slim.Dockerfile}, `+
			`ports: ["80"]}}`, "")
		testset.Must(t, err)
		if command := d.Builds[0].Command; !slices.Contains(command, want) {
			t.Errorf("%s is built by %q, want %s", context, command, want)
		}
	}
	for _, key := range []string{"network: host", "extra_hosts: [\"npm:10.0.0.1\"]", "shm_size: 1g"} {
		d, err := ofCompose(t, `services: {cart: {build: {context: ., `+key+`}, ports: ["80"]}}`, "")
		testset.Must(t, err)
		if command := d.Builds[0].Command; !slices.Contains(command, "compose") {
			t.Errorf("with %s it is built by %q, which leaves that out", key, command)
		}
	}
	path := projectFolder(t, map[string]string{"compose.yaml": `
services: {cart: {build: {context: ., args: {NPM_TOKEN: "${TOKEN}"}}, ports: ["80"]}}`})
	d, err = parseBeside(path, "name: shop\ncompose: compose.yaml\nenv: {TOKEN: from-the-system-file}\n")
	testset.Must(t, err)
	all, err := d.In(nil)
	if err != nil || len(all[0].Builds) != 1 ||
		!slices.Contains(all[0].Builds[0].Env, "TOKEN=from-the-system-file") {
		t.Errorf("the command that builds lacks the variable that the system file sets: %v", err)
	}
}

// TestServicesStartAgainAsTheirFileSays: deploy.restart_policy overrides restart.
func TestServicesStartAgainAsTheirFileSays(t *testing.T) {
	path := projectFolder(t, map[string]string{"compose.yaml": `
name: shop
services:
  web: {image: web, ports: ["80"]}
  no: {image: a, restart: "no"}
  always: {image: a, restart: always}
  failure: {image: a, restart: "on-failure:3"}
  none: {image: a, restart: always, deploy: {restart_policy: {condition: none}}}
  any: {image: a, deploy: {restart_policy: {condition: any}}}
`})
	d, err := OfServices(path, "")
	testset.Must(t, err)
	units, _ := layoutOf(t, d)
	for name, want := range map[string]bool{"web": false, "no": false, "always": true, "failure": true,
		"none": false, "any": true} {
		if units[name].Restarts != want {
			t.Errorf("%s starts again: %t, want %t", name, !want, want)
		}
	}
}

// TestLinesOfUsersFilesAreCounted, including those of files that a compose file includes, and those of
// manifests.
func TestLinesOfUsersFilesAreCounted(t *testing.T) {
	files := map[string]string{
		"compose.yaml": "# a shop\ninclude: [db.yaml]\n\nservices:\n  web:\n    image: web:1\n    " +
			"ports: [\"80\"]\n",
		"db.yaml": "services:\n  db:\n    image: db:1\n",
	}
	d, err := OfServices(projectFolder(t, files), "")
	testset.Must(t, err)
	if d.FileLines != 6 { // services, and three lines of web and two of db
		t.Errorf("the compose file has %d lines, want 6", d.FileLines)
	}
	if got := linesOf("# why\n---\nkind: Service\n\n  - a\n"); got != 2 {
		t.Errorf("there are %d lines, want 2", got)
	}
}
