package external

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// findEntries finds the ways in: an Ingress, or Services that are reached from outside of a cluster.
func (p *project) findEntries(m *manifests) {
	enter := func(service, port string) {
		way, known := p.served[service+":"+port]
		switch {
		case !known:
			p.cannot = append(p.cannot, fmt.Sprintf("Ingress: no Service %s has the port %s", service, port))
		case !slices.Contains(p.ways, way):
			p.ways = append(p.ways, way)
		}
	}
	for _, i := range m.ingresses {
		if i.Spec.DefaultBackend != nil {
			enter(i.Spec.DefaultBackend.named())
		}
		for _, rule := range i.Spec.Rules {
			for _, one := range rule.HTTP.Paths {
				enter(one.Backend.named())
			}
		}
	}
	if len(m.ingresses) > 0 {
		return
	}
	for _, s := range m.services {
		if s.Spec.Type != "NodePort" && s.Spec.Type != "LoadBalancer" {
			continue
		}
		for _, port := range s.Spec.Ports {
			if _, leads := p.served[s.Metadata.Name+":"+strconv.Itoa(port.Port)]; leads {
				enter(s.Metadata.Name, strconv.Itoa(port.Port))
			}
		}
	}
}

// named returns the Service and its port.
func (b ingressBackend) named() (service, port string) {
	port = b.Service.Port.Name
	if b.Service.Port.Number != 0 {
		port = strconv.Itoa(b.Service.Port.Number)
	}
	return b.Service.Name, port
}

// findOrder has units start after those that they are told of by name: so few end for want of
// another and have to be started again. Of units that know each other the first is the first.
func (p *project) findOrder() {
	after := map[string][]string{}
	for _, unit := range p.services {
		after[unit.Name] = unit.After
	}
	for i := range p.services {
		unit := &p.services[i]
		told := toldOf(*unit)
		for _, m := range unit.Container.Mounts {
			for _, name := range slices.Sorted(maps.Keys(m.Files)) {
				told += " " + m.Files[name]
			}
		}
		for _, other := range p.services {
			if !slices.ContainsFunc(other.Container.Names, func(n string) bool { return tells(told, n) }) &&
				!(len(other.Container.Ports) > 0 && tells(told, other.Name)) || waits(after, other.Name, unit.Name) {
				continue
			}
			if !slices.Contains(unit.After, other.Name) {
				unit.After = append(slices.Clone(unit.After), other.Name)
				after[unit.Name] = unit.After
			}
		}
	}
}

// waits reports whether a unit is another, or starts after it by way of others. It visits each unit once.
func waits(after map[string][]string, unit, other string) bool {
	seen := map[string]bool{}
	for left := []string{unit}; len(left) > 0; left = left[1:] {
		next := left[0]
		if next == other {
			return true
		}
		if !seen[next] {
			seen[next], left = true, append(left, after[next]...)
		}
	}
	return false
}

// tells reports whether a text has a name as that of a host: behind //, @ or =, or before a port.
func tells(text, name string) bool {
	quoted := regexp.QuoteMeta(name)
	host := regexp.MustCompile(`(//|@|=)` + quoted + `($|[\s:/,;"'])|(^|[^\w.-])` + quoted + `:[0-9]`)
	return host.MatchString(text)
}
