package external

import (
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// changeable is a compose file for tests of changes.
const changeable = `
name: shop
services:
  web: {image: web, ports: ["80"], depends_on: [cart, ads], environment: {MODE: slow, OLD: "1"}}
  cart: {image: "cart:1", deploy: {resources: {limits: {cpus: "2", memory: 64M}}}}
  ads: {image: ads}
`

// expectChanged checks a system with the changes that the tests make in a file or on the command line.
func expectChanged(t *testing.T, d Definition, name string) {
	t.Helper()
	units, names := layoutOf(t, d)
	if want := []string{"cart", "cart-2", "web", "generator"}; !slices.Equal(names, want) || d.Name != name {
		t.Errorf("%s has the units %q, want %s with %q", d.Name, names, name, want)
	}
	cart, web := units["cart-2"], units["web"]
	if cart.Image != "cart:new" || cart.Limits != (lab.Limits{CPU: 0.5, Memory: 256 << 20}) {
		t.Errorf("cart is %s with %v", cart.Image, cart.Limits)
	}
	if !slices.Contains(web.Container.Env, "MODE=fast") || slices.Contains(web.Container.Env, "MODE=slow") ||
		!slices.Equal(web.After, []string{"cart"}) {
		t.Errorf("web has %q after %q", web.Container.Env, web.After)
	}
}

func TestServicesAreChanged(t *testing.T) {
	path := projectFolder(t, map[string]string{"compose.yaml": changeable})
	d, err := OfServices(path, "")
	testset.Must(t, err)
	if err := d.Change("", []string{"cart.cpu=0.5"}); err != nil || d.Name != "shop-cart.cpu-0.5" {
		t.Errorf("it is called %s, %v", d.Name, err)
	}
	for word, name := range map[string]string{"web.env.DB_PASSWORD=hidden": "shop-web.env.db-password",
		"web.env.DB=pg://me:hidden@db/x": "shop-web.env.db", "web.env.MODE=fast": "shop-web.env.mode-fast"} {
		d.Name = "shop"
		if err := d.Change("", []string{word}); err != nil || d.Name != name {
			t.Errorf("with %s it is called %s, %v; want %s", word, d.Name, err, name)
		}
	}
	d, err = OfServices(path, "")
	testset.Must(t, err)
	words := []string{"cart.replicas=2", "cart.cpu=0.5", "cart.memory=256Mi", "cart.image=cart:new",
		"web.env.MODE=fast", "ads=null"}
	typed := d
	testset.Must(t, typed.Change("", words))
	expectChanged(t, typed, "shop-changed")
	testset.Must(t, d.Change("new", words))
	expectChanged(t, d, "new")
	written, err := parseBeside(path, `
name: written
compose: compose.yaml
change:
  cart: {image: "cart:new", replicas: 2, cpu: 0.5, memory: 256Mi}
  web: {env: {MODE: fast, OLD: null}}
  ads: null
`)
	testset.Must(t, err)
	expectChanged(t, written, "written")
	if units, _ := layoutOf(t, written); len(units["web"].Container.Env) != 1 {
		t.Errorf("web has %q, want MODE alone", units["web"].Container.Env)
	}
}

// TestNamesInChangesMayHaveDots: those of services and of variables.
func TestNamesInChangesMayHaveDots(t *testing.T) {
	d, err := ofCompose(t, `
services: {web.v1: {image: web, ports: ["80"]}, web.v2: {image: web}, web: {image: web}}`, "")
	if err == nil {
		err = d.Change("", []string{"web.v1.replicas=2", "web.v1.env.app.mode=fast", "web.v2=null",
			"web.env.cpu=1"})
	}
	if err != nil || !slices.Equal(d.Units(), []string{"web", "web.v1"}) || d.Replicas["web.v1"] != 2 ||
		!slices.Equal(d.Services[1].Container.Env, []string{"app.mode=fast"}) ||
		!slices.Equal(d.Services[0].Container.Env, []string{"cpu=1"}) {
		t.Errorf("%+v with %v replicas, %v", d.Services, d.Replicas, err)
	}
}

// TestRemovedServicesHaveNoFindings: neither notes, nor the reasons why they cannot be units. Their images
// are built only if other services need them.
func TestRemovedServicesHaveNoFindings(t *testing.T) {
	// With unsupported services the compose command runs the file: it needs a port of this host.
	changeable := strings.Replace(changeable, `["80"]`, `["8080:80"]`, 1)
	path := projectFolder(t, map[string]string{"compose.yaml": changeable + `
  ads-cache: {image: cache, ports: ["53/udp"], cap_add: [SYS_ADMIN], devices: ["/dev/x:/dev/x"]}
  dns: {image: dns, ports: ["53/udp"], cap_add: [NET_ADMIN]}
  gone: {image: gone, build: .}
  other: {image: other, build: .}
  shared: {image: shared, build: .}
  sharing: {image: shared, build: .}
`})
	d, err := OfServices(path, "")
	if err == nil {
		err = d.Change("", []string{"ads-cache=null", "gone=null", "other.image=another", "shared=null"})
	}
	testset.Must(t, err)
	if d.Compose != nil || len(d.Notes) != 1 || !strings.HasPrefix(d.Notes[0], "service dns: ") ||
		len(d.Risks) != 1 || !strings.HasPrefix(d.Risks[0], "service dns: ") {
		t.Errorf("with the notes %q and the risks %q, want one of dns each", d.Notes, d.Risks)
	}
	if len(d.Builds) != 1 || !slices.Contains(d.Builds[0].Command, "shared") {
		t.Errorf("it builds %v, want the image that a service has", d.Builds)
	}
}

// TestServicesThatRemovedOnesAwaitKeepTheirMarks: Finishes and Healthy, which come from the conditions of the
// removed service. Without Finishes, the end of migrate would be a failure.
func TestServicesThatRemovedOnesAwaitKeepTheirMarks(t *testing.T) {
	d, err := ofCompose(t, `
services:
  web: {image: web, depends_on: {migrate: {condition: service_completed_successfully},
    db: {condition: service_healthy}}}
  api: {image: api, ports: ["80"], depends_on: [migrate, web]}
  migrate: {image: migrate}
  db: {image: db}
`, "")
	if err == nil {
		err = d.Change("", []string{"web=null"})
	}
	testset.Must(t, err)
	api := d.Services[0]
	db := d.Services[1]
	migrate := d.Services[2]
	if !migrate.Finishes || !db.Healthy || !slices.Equal(api.After, []string{"migrate"}) {
		t.Errorf("migrate finishes: %t, db is healthy: %t, api starts after %q", migrate.Finishes, db.Healthy,
			api.After)
	}
}

// TestRemovedServicesAreNotRead: nothing that only concerns them keeps the others from being units.
func TestRemovedServicesAreNotRead(t *testing.T) {
	path := projectFolder(t, map[string]string{"compose.yaml": `
services:
  web: {image: web, ports: ["8080:80"], depends_on: [db], networks: {default: {aliases: [www]}}}
  proxy: {image: proxy, networks: {default: {aliases: [www]}, given: {}}}
  db: {image: db, network_mode: host}
networks: {given: {external: true}}
`})
	d, err := OfServices(path, "")
	if err == nil {
		err = d.Change("", []string{"proxy=null", "db=null"})
	}
	if err != nil || !slices.Equal(d.Units(), []string{"web"}) || len(d.Services[0].After)+len(d.Notes) > 0 {
		t.Errorf("a compose file has the units %+v and the notes %q, %v", d.Services, d.Notes, err)
	}
	workload := func(kind, name, more, containers string) string {
		return "---\napiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + more +
			"template: {metadata: {labels: {app: " + name + "}}, spec: {containers: " + containers + "}}}\n" +
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + "}\nspec: {type: NodePort, " +
			"selector: {app: " + name + "}, ports: [{port: 80}]}\n"
	}
	const ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: in}\n" +
		"spec: {rules: [{http: {paths: [{backend: {service: {name: pair, port: {number: 80}}}}, " +
		"{backend: {service: {name: web, port: {number: 80}}}}]}}]}\n"
	folder := manifestFolder(t, ingress, workload("Deployment", "web", "", "[{name: web, image: web}]"),
		workload("Deployment", "pair", "", "[{name: a, image: a}, {name: b, image: b}]"),
		workload("StatefulSet", "db", "replicas: 2, ", "[{name: db, image: -x}]"))
	for name, changes := range map[string]map[string]*change{"by workload": {"pair": nil, "db": nil},
		"by unit": {"pair": nil, "db-0": nil, "db-1": nil}} {
		d := Definition{Name: "shop", manifests: folder, changes: changes}
		if err := d.resolve(); err != nil || !slices.Equal(d.Units(), []string{"web"}) || d.Entry != "web" {
			t.Errorf("%s: manifests have the units %q, entered at %q, %v", name, d.Units(), d.Entry, err)
		}
	}
}

func TestChangesThatCannotBeAreRefused(t *testing.T) {
	path := projectFolder(t, map[string]string{"compose.yaml": changeable,
		"newer.yaml": `services: {cart: {image: cart, ports: ["8080:80"], key_of_tomorrow: 1}}`})
	for word, message := range map[string]string{
		"cat.replicas=2": "there is no service cat", "cart.replicas=two": "is none of: SERVICE.replicas=2",
		"cart.replicas=21": "expected 1 to 20", "cart.cpu=-1": "expected a number of processors",
		"cart.memory=much": "expected a size such as 256Mi", "cart.speed=2": "is none of", "cart": "is none of",
		"cart.image=-x": "expected a name such as", "web=null": "no port is published",
		"cart.replicas=0": "expected 1 to 20", "cart.cpu=0": "expected a number of processors",
		"cart.cpu=Inf": "expected a number of processors", "cart.cpu=NaN": "expected a number of processors",
		"cart.memory=9EiB": "expected a size such as 256Mi", "cart.memory=0": "expected a size such as 256Mi",
		"cart.env.=x": "is none of", "=null": "is none of",
		"cart.memory=": "expected a size such as 256Mi", "cart.image=": "expected a name such as",
	} {
		d, err := OfServices(path, "")
		testset.Must(t, err)
		if err := d.Change("", []string{word}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want it to say %q", word, err, message)
		}
	}
	d, err := OfServices(path, "")
	testset.Must(t, err)
	if err := d.Change("A B", []string{"cart.cpu=1"}); err == nil ||
		!strings.Contains(err.Error(), `system A B: name is "A B"`) {
		t.Errorf("a name with a blank: %v", err)
	}
	for text, message := range map[string]string{
		"compose: compose.yaml\nchange: {cart: {speed: 2}}":                    "unknown field",
		"url: http://127.0.0.1:1/\nchange: {cart: null}":                       "there is no compose",
		"compose: compose.yaml\nchange: {cart: {cpu: 1}}\ndeployment: compose": "cannot be changed by service",
		"compose: newer.yaml\nurl: http://127.0.0.1:8080/\ndeployment: compose\n" +
			"change: {cart: {cpu: 1}}": "cannot be changed by service",
		"compose: compose.yaml\nchange: {cart: {env: {A: 1}}}":    "names with texts",
		"compose: compose.yaml\nchange: {cart: {env: {\"\": x}}}": `env has the name ""`,
		"compose: compose.yaml\nchange: {cart: {env: {A=B: x}}}":  `env has the name "A=B"`,
		"compose: compose.yaml\nchange: {cart: {replicas: 0}}":    "expected 1 to 20",
	} {
		_, err := parseBeside(path, "name: x\n"+text)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want it to say %q", text, err, message)
		}
	}
}
