package external

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/yamlfile"
)

// change holds the changes to a service of a compose file or of manifests.
type change struct {
	Image    *string            `json:"image"`
	Env      map[string]*string `json:"env"` // nil removes the variable
	Replicas *int               `json:"replicas"`
	CPU      *float64           `json:"cpu"`
	Memory   *string            `json:"memory"`
}

// changesOf reads the changes of a system file, by the names of services. nil removes the service.
func changesOf(written map[string]any) (map[string]*change, error) {
	text, err := json.Marshal(written)
	if err != nil {
		return nil, err
	}
	var changes map[string]*change
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&changes); err != nil {
		return nil, fmt.Errorf("change: %w: a service has image, env (names with texts), replicas, cpu and memory "+
			"(a text such as 256Mi), or is null", err)
	}
	return changes, nil
}

// changeSyntax describes changes on the command line.
const changeSyntax = "SERVICE.replicas=2, SERVICE.cpu=0.5, SERVICE.memory=256Mi, SERVICE.image=NAME, " +
	"SERVICE.env.NAME=VALUE or SERVICE=null"

// Change changes services of the system as written on the command line. The system gets the name or, if it is
// empty, one made of the changes.
func (d *Definition) Change(name string, written []string) error {
	if !d.HasUnits() {
		return fmt.Errorf("system %s: only services of a compose file or of manifests can be changed: leave out %s",
			d.Name, strings.Join(written, " "))
	}
	changes := map[string]*change{}
	full := d.Name
	maps.Copy(changes, d.changes)
	for _, word := range written {
		if err := addChange(changes, word); err != nil {
			return fmt.Errorf("system %s: %w", d.Name, err)
		}
		full += "-" + loaded.NameOf(withoutSecret(word))
	}
	if !yamlfile.IsName(full) {
		full = d.Name + "-changed"
	}
	d.Name = cmp.Or(name, full)
	d.changes = changes
	d.project = nil
	if err := d.resolve(); err != nil {
		return fmt.Errorf("system %s: %w", d.Name, err)
	}
	return joinMistakes("system "+d.Name, d.complete())
}

// withoutSecret returns a change without its value if that looks like a secret: results contain the names of
// systems.
func withoutSecret(word string) string {
	place, value, _ := strings.Cut(word, "=")
	_, variable, isVariable := strings.Cut(place, ".env.")
	hides := masker{Vault: secret.NewVault(os.LookupEnv)}
	if isVariable && hides.variable(variable, value) != value {
		return place
	}
	return word
}

// changedPlace matches the place of a change on the command line: a service, whose name may have dots, and
// its variable or another key.
var changedPlace = regexp.MustCompile(`^(.+?)\.(?:env\.(.+)|(image|memory|replicas|cpu))$`)

// addChange adds a change as written on the command line.
func addChange(changes map[string]*change, word string) error {
	place, value, assigned := strings.Cut(word, "=")
	mistake := fmt.Errorf("the change %q is none of: %s", word, changeSyntax)
	found := changedPlace.FindStringSubmatch(place)
	if !assigned || found == nil {
		if value != "null" || place == "" {
			return mistake
		}
		changes[place] = nil
		return nil
	}
	service := found[1]
	variable := found[2]
	key := found[3]
	c := *cmp.Or(changes[service], &change{})
	var err error
	switch key {
	case "image":
		c.Image = &value
	case "memory":
		c.Memory = &value
	case "replicas":
		var replicas int
		replicas, err = strconv.Atoi(value)
		c.Replicas = &replicas
	case "cpu":
		var cpu float64
		cpu, err = strconv.ParseFloat(value, 64)
		c.CPU = &cpu
	default:
		env := map[string]*string{}
		maps.Copy(env, c.Env)
		env[variable] = &value
		c.Env = env
	}
	changes[service] = &c
	if err != nil {
		return mistake
	}
	return nil
}

// removes reports whether a change removes a service or a workload, and notes that there is one.
func (p *project) removes(name string) bool {
	c, changed := p.changes[name]
	if changed && c == nil {
		p.removed = append(p.removed, name)
	}
	return changed && c == nil
}

// change changes the services of a project. Those that it removes were not even read.
func (p *project) change() error {
	for _, name := range slices.Sorted(maps.Keys(p.changes)) {
		service := serviceIn(p.services, name)
		switch {
		case slices.Contains(p.removed, name):
		case service == nil:
			return fmt.Errorf("change: there is no service %s", name)
		default:
			if err := p.changeService(service, *p.changes[name]); err != nil {
				return fmt.Errorf("change: %s: %w", name, err)
			}
		}
	}
	return nil
}

// changeService changes a service, or returns an error for a value that it cannot have.
func (p *project) changeService(s *lab.SystemService, c change) error {
	if c.Image != nil {
		if err := checkImage(*c.Image); err != nil {
			return err
		}
		s.Image = *c.Image
		s.Install = ""
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if err := checkVariable(name); err != nil {
			return err
		}
		s.Container.Env = slices.DeleteFunc(s.Container.Env, func(v string) bool {
			return strings.HasPrefix(v, name+"=")
		})
		if value := c.Env[name]; value != nil {
			s.Container.Env = append(s.Container.Env, name+"="+*value)
		}
	}
	if c.Replicas != nil {
		if *c.Replicas < 1 || *c.Replicas > lab.MaxReplicas {
			return fmt.Errorf("replicas is %d, expected 1 to %d", *c.Replicas, lab.MaxReplicas)
		}
		p.replicas[s.Name] = *c.Replicas
	}
	limits := p.limits[s.Name]
	if c.CPU != nil {
		if !isCores(*c.CPU) {
			return fmt.Errorf("cpu is %g, expected a number of processors such as 0.5", *c.CPU)
		}
		limits.CPU = *c.CPU
	}
	if c.Memory != nil {
		var err error
		if limits.Memory, err = parseMemory(*c.Memory); err != nil {
			return fmt.Errorf("memory is %q, expected a size such as 256Mi", *c.Memory)
		}
	}
	if limits != (lab.Limits{}) {
		p.limits[s.Name] = limits
	}
	return nil
}

// isCores reports whether a service can be limited to this number of processors.
func isCores(cpu float64) bool { return cpu > 0 && cpu <= math.MaxFloat64 }

// parseMemory returns a limit of memory, such as 256Mi, in bytes. M is a million bytes, as in manifests; in a
// compose file it is 2^20.
func parseMemory(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil {
		return 0, err
	}
	if size == 0 || size > math.MaxInt64 {
		return 0, fmt.Errorf("%s is no size of memory", text)
	}
	return int64(size), nil
}
