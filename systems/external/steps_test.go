package external

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// ends reads two compose files in their default deployments.
func ends(t *testing.T, from, to string) (a, b []Definition) {
	t.Helper()
	first, err := ofCompose(t, "name: a\nservices:\n"+from, "")
	testset.Must(t, err)
	second, err := ofCompose(t, "name: b\nservices:\n"+to, "")
	testset.Must(t, err)
	return []Definition{first}, []Definition{second}
}

// changesOfOrders returns the names of the changes of each order.
func changesOfOrders(steps []lab.PathStep) (orders [2][]string) {
	for _, s := range steps {
		orders[s.Order-1] = append(orders[s.Order-1], s.Knob())
	}
	return orders
}

// TestSystemsOfAPathHaveTheChangesBeforeThem, and no others.
func TestSystemsOfAPathHaveTheChangesBeforeThem(t *testing.T) {
	a, b := ends(t, `
  web: {image: "web:1", ports: ["80"], environment: {MODE: slow}, depends_on: [cart, ads]}
  cart: {image: "cart:1", cpus: 1}
  ads: {image: ads}
`, `
  web: {image: "web:1", ports: ["80"], environment: {MODE: fast}, depends_on: [cart, mail]}
  cart: {image: "cart:2", deploy: {replicas: 2, resources: {limits: {cpus: "0.5"}}}}
  mail: {image: mail, deploy: {replicas: 2}}
`)
	systems, steps, err := Steps(a, b, []string{"ads", "cart.image"}, true)
	testset.Must(t, err)
	want := [2][]string{{"ads", "cart.image", "cart.replicas", "cart.limits", "mail", "web.env"},
		{"web.env", "mail", "cart.limits", "cart.replicas", "cart.image", "ads"}}
	if got := changesOfOrders(steps); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the orders are %v, want %v", got, want)
	}
	var described []string
	for _, d := range systems {
		units, names := layoutOf(t, d)
		cart, web := units["cart"], units["web"]
		described = append(described, fmt.Sprintf("%s: %s; %s %g %s after %s", d.Name,
			strings.Join(names[:len(names)-1], " "), cart.Image, cart.Limits.CPU, web.Container.Env[0],
			strings.Join(web.After, " ")))
	}
	wanted := []string{
		"a: ads cart web; cart:1 1 MODE=slow after ads cart",
		"1-ads: cart web; cart:1 1 MODE=slow after cart",
		"2-cart.image: cart web; cart:2 1 MODE=slow after cart",
		"3-cart.replicas: cart cart-2 web; cart:2 1 MODE=slow after cart",
		"4-cart.limits: cart cart-2 web; cart:2 0.5 MODE=slow after cart",
		"5-mail: cart cart-2 web mail mail-2; cart:2 0.5 MODE=slow after cart mail",
		"b: cart cart-2 mail mail-2 web; cart:2 0.5 MODE=fast after cart mail",
		"back-1-web.env: ads cart web; cart:1 1 MODE=fast after ads cart",
		"back-2-mail: ads cart web mail mail-2; cart:1 1 MODE=fast after ads cart mail",
		"back-3-cart.limits: ads cart web mail mail-2; cart:1 0.5 MODE=fast after ads cart mail",
		"back-4-cart.replicas: ads cart cart-2 web mail mail-2; cart:1 0.5 MODE=fast after ads cart mail",
		"back-5-cart.image: ads cart cart-2 web mail mail-2; cart:2 0.5 MODE=fast after ads cart mail",
	}
	if !slices.Equal(described, wanted) {
		t.Errorf("the systems are\n%s\nwant\n%s", strings.Join(described, "\n"), strings.Join(wanted, "\n"))
	}
}

// TestChangesWaitForWhatTheyNeed in any wanted order.
func TestChangesWaitForWhatTheyNeed(t *testing.T) {
	a, b := ends(t, `
  old: {image: old, ports: ["80"], depends_on: [x]}
  x: {image: x, depends_on: [y]}
  y: {image: y}
`, `
  new: {image: new, ports: ["81"]}
  x: {image: x}
  y: {image: y, depends_on: [x], user: "7"}
`)
	for order, want := range map[string][]string{
		"old entry-point new": {"new", "entry-point", "old", "x.depends_on", "y.depends_on+user"},
		"y.depends_on+user":   {"new", "x.depends_on", "y.depends_on+user", "entry-point", "old"},
	} {
		_, steps, err := Steps(a, b, strings.Fields(order), false)
		if got := changesOfOrders(steps)[0]; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s leads by %v, want %v (%v)", order, got, want, err)
		}
	}
	if _, _, err := Steps(a, b, []string{"old", "old"}, false); err == nil || !strings.Contains(err.Error(),
		`names "old" twice`) {
		t.Errorf("twice the same change: %v", err)
	}
}

// TestSystemsOfAPathHaveThePortOfTheirEntryPoint, and restart as their files say.
func TestSystemsOfAPathHaveThePortOfTheirEntryPoint(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, first, entry string
		changes                []string
		restarts               bool
	}{
		"same service": {`
  web: {image: web, ports: ["80"], environment: {MODE: slow}}
`, `
  web: {image: web, ports: ["81"], environment: {MODE: fast}, restart: always}
`, "web.ports+restarts", "web", []string{"web.ports+restarts", "web.env"}, true},
		"another service": {`
  web: {image: web, ports: ["80"]}
  api: {image: api}
`, `
  web: {image: web}
  api: {image: api, ports: ["81"]}
`, "entry-point", "api", []string{"entry-point", "api.ports", "web.ports"}, false},
	} {
		a, b := ends(t, c.from, c.to)
		systems, steps, err := Steps(a, b, []string{c.first}, false)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := changesOfOrders(steps)[0]; !slices.Equal(got, c.changes) {
			t.Errorf("%s: the changes are %v, want %v", name, got, c.changes)
		}
		entry := serviceIn(systems[1].Services, c.entry)
		if systems[1].Entry != c.entry || entry.Port != 81 || entry.Restarts != c.restarts {
			t.Errorf("%s: after %s the entry point is %s: %+v", name, c.first, systems[1].Entry, entry)
		}
	}
}

// TestServicesThatAreNoEntryPointHaveTheirOwnPorts: the former entry point, whose URL selected its second
// port, and a service that publishes nothing any more.
func TestServicesThatAreNoEntryPointHaveTheirOwnPorts(t *testing.T) {
	first, err := ofCompose(t, `
services:
  web: {image: web, ports: ["80", "81"]}
  api: {image: api, ports: ["82"]}
  mail: {image: mail, ports: ["90"]}
  old: {image: old}
`, "http://web:81/")
	testset.Must(t, err)
	second, err := ofCompose(t, `
services:
  web: {image: web, ports: ["80", "81"]}
  api: {image: api, ports: ["82"]}
  mail: {image: mail}
`, "http://api:82/")
	testset.Must(t, err)
	systems, steps, err := Steps([]Definition{first}, []Definition{second}, nil, false)
	testset.Must(t, err)
	if got := changesOfOrders(steps)[0]; !slices.Equal(got, []string{"mail.ports", "entry-point", "old"}) {
		t.Fatalf("the changes are %v", got)
	}
	for i, want := range []string{"81 82 90", "81 82 0", "80 82 0", "80 82 0"} {
		in := systems[i].Services
		got := fmt.Sprint(serviceIn(in, "web").Port, " ", serviceIn(in, "api").Port, " ",
			serviceIn(in, "mail").Port)
		if got != want {
			t.Errorf("in %s web, api and mail have the ports %s, want %s", systems[i].Name, got, want)
		}
	}
}

func TestAnotherPathOfTheEntryPointIsAChange(t *testing.T) {
	const text = "services: {web: {image: web, ports: [80]}}"
	at := func(address string) []Definition {
		d, err := ofCompose(t, text, address)
		testset.Must(t, err)
		return []Definition{d}
	}
	if _, _, err := Steps(at("http://web:80"), at("http://web:80/"), nil, false); err == nil {
		t.Error("a slash at the end is a change")
	}
	_, steps, err := Steps(at("http://web:80/"), at("http://web:80/v2"), nil, false)
	testset.Must(t, err)
	if want := []lab.KnobChange{{Knob: "entry-point", From: "http://127.0.0.1:{port}/",
		To: "http://127.0.0.1:{port}/v2"}}; len(steps) != 1 || !slices.Equal(steps[0].Changes, want) {
		t.Errorf("the steps are %+v, want %+v", steps, want)
	}
}

// TestWhatCannotRunTwiceSaysWhy: it keeps data or has a static address, and its file has no replicas of it.
func TestWhatCannotRunTwiceSaysWhy(t *testing.T) {
	path := projectFolder(t, map[string]string{"conf": "", "compose.yaml": `
services:
  web: {image: web, ports: ["80"], volumes: ["./conf:/conf", ".:/code:ro"], tmpfs: [/tmp]}
  db: {image: db, volumes: ["data:/data"]}
  files: {image: files, volumes: ["./kept:/kept"]}
  fixed: {image: fixed, networks: {back: {ipv4_address: 10.9.0.2}}}
  many: {image: many, volumes: ["data:/data"], deploy: {replicas: 2}}
networks: {back: {ipam: {config: [{subnet: 10.9.0.0/24}]}}}
volumes: {data: {}}
`})
	d, err := OfServices(path, "")
	testset.Must(t, err)
	want := map[string]string{"db": "keeps data in a volume at /data",
		"fixed": "has an address of its own, 10.9.0.2",
		"files": "writes into the folder " + strings.TrimSuffix(path, "compose.yaml") + "kept of this host"}
	if got := d.Single(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("these cannot: %v, want %v", got, want)
	}
}
