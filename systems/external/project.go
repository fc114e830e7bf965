package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
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

// project holds the services of a compose file or of manifests as units.
type project struct {
	name        string
	services    []lab.SystemService
	replicas    map[string]int
	limits      map[string]lab.Limits
	entryPoints []entryPoint      // the published ports
	anyPort     bool              // services may publish ports of this host that entryPoints does not have
	fixed       map[string]string // the static addresses of services, by their names
	// Each has one line per finding: obstacles are the reasons why services cannot be units, risks are the
	// powers over this host that services have, and notes are the differences from docker compose.
	obstacles, risks, notes []string
	noted                   map[string]bool    // the notes on ports, which may be many
	builds                  map[string]Build   // by image
	changes                 map[string]*change // of services, by their names; nil removes one
	removed                 []string           // the services and workloads that changes have removed
	// Only for manifests: served has the entry points by Service and port, as NAME:PORT with the number or the
	// name of the port, and secrets has the values of Secrets.
	served  map[string]entryPoint
	secrets []string
}

// entryPoint is a TCP port of a service, and the port of this host at which the file publishes it: "" if
// Docker chooses one.
type entryPoint struct {
	service   string
	port      int
	published string
}

// address returns the url of a system file that selects the entry point.
func (e entryPoint) address() string {
	if e.published != "" {
		return "http://127.0.0.1:" + e.published + "/"
	}
	return "http://" + e.service + ":" + strconv.Itoa(e.port) + "/"
}

// readProject reads a compose file as docker compose does. Its variables come from the environment of the
// system file, from that of Cleave, and from the file .env in the same folder. The first that sets one wins.
// It also makes the changes.
func readProject(
	path string, env map[string]string, envFile string, changes map[string]*change,
) (*project, error) {
	// Compose reads the file itself; this refuses one that is too long or missing.
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
		limits: map[string]lab.Limits{}, fixed: map[string]string{}, noted: map[string]bool{},
		builds: map[string]Build{}, changes: changes}
	written := maps.Clone(file.Services)
	for _, name := range file.ServiceNames() {
		if p.removes(name) {
			delete(file.Services, name)
			continue
		}
		if err := checkServiceName(name); err != nil {
			return nil, err
		}
		s := serviceReader{project: p, file: file, ServiceConfig: file.Services[name]}
		s.read()
		p.services = append(p.services, s.unit)
	}
	p.awaitOthers(file, written)
	p.joinNetworks(file)
	if err := p.change(); err != nil {
		return nil, err
	}
	p.findCalls()
	return p, nil
}

// checkServiceName returns an error for names that are missing or reserved.
func checkServiceName(name string) error {
	if slices.Contains([]string{"", lab.RoleGenerator, lab.AllUnits, lab.EveryUnit}, name) {
		return fmt.Errorf("its service %q has no name, or one that means something else here: give it another one",
			name)
	}
	return nil
}

// awaitOthers marks the services that others wait for to become healthy or to finish. The others are those of
// written, which also has the removed services: a service for which they wait still ends by itself. Then it
// removes dependencies on services that the file does not have.
func (p *project) awaitOthers(file *types.Project, written types.Services) {
	for i := range p.services {
		unit := &p.services[i]
		for _, other := range written {
			switch dependency := other.DependsOn[unit.Name]; dependency.Condition {
			case types.ServiceConditionHealthy:
				unit.Healthy = true
			case types.ServiceConditionCompletedSuccessfully:
				unit.Finishes = true
			}
		}
		unit.After = slices.DeleteFunc(unit.After, func(name string) bool {
			_, exists := file.Services[name]
			return !exists
		})
	}
}

// joinNetworks puts all services into one network, in which they find each other by name. Obstacles are an
// alias of two services, a static address in the configuration of a service, and an external network.
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
				addresses = append(addresses, fixed...)
				p.fixed[name] = fixed[0]
			}
		}
	}
	for _, unit := range p.services {
		for _, alias := range unit.Container.Names {
			if other, taken := owner[alias]; taken && other != unit.Name {
				p.addObstacle("service %s: networks: %s is a name of %s, too, and all share one network", unit.Name,
					alias, other)
			}
			owner[alias] = unit.Name
		}
		text := configText(unit) + " " + strings.Join(unit.Container.Hosts, " ")
		for _, address := range addresses {
			whole := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(address) + `($|[^\w.])`)
			if whole.MatchString(text) {
				p.addObstacle("service %s: environment, command or extra_hosts: it names the address %s: name the "+
					"service instead", unit.Name, address)
			}
		}
	}
	slices.Sort(joined)
	for _, name := range joined {
		if file.Networks[name].External {
			p.addObstacle("networks: %s is external", name)
		}
	}
	if len(joined) > 1 {
		p.notes = append(p.notes, "all services share one network in place of "+strings.Join(joined, ", "))
	}
	if len(addresses) > 0 {
		p.notes = append(p.notes, "services are found by their names, not at "+strings.Join(addresses, ", "))
	}
}

// addObstacle adds a reason why services cannot be units, once: the pods of a StatefulSet have the same.
func (p *project) addObstacle(format string, args ...any) {
	if obstacle := fmt.Sprintf(format, args...); !slices.Contains(p.obstacles, obstacle) {
		p.obstacles = append(p.obstacles, obstacle)
	}
}

// configText returns the environment and the command of a service as one text.
func configText(unit lab.SystemService) string {
	c := unit.Container
	return strings.Join(slices.Concat(c.Env, c.Command, c.Entrypoint), " ")
}

// findCalls adds the ports at which the configuration of some service calls a service by name, as NAME:PORT.
func (p *project) findCalls() {
	for i := range p.services {
		unit := &p.services[i]
		for _, name := range append([]string{unit.Name}, unit.Container.Names...) {
			call := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(name) + `:([0-9]{1,5})\b`)
			for _, other := range p.services {
				for _, found := range call.FindAllStringSubmatch(configText(other), -1) {
					if port, isPort := parsePort(found[1]); isPort {
						addPort(unit, port, port)
					}
				}
			}
		}
	}
}

// findEntry returns the entry point that a url selects: by a published port of this host, or by the name of a
// service and its port. "" selects the published one if there is exactly one. The error lists the choices.
func (p *project) findEntry(address string) (entryPoint, error) {
	if address == "" {
		differs := func(e entryPoint) bool {
			return e.service != p.entryPoints[0].service || e.port != p.entryPoints[0].port
		}
		if len(p.entryPoints) == 0 || slices.ContainsFunc(p.entryPoints, differs) {
			return entryPoint{}, p.entryError("")
		}
		return p.entryPoints[0], nil
	}
	if err := checkURL(address); err != nil {
		return entryPoint{}, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return entryPoint{}, fmt.Errorf("url: %w", err)
	}
	if onHost, isLoopback := loopback(u); isLoopback {
		if entry, published := p.publishedAt(onHost); published {
			return entry, nil
		}
		return entryPoint{}, p.entryError(address)
	}
	if entry, served := p.served[u.Host]; served {
		return entry, nil
	}
	port, isPort := parsePort(u.Port())
	for _, entry := range p.entryPoints {
		if entry.service == u.Hostname() && entry.port == port {
			return entry, nil
		}
	}
	if !isPort || serviceIn(p.services, u.Hostname()) == nil {
		return entryPoint{}, p.entryError(address)
	}
	return entryPoint{service: u.Hostname(), port: port}, nil
}

// publishedAt returns the entry point that is published at an address of this host, and whether there is one.
func (p *project) publishedAt(onHost string) (entry entryPoint, published bool) {
	_, port, _ := net.SplitHostPort(onHost)
	i := slices.IndexFunc(p.entryPoints, func(e entryPoint) bool { return e.published == port && port != "" })
	if i >= 0 {
		entry = p.entryPoints[i]
	}
	return entry, i >= 0
}

// entryError returns an error that lists the entry points and how to choose one.
func (p *project) entryError(address string) error {
	var all, names []string
	for _, entry := range p.entryPoints {
		all = append(all, fmt.Sprintf("%s (%s, port %d)", entry.address(), entry.service, entry.port))
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

// urlAt returns the URL of the system at a port of this host, with the scheme, path and query of d.URL.
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

// setEntry makes the definition a system of the project's services, which gets its load at an entry point.
func (d *Definition) setEntry(entry entryPoint) {
	d.Services = slices.Clone(d.project.services)
	d.Entry = entry.service
	serviceIn(d.Services, entry.service).Port = entry.port
	d.URL = d.urlAt(portMark)
	d.Replicas = d.project.replicas
	d.Limits = d.project.limits
}

// IsCompose reports whether the system is described by a compose file.
func (d *Definition) IsCompose() bool { return d.composeFile != "" }

// HasUnits reports whether the system has a compose file or manifests, whose services are units or could be.
func (d *Definition) HasUnits() bool { return d.composeFile != "" || d.manifests != "" }

// resolveManifests reads the manifests of the system. Their workloads become its services.
func (d *Definition) resolveManifests() (err error) {
	if d.project == nil {
		if d.project, err = readWorkloads(d.manifests, d.changes); err != nil {
			return fmt.Errorf("manifests: %w", err)
		}
	}
	d.URL = d.writtenURL
	d.Risks = d.project.risks
	d.Notes = d.project.notes
	if len(d.project.obstacles) > 0 {
		return fmt.Errorf("manifests: not all can be units: %s", strings.Join(d.project.obstacles, "; "))
	}
	entry, err := d.project.findEntry(d.URL)
	if err != nil {
		return fmt.Errorf("manifests: %w", err)
	}
	d.setEntry(entry)
	return nil
}

// resolve fills in the fields that come from the compose file or the manifests of the system, if it has any.
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

// resolveCompose reads the compose file of the system. Its services become units, unless the deployment is
// the compose command or some service cannot be a unit: then the compose command starts them.
func (d *Definition) resolveCompose() error {
	d.URL = d.writtenURL
	d.Services = nil
	d.Entry = ""
	d.Compose = nil
	d.Replicas = nil
	d.Limits = nil
	d.Notes = nil
	d.Risks = nil
	d.Builds = nil
	if d.project == nil {
		var err error
		d.project, err = readProject(d.composeFile, d.Env, d.EnvFile, d.changes)
		if err != nil && d.Deployment != kindCompose {
			return fmt.Errorf("compose: %w", err)
		}
	}
	p := cmp.Or(d.project, &project{}) // the compose command may understand what cannot be read here
	d.Risks = p.risks
	why := strings.Join(p.obstacles, "; ")
	isByCommand := why != "" || d.Deployment == kindCompose
	switch {
	case isByCommand && len(d.changes) > 0:
		return fmt.Errorf("compose: what the compose command runs cannot be changed by service: write a second "+
			"file (%s)", cmp.Or(why, "--compose-command"))
	case d.Deployment == kindCompose:
		return d.byCommand()
	case why == "":
		entry, err := p.findEntry(d.URL)
		if err != nil {
			return fmt.Errorf("compose: %w", err)
		}
		d.Notes = p.notes
		d.Builds = p.buildsOfServices()
		d.setEntry(entry)
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
	Env     []string // the environment of Command; it has the secrets, so that Command has none
}

// buildsOfServices returns the builds of the services' images, each once.
func (p *project) buildsOfServices() (all []Build) {
	built := map[string]bool{}
	for _, s := range p.services {
		if b, builds := p.builds[s.Image]; builds && !built[s.Image] {
			all = append(all, b)
			built[s.Image] = true
		}
	}
	return all
}

// Address returns the url that leads to the system's entry point, as it is written in a system file.
func (d *Definition) Address() string {
	if d.writtenURL != "" || d.Entry == "" {
		return cmp.Or(d.writtenURL, d.URL)
	}
	entry, _ := d.project.findEntry("") // resolve has found it
	return entry.address()
}

// Units returns the names of the services that are units.
func (d *Definition) Units() (names []string) {
	for _, service := range d.Services {
		names = append(names, service.Name)
	}
	return names
}
