package lab

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxReplicas is the maximum number of replicas of a unit.
	MaxReplicas = 20
	// AllUnits stands for every unit but the lead in the limits of a variant.
	AllUnits = "all"
)

// Scale returns a layout with the replicas, limits, nodes and network of the variant. Every replica is a unit
// of its own, with its own report, meter and faults: orders, orders-2, orders-3. Units that have it as a peer
// get the addresses of all replicas, separated by commas, in place of one. In the files of a foreign unit, a
// line with the address is repeated for each replica. A unit that the platform scales has all replicas that
// the platform may add, on standby. The error names all mistakes.
func (v Variant) Scale(l Layout) (Layout, error) {
	if len(v.Replicas)+len(v.Limits)+len(v.Nodes)+len(v.Hosts)+len(v.Autoscale) == 0 &&
		v.Network == (Network{}) {
		return l, nil
	}
	if err := errors.Join(v.limit(&l), v.place(&l), v.link(&l), v.passNetwork(&l), v.checkReplicas(l),
		v.checkAutoscale(l)); err != nil {
		return l, err
	}
	var units []UnitSpec
	most := v.mostReplicas()
	for _, unit := range l.Units {
		autoscale, scaled := v.Autoscale[unit.Name]
		if scaled {
			unit.Autoscale = &autoscale
		}
		for _, name := range replicaNames(unit.Name, most[unit.Name]) {
			replica := unit
			if replica.Name = name; name != unit.Name {
				replica.Group = unit.Name
				replica.Autoscale = nil
				replica.Standby = scaled
			}
			units = append(units, replica)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(most)) {
		_, scaled := v.Autoscale[group]
		for i := range units {
			units[i].addPeers(group, replicaNames(group, most[group]), scaled)
		}
	}
	l.Units = units
	return l, nil
}

// Scaling describes the replicas, limits, nodes and network of the variant: "2 x front; all: 0.2 processors".
// It is empty if there are none.
func (v Variant) Scaling() string {
	var parts []string
	for _, unit := range slices.Sorted(maps.Keys(v.Replicas)) {
		if n := v.Replicas[unit]; n > 1 {
			parts = append(parts, fmt.Sprintf("%d x %s", n, unit))
		}
	}
	parts = append(parts, v.autoscaling()...)
	for _, unit := range slices.Sorted(maps.Keys(v.Limits)) {
		parts = append(parts, unit+": "+v.Limits[unit].String())
	}
	for _, unit := range slices.Sorted(maps.Keys(v.Nodes)) {
		parts = append(parts, unit+" on "+v.Nodes[unit])
	}
	for _, host := range slices.Sorted(maps.Keys(v.Hosts)) {
		parts = append(parts, "link of "+host+": "+v.Hosts[host].String())
	}
	if v.Network != (Network{}) {
		parts = append(parts, "network before it: "+v.Network.String())
	}
	return strings.Join(parts, "; ")
}

// replicaNames returns the names of the n replicas of a unit; 0 stands for one.
func replicaNames(unit string, n int) []string {
	names := []string{unit}
	for i := 2; i <= n; i++ {
		names = append(names, unit+"-"+strconv.Itoa(i))
	}
	return names
}

// checkReplicas returns an error for replicas of units that the layout does not have, or that cannot be
// replicated.
func (v Variant) checkReplicas(l Layout) error {
	var scalable []string
	taken := map[string]bool{}
	for _, unit := range l.Units {
		taken[unit.Name] = true
		if unit.Scalable {
			scalable = append(scalable, unit.Name)
		}
	}
	hint := "no unit of this variant can be replicated"
	if len(scalable) > 0 {
		hint = "what can be replicated: " + strings.Join(scalable, ", ")
	}
	var mistakes []error
	most := v.mostReplicas()
	for _, name := range slices.Sorted(maps.Keys(most)) {
		n, key := most[name], "replicas"
		_, scaled := v.Autoscale[name]
		if scaled {
			key = "autoscale"
		}
		isInRange := 1 <= n && n <= MaxReplicas
		switch {
		case !taken[name]:
			mistakes = append(mistakes, fmt.Errorf("%s: there is no unit %q; %s", key, name, hint))
		case scaled && !isInRange: // checkAutoscale refuses it
		case !isInRange:
			mistakes = append(mistakes, fmt.Errorf("replicas: %s is %d: use 1 to %d", name, n, MaxReplicas))
		case n > 1 && !slices.Contains(scalable, name):
			mistakes = append(mistakes, fmt.Errorf("%s: the unit %s keeps what others of its kind would not "+
				"have, or is the only one of its kind; %s", key, name, hint))
		default:
			for _, replica := range replicaNames(name, n)[1:] {
				if taken[replica] {
					mistakes = append(mistakes,
						fmt.Errorf("%s: a replica of %s would be called %s, as another unit is", key, name, replica))
				}
			}
		}
	}
	return errors.Join(mistakes...)
}

// LimitsOf returns the limits of a unit: its own, or else those of AllUnits.
func (v Variant) LimitsOf(unit string) Limits {
	if own, has := v.Limits[unit]; has {
		return own
	}
	return v.Limits[AllUnits]
}

// limit sets the limits of units and backing services. The limits of a unit take precedence over those of
// AllUnits.
func (v Variant) limit(l *Layout) error {
	l.Units = slices.Clone(l.Units)
	for i := range l.Units {
		if all, has := v.Limits[AllUnits]; has && l.Units[i].Name != l.Lead {
			l.Units[i].Limits = all
		}
	}
	own := maps.Clone(v.Limits)
	delete(own, AllUnits)
	return assign(l, "limits", own, func(u *UnitSpec, limits Limits) { u.Limits = limits },
		func(s *ServiceSpec, limits Limits) { s.Limits = limits })
}

// place sets the nodes of units and backing services.
func (v Variant) place(l *Layout) error {
	return assign(l, "nodes", v.Nodes, func(u *UnitSpec, node string) { u.Node = node },
		func(s *ServiceSpec, node string) { s.Node = node })
}

// assign calls unit or service for each unit or backing service that has a value. The error lists the names
// that are neither, and those that exist; key is the key of the variant, for the error.
func assign[T any](
	l *Layout, key string, values map[string]T, unit func(*UnitSpec, T), service func(*ServiceSpec, T),
) error {
	left := maps.Clone(values)
	var names []string
	l.Units = slices.Clone(l.Units)
	l.Services = slices.Clone(l.Services)
	for i := range l.Units {
		names = append(names, l.Units[i].Name)
		if value, has := values[l.Units[i].Name]; has {
			unit(&l.Units[i], value)
			delete(left, l.Units[i].Name)
		}
	}
	for i := range l.Services {
		names = append(names, l.Services[i].Name)
		if value, has := values[l.Services[i].Name]; has {
			service(&l.Services[i], value)
			delete(left, l.Services[i].Name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	unknown := strings.Join(slices.Sorted(maps.Keys(left)), ", ")
	return fmt.Errorf("%s: there is no unit or backing service %s: use %s", key, unknown,
		strings.Join(names, ", "))
}

// addPeers replaces, in a unit that has group as a peer, the address of group by those of all its replicas.
// If the platform scales the peer, all but the first get the StandbyMark.
func (u *UnitSpec) addPeers(group string, replicas []string, scaled bool) {
	at := slices.Index(u.Peers, group)
	if at < 0 || len(replicas) == 1 {
		return
	}
	u.Peers = slices.Insert(slices.Clone(u.Peers), at+1, replicas[1:]...)
	var addresses []string
	for i, replica := range replicas {
		mark := ""
		if scaled && i > 0 {
			mark = StandbyMark
		}
		addresses = append(addresses, mark+AddressOf(replica))
	}
	all := strings.Join(addresses, AddressSeparator)
	u.Env = slices.Clone(u.Env)
	for i := range u.Env {
		u.Env[i] = strings.ReplaceAll(u.Env[i], AddressOf(group), all)
	}
	u.Env = append(u.Env, PeerVariable(group)+"="+all)
	if !u.Foreign {
		return
	}
	u.Files = maps.Clone(u.Files)
	for name, text := range u.Files {
		u.Files[name] = repeatLines(text, group, replicas)
	}
}

// repeatLines returns a file in which each line with the address of a group is repeated for every replica.
func repeatLines(text []byte, group string, replicas []string) []byte {
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.Contains(line, AddressOf(group)) {
			lines = append(lines, line)
			continue
		}
		for _, replica := range replicas {
			lines = append(lines, strings.ReplaceAll(line, AddressOf(group), AddressOf(replica)))
		}
	}
	return []byte(strings.Join(lines, "\n"))
}
