package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
)

// project holds the services of a compose file, or of manifests, as units.
type project struct {
	name     string
	services []lab.SystemService
	replicas map[string]int
	limits   map[string]lab.Limits
	ways     []wayIn           // that the file publishes
	fixed    map[string]string // addresses that the file gives to services, by their names
	// cannot is what keeps services from being units, risks is what gives them power over this host, and
	// notes is what is otherwise than with docker compose: one line each.
	cannot, risks, notes []string
	builds               map[string]Build // of images, by their names
	// Of manifests: served are the ways in by Service and port, and secrets the values of Secrets.
	served  map[string]wayIn
	secrets []string
}

// wayIn is a TCP port of a service, and the one of this host that the file publishes for it; "": Docker
// chooses.
type wayIn struct {
	service   string
	port      int
	published string
}

// address returns what leads to the way in as the url of a system file.
func (w wayIn) address() string {
	if w.published != "" {
		return "http://127.0.0.1:" + w.published + "/"
	}
	return "http://" + w.service + ":" + strconv.Itoa(w.port) + "/"
}

// readProject reads a compose file as docker compose does: with an environment and that of Cleave, and the
// .env beside it.
func readProject(path string, env map[string]string, envFile string) (*project, error) {
	if _, err := inputfile.Read(path, maxFile); err != nil {
		return nil, err
	}
	own := System{Secrets: secret.NewVault(os.LookupEnv)}
	environment, err := own.environment(&lab.ExternalSystem{Env: env, EnvFile: envFile})
	if err != nil {
		return nil, err
	}
	options, err := cli.NewProjectOptions([]string{path}, cli.WithEnv(environment), cli.WithOsEnv,
		cli.WithEnvFiles(), cli.WithDotEnv, cli.WithDefaultProfiles())
	if err != nil {
		return nil, err
	}
	file, err := options.LoadProject(context.Background())
	if err != nil {
		return nil, err
	}
	if len(file.Services) == 0 {
		return nil, errors.New("it has no services (COMPOSE_PROFILES chooses those of profiles)")
	}
	p := &project{name: strings.ReplaceAll(file.Name, "_", "-"), replicas: map[string]int{},
		limits: map[string]lab.Limits{}, fixed: map[string]string{}, builds: map[string]Build{}}
	for _, name := range file.ServiceNames() {
		if err := checkServiceName(name); err != nil {
			return nil, err
		}
		s := serviceReader{project: p, file: file, ServiceConfig: file.Services[name]}
		s.read()
		p.services = append(p.services, s.unit)
	}
	p.awaitOthers(file)
	p.joinNetworks(file)
	return p, nil
}

// checkServiceName refuses names that mean something else.
func checkServiceName(name string) error {
	if slices.Contains([]string{lab.RoleGenerator, lab.AllUnits, lab.EveryUnit}, name) {
		return fmt.Errorf("its service %s has a name that means something else here: give it another one", name)
	}
	return nil
}

// awaitOthers has services be healthy, or finish, where others wait for that.
func (p *project) awaitOthers(file *types.Project) {
	for i := range p.services {
		unit := &p.services[i]
		for _, other := range file.Services {
			switch dependency := other.DependsOn[unit.Name]; dependency.Condition {
			case types.ServiceConditionHealthy:
				unit.Healthy = true
			case types.ServiceConditionCompletedSuccessfully:
				unit.Finishes = true
			}
		}
		unit.After = slices.DeleteFunc(unit.After, func(name string) bool {
			_, there := file.Services[name]
			return !there
		})
	}
}

// joinNetworks has all services in one network, in which they are found by their names. Where a name stands
// for several services, or an address is written out, they are no units.
func (p *project) joinNetworks(file *types.Project) {
	owner := map[string]string{}
	for _, unit := range p.services {
		owner[unit.Name] = unit.Name
	}
	var joined, addresses []string
	for _, name := range file.ServiceNames() {
		s := file.Services[name]
		for _, network := range slices.Sorted(maps.Keys(s.Networks)) {
			if !slices.Contains(joined, network) {
				joined = append(joined, network)
			}
			if at := s.Networks[network]; at != nil && at.Ipv4Address+at.Ipv6Address != "" {
				fixed := strings.Fields(at.Ipv4Address + " " + at.Ipv6Address)
				addresses, p.fixed[name] = append(addresses, fixed...), fixed[0]
			}
		}
	}
	for _, unit := range p.services {
		for _, alias := range unit.Container.Names {
			if other, taken := owner[alias]; taken && other != unit.Name {
				p.cannot = append(p.cannot, fmt.Sprintf("service %s: networks: %s is a name of %s, too, and all share "+
					"one network", unit.Name, alias, other))
			}
			owner[alias] = unit.Name
		}
		told := toldOf(unit)
		for _, address := range addresses {
			if strings.Contains(told, address) {
				p.cannot = append(p.cannot, fmt.Sprintf("service %s: environment or command: it names the address %s: "+
					"name the service instead", unit.Name, address))
			}
		}
	}
	slices.Sort(joined)
	for _, name := range joined {
		if file.Networks[name].External {
			p.cannot = append(p.cannot, fmt.Sprintf("networks: %s is external", name))
		}
	}
	if len(joined) > 1 {
		p.notes = append(p.notes, "all services share one network in place of "+strings.Join(joined, ", "))
	}
	if len(addresses) > 0 {
		p.notes = append(p.notes, "services are found by their names, not at "+strings.Join(addresses, ", "))
	}
}

// toldOf returns all that a service is told.
func toldOf(unit lab.SystemService) string {
	c := unit.Container
	return strings.Join(slices.Concat(c.Env, c.Command, c.Entrypoint, c.Hosts), " ")
}

// findCalls notes the ports at which services are told to call others by name: NAME:PORT.
func (p *project) findCalls() {
	for i := range p.services {
		unit := &p.services[i]
		for _, name := range append([]string{unit.Name}, unit.Container.Names...) {
			call := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(name) + `:([0-9]{1,5})\b`)
			for _, other := range p.services {
				for _, found := range call.FindAllStringSubmatch(toldOf(other), -1) {
					if port, _ := strconv.Atoi(found[1]); port > 0 && port <= maxPort {
						callAt(unit, port, port)
					}
				}
			}
		}
	}
}

// enter returns the way in that a url names: by a port of this host that the file publishes, or by the name
// of a service and its port; "": the only one that is published. The error says what to type.
func (p *project) enter(address string) (wayIn, error) {
	if address == "" {
		elsewhere := func(w wayIn) bool { return w.service != p.ways[0].service || w.port != p.ways[0].port }
		if len(p.ways) == 0 || slices.ContainsFunc(p.ways, elsewhere) {
			return wayIn{}, p.choices("")
		}
		return p.ways[0], nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return wayIn{}, fmt.Errorf("url: %w", err)
	}
	if onHost, isLoopback := loopback(u); isLoopback {
		for _, way := range p.ways {
			if strings.HasSuffix(onHost, ":"+way.published) {
				return way, nil
			}
		}
		return wayIn{}, p.choices(address)
	}
	if way, served := p.served[u.Host]; served {
		return way, nil
	}
	port, err := strconv.Atoi(u.Port())
	for _, way := range p.ways {
		if way.service == u.Hostname() && way.port == port {
			return way, nil
		}
	}
	if serviceIn(p.services, u.Hostname()) == nil || err != nil || port < 1 || port > maxPort {
		return wayIn{}, p.choices(address)
	}
	return wayIn{service: u.Hostname(), port: port}, nil
}

// choices says which ways in there are, and how one is chosen.
func (p *project) choices(address string) error {
	var all, names []string
	for _, way := range p.ways {
		all = append(all, fmt.Sprintf("%s (%s, port %d)", way.address(), way.service, way.port))
	}
	for _, s := range p.services {
		names = append(names, s.Name)
	}
	what := "no port is published"
	if len(all) > 0 {
		what = "these ports are published: " + strings.Join(all, ", ")
	}
	if address != "" {
		what = fmt.Sprintf("url %s leads to no service: %s", address, what)
	}
	return fmt.Errorf("%s; choose what is loaded with --url, or url in a system file: http://SERVICE:PORT/ "+
		"with one of the services %s", what, strings.Join(names, ", "))
}

// urlAt returns the URL of the system at a port of this host. Scheme, path and query are those that were
// written.
func (d *Definition) urlAt(port string) string {
	scheme, rest, written := strings.Cut(d.URL, "://")
	if !written {
		scheme, rest = "http", "/"
	}
	path := ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		path = rest[i:]
	}
	return scheme + "://127.0.0.1:" + port + path
}

// enterAt makes the definition a system of services with a way in.
func (d *Definition) enterAt(way wayIn) {
	d.Services, d.Entry = slices.Clone(d.project.services), way.service
	serviceIn(d.Services, way.service).Port = way.port
	d.URL = d.urlAt(portMark)
	d.Replicas, d.Limits = d.project.replicas, d.project.limits
}

// IsCompose reports whether the system is described by a compose file.
func (d *Definition) IsCompose() bool { return d.composeFile != "" }

// HasUnits reports whether services that a file describes are the units of the system, or could be.
func (d *Definition) HasUnits() bool { return d.composeFile != "" || d.manifests != "" }

// resolveManifests reads the manifests of the system: their workloads become services that are units.
func (d *Definition) resolveManifests() (err error) {
	if d.project == nil {
		if d.project, err = readWorkloads(d.manifests); err != nil {
			return fmt.Errorf("manifests: %w", err)
		}
		if err := d.project.change(d.changes); err != nil {
			return err
		}
	}
	d.URL, d.Risks, d.Notes = d.writtenURL, d.project.risks, d.project.notes
	if len(d.project.cannot) > 0 {
		return fmt.Errorf("manifests: not all can be units: %s", strings.Join(d.project.cannot, "; "))
	}
	way, err := d.project.enter(d.URL)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	d.enterAt(way)
	return nil
}

// resolve fills in what the definition takes from the compose file or the manifests of the system, if any.
func (d *Definition) resolve() (err error) {
	switch {
	case d.manifests != "":
		err = d.resolveManifests()
	case d.composeFile != "":
		err = d.resolveCompose()
	}
	if err == nil {
		d.FileLines, err = d.fileLines()
	}
	return err
}

// resolveCompose reads the compose file of the system. Its services become units, or containers of the
// compose command, if the deployment says so or some service cannot be a unit.
func (d *Definition) resolveCompose() error {
	d.URL, d.Services, d.Entry, d.Compose = d.writtenURL, nil, "", nil
	d.Replicas, d.Limits, d.Notes, d.Risks, d.Builds = nil, nil, nil, nil, nil
	if d.project == nil {
		var err error
		d.project, err = readProject(d.composeFile, d.Env, d.EnvFile)
		if err != nil && d.Deployment != kindCompose {
			return fmt.Errorf("compose: %w", err)
		}
		if err == nil {
			if err := d.project.change(d.changes); err != nil {
				return err
			}
			d.project.findCalls()
		}
	}
	p := d.project
	if p == nil { // the compose command may read what we cannot
		return d.byCommand()
	}
	d.Risks = p.risks
	switch why := strings.Join(p.cannot, "; "); {
	case len(d.changes) > 0 && (why != "" || d.Deployment == kindCompose):
		return fmt.Errorf("compose: what the compose command runs cannot be changed by service: write a second "+
			"file (%s)", cmp.Or(why, "--compose-command"))
	case d.Deployment == kindCompose:
		return d.byCommand()
	case why == "":
		way, err := p.enter(d.URL)
		if err != nil {
			return fmt.Errorf("compose: %w", err)
		}
		d.Notes, d.Builds = p.notes, p.buildsOfServices()
		d.enterAt(way)
		return nil
	case d.Deployment != "":
		return fmt.Errorf("compose: not every service can be a unit: %s: leave that out, or use the compose "+
			"command (--compose-command)", why)
	default:
		d.Notes = []string{"it runs through the compose command, since not every service can be a unit: " + why}
		return d.byCommand()
	}
}

// Build is a command that builds an image of a compose file.
type Build struct {
	Command []string
	Env     []string // what the file is read with: its secrets are in no command
}

// buildsOfServices returns how the images are built that the services have, each once.
func (p *project) buildsOfServices() (all []Build) {
	built := map[string]bool{}
	for _, s := range p.services {
		if b, builds := p.builds[s.Image]; builds && !built[s.Image] {
			all, built[s.Image] = append(all, b), true
		}
	}
	return all
}

// byCommand makes the definition that of containers which the compose command starts.
func (d *Definition) byCommand() error {
	u, err := url.Parse(d.URL)
	if err == nil && d.project != nil && (d.URL == "" || serviceIn(d.project.services, u.Hostname()) != nil) {
		way, err := d.project.enter(d.URL)
		if err != nil {
			return fmt.Errorf("compose: %w", err)
		}
		if way.published == "" {
			return fmt.Errorf("compose: the compose command reaches %s:%d by a port of this host only: give the "+
				"service ports: [\"127.0.0.1:PORT:%d\"]", way.service, way.port, way.port)
		}
		d.URL = d.urlAt(way.published)
	}
	described, err := readCompose(d.composeFile)
	if err != nil {
		return fmt.Errorf("compose: %w", err)
	}
	d.Compose = described
	if _, err := serviceNames(described); err != nil {
		return err
	}
	return checkPublished(described, d.URL)
}

// Address returns the url that a system file has for the way into a compose file.
func (d *Definition) Address() string {
	if d.writtenURL != "" || d.Entry == "" {
		return cmp.Or(d.writtenURL, d.URL)
	}
	way, _ := d.project.enter("") // it was entered there
	return way.address()
}

// Units returns the names of the services of a compose file that are units.
func (d *Definition) Units() (names []string) {
	for _, service := range d.Services {
		names = append(names, service.Name)
	}
	return names
}
