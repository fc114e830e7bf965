package external

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// difference is one difference between two systems.
type difference struct {
	lab.KnobChange
	apply func(at *Definition, to Definition) // copies the value of the second system
}

// changeable returns a copy of the definition to which differences can be applied.
func (d Definition) changeable() Definition {
	replicas := map[string]int{}
	limits := map[string]lab.Limits{}
	maps.Copy(replicas, d.Replicas)
	maps.Copy(limits, d.Limits)
	d.Services = slices.Clone(d.Services)
	d.Replicas = replicas
	d.Limits = limits
	return d
}

// service returns the service of a name, or nil.
func (d *Definition) service(name string) *lab.SystemService {
	return serviceIn(d.Services, name)
}

// serviceIn returns the service of a name among several, or nil.
func serviceIn(services []lab.SystemService, name string) *lab.SystemService {
	i := slices.IndexFunc(services, func(s lab.SystemService) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &services[i]
}

// differencesOf returns the differences between two systems: those of the services in the order of the second
// file, the entry point, the removed services, and those of the systems as a whole.
func differencesOf(a, b Definition) (all []difference) {
	for _, to := range b.Services {
		if from := a.service(to.Name); from != nil {
			all = append(all, differencesOfService(*from, to, a, b)...)
			continue
		}
		all = append(all, difference{lab.KnobChange{Knob: to.Name, From: "left out", To: "added"},
			func(at *Definition, b Definition) { at.addService(*b.service(to.Name), b) }})
	}
	if a.Entry != b.Entry {
		all = append(all, difference{lab.KnobChange{Knob: "entry-point", From: a.Entry, To: b.Entry},
			(*Definition).enterAt})
	} else if strings.TrimSuffix(a.URL, "/") != strings.TrimSuffix(b.URL, "/") && a.Entry != "" {
		all = append(all, difference{lab.KnobChange{Knob: "entry-point", From: a.URL, To: b.URL},
			func(at *Definition, other Definition) { at.URL = other.URL }})
	}
	for _, from := range a.Services {
		if b.service(from.Name) == nil {
			all = append(all, difference{lab.KnobChange{Knob: from.Name, From: "running", To: "left out"},
				func(at *Definition, _ Definition) { at.removeService(from.Name) }})
		}
	}
	return append(all, otherSystemDifferences(a, b)...)
}

// enterAt makes the entry point that of another system. A service may have another port while it is the entry
// point: the former one and the new one get the ports that they have in the other system.
func (d *Definition) enterAt(other Definition) {
	for _, name := range []string{d.Entry, other.Entry} {
		own := d.service(name)
		service := other.service(name)
		if own != nil && service != nil {
			own.Port = service.Port
		}
	}
	d.Entry = other.Entry
	d.URL = other.URL
}

// differencesOfService returns the differences of a service that both systems have.
func differencesOfService(from, to lab.SystemService, a, b Definition) (all []difference) {
	name := to.Name
	add := func(key, was, is string, apply func(at, to *lab.SystemService)) {
		all = append(all, difference{
			lab.KnobChange{Knob: name + "." + key, From: knobValue(was), To: knobValue(is)},
			func(at *Definition, b Definition) { apply(at.service(name), b.service(name)) }})
	}
	if from.Image != to.Image {
		add("image", from.Image, to.Image,
			func(at, to *lab.SystemService) { at.Image, at.Install = to.Image, to.Install })
	}
	if was, is := without(from.Container.Env, to.Container.Env), without(to.Container.Env,
		from.Container.Env); was+is != "" {
		add("env", was, is, func(at, to *lab.SystemService) { at.Container.Env = to.Container.Env })
	}
	commandOf := func(s lab.SystemService) string {
		return strings.Join(slices.Concat(s.Container.Entrypoint, s.Container.Command), " ")
	}
	if !slices.Equal(from.Container.Command, to.Container.Command) ||
		!slices.Equal(from.Container.Entrypoint, to.Container.Entrypoint) {
		add("command", commandOf(from), commandOf(to), func(at, to *lab.SystemService) {
			at.Container.Command = to.Container.Command
			at.Container.Entrypoint = to.Container.Entrypoint
		})
	}
	if was, is := max(1, a.Replicas[name]), max(1, b.Replicas[name]); was != is {
		all = append(all, difference{
			lab.KnobChange{Knob: name + ".replicas", From: strconv.Itoa(was), To: strconv.Itoa(is)},
			func(at *Definition, _ Definition) { at.Replicas[name] = is }})
	}
	if was, is := a.Limits[name], b.Limits[name]; was != is {
		all = append(all, difference{
			lab.KnobChange{Knob: name + ".limits", From: knobValue(was.String()), To: knobValue(is.String())},
			func(at *Definition, _ Definition) { at.Limits[name] = is }})
	}
	if keys := otherDifferences(from, to, a, b); len(keys) > 0 {
		all = append(all, difference{
			lab.KnobChange{Knob: name + "." + strings.Join(keys, "+"), From: "as before", To: "as in the second"},
			func(at *Definition, b Definition) { at.applyOthers(*b.service(name), b) }})
	}
	return all
}

// applyOthers copies all keys of a service of another system that have no difference of their own. It changes
// After in place, which startAfterAdded has copied.
func (d *Definition) applyOthers(service lab.SystemService, from Definition) {
	own := d.service(service.Name)
	container := service.Container
	container.Env = own.Container.Env
	container.Command = own.Container.Command
	container.Entrypoint = own.Container.Entrypoint
	own.Container = container
	own.Healthy = service.Healthy
	own.Finishes = service.Finishes
	own.Restarts = service.Restarts
	if service.Port != 0 || own.Name != d.Entry { // without any port, it could not stay the entry point
		own.Port = service.Port
	}
	removed := slices.DeleteFunc(own.After, func(name string) bool { return from.service(name) != nil })
	own.After = slices.Concat(service.After, removed) // removed services have their own difference
}

// otherDifferences returns the keys of a service that differ and have no difference of their own.
func otherDifferences(from, to lab.SystemService, a, b Definition) []string {
	members := func(s lab.SystemService) map[string]any {
		s.Container.Env = nil
		s.Container.Command = nil
		s.Container.Entrypoint = nil
		text, err := json.Marshal(s.Container)
		var all map[string]any
		if err != nil || json.Unmarshal(text, &all) != nil {
			return nil // impossible: it is plain data
		}
		all["healthy"] = s.Healthy
		all["finishes"] = s.Finishes
		all["restarts"] = s.Restarts
		if s.Name == a.Entry && s.Name == b.Entry {
			all["ports"] = append(slices.Clone(s.Container.Ports), lab.ContainerPort{Port: s.Port})
		}
		inBoth := slices.DeleteFunc(slices.Clone(s.After), func(name string) bool {
			return a.service(name) == nil || b.service(name) == nil // its coming and going is a difference of its own
		})
		all["depends_on"] = strings.Join(inBoth, " ")
		return all
	}
	was := members(from)
	is := members(to)
	either := maps.Clone(was)
	maps.Copy(either, is)
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(either)) {
		if !reflect.DeepEqual(was[key], is[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// otherSystemDifferences returns the differences between two systems other than their services.
func otherSystemDifferences(a, b Definition) (all []difference) {
	add := func(key, was, is string, same bool, apply func(at *Definition, b Definition)) {
		if !same {
			all = append(all, difference{lab.KnobChange{Knob: key, From: knobValue(was), To: knobValue(is)}, apply})
		}
	}
	isSameCommand := slices.Equal(a.Command, b.Command) && a.Dir == b.Dir && a.URL == b.URL
	add("image", a.Image, b.Image, a.Image == b.Image && a.Port == b.Port,
		func(at *Definition, b Definition) { at.Image, at.Port = b.Image, b.Port })
	add("command", strings.Join(a.Command, " ")+" in "+a.Dir, strings.Join(b.Command, " ")+" in "+b.Dir,
		len(a.Services) > 0 || isSameCommand,
		func(at *Definition, b Definition) { at.Command, at.Dir, at.URL = b.Command, b.Dir, b.URL })
	add("env", "as before", "as in the second", len(a.Services) > 0 || maps.Equal(a.Env, b.Env),
		func(at *Definition, b Definition) { at.Env, at.EnvFile = b.Env, b.EnvFile })
	add("ready+reset+cores", "as before", "as in the second", reflect.DeepEqual(a.Ready, b.Ready) &&
		slices.Equal(a.Reset, b.Reset) && slices.Equal(a.Cores, b.Cores),
		func(at *Definition, b Definition) { at.Ready, at.Reset, at.Cores = b.Ready, b.Reset, b.Cores })
	return all
}

// addService adds a service of another system, with its replicas and limits.
func (d *Definition) addService(service lab.SystemService, from Definition) {
	d.Services = append(d.Services, service)
	if n := from.Replicas[service.Name]; n > 0 {
		d.Replicas[service.Name] = n
	}
	if limits, has := from.Limits[service.Name]; has {
		d.Limits[service.Name] = limits
	}
}

func (d *Definition) removeService(name string) {
	d.Services = slices.DeleteFunc(d.Services, func(one lab.SystemService) bool { return one.Name == name })
	delete(d.Replicas, name)
	delete(d.Limits, name)
}

// without returns the texts of a list that another list does not have, in one line.
func without(list, other []string) string {
	rest := slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(other, text) })
	return strings.Join(rest, " ")
}

// knobValue returns a value as reports show it: its beginning, in one line.
func knobValue(text string) string {
	const most = 60
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "none"
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
