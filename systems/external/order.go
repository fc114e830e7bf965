package external

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// findOrder makes units start after those that their configuration names, so that fewer of them fail because
// another one is missing and have to be restarted. Of units that name each other, the first in the file
// starts first.
func (p *project) findOrder() {
	after := map[string][]string{}
	hosts := make([]*regexp.Regexp, len(p.services))
	for i, unit := range p.services {
		after[unit.Name] = unit.After
		names := unit.Container.Names
		if len(unit.Container.Ports) > 0 { // only then can a Service have the name of the unit
			names = append([]string{unit.Name}, names...)
		}
		hosts[i] = hostPattern(names)
	}
	for i := range p.services {
		unit := &p.services[i]
		text := configText(*unit)
		for _, m := range unit.Container.Mounts {
			for _, name := range slices.Sorted(maps.Keys(m.Files)) {
				text += " " + m.Files[name]
			}
		}
		for j, other := range p.services {
			isNamed := hosts[j].MatchString(text) && !slices.Contains(unit.After, other.Name)
			if isNamed && !waits(after, other.Name, unit.Name) {
				unit.After = append(slices.Clone(unit.After), other.Name)
				after[unit.Name] = unit.After
			}
		}
	}
}

// waits reports whether a unit is another one, or starts after it, directly or indirectly. It visits each
// unit once.
func waits(after map[string][]string, unit, other string) bool {
	seen := map[string]bool{}
	for queue := []string{unit}; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if next == other {
			return true
		}
		if !seen[next] {
			seen[next] = true
			queue = append(queue, after[next]...)
		}
	}
	return false
}

// hostPattern returns a pattern that matches texts with one of the names in the place of a host: after //, @
// or =, or before a port.
func hostPattern(names []string) *regexp.Regexp {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	host := "(" + strings.Join(quoted, "|") + ")"
	if len(names) == 0 {
		host = `[^\s\S]` // nothing
	}
	return regexp.MustCompile(`(//|@|=)` + host + `($|[\s:/,;"'])|(^|[^\w.-])` + host + `:[0-9]`)
}
