package study

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// hostLinks are the links of hosts by their names, and the lines that they stand in.
type hostLinks struct {
	links map[string]lab.Network
	lines map[string]int
}

// readHosts reads links of hosts, of the study or of a variant.
func (r *reader) readHosts(node *yaml.Node) hostLinks {
	h := hostLinks{map[string]lab.Network{}, map[string]int{}}
	r.Pairs(node, "hosts", func(key, value *yaml.Node) {
		var link lab.Network
		r.object(value, "host "+key.Value, fields{"delay": r.duration("delay", &link.Delay),
			"rate": r.rate("rate", &link.Rate)})
		if link == (lab.Network{}) {
			r.Problem(key.Line, "host %s: its link has neither a rate nor a delay", key.Value)
		}
		h.links[key.Value], h.lines[key.Value] = link, key.Line
	})
	return h
}

// checkHosts refuses links of hosts that no unit is on.
func (f *File) checkHosts(r *reader) {
	var all []string // hosts of any variant
	for _, v := range f.Study.Variants {
		nodes := f.nodesOf(v)
		all = append(all, nodes...)
		own := f.variantHosts[v.Name]
		for _, host := range slices.Sorted(maps.Keys(own.links)) {
			r.checkHost(host, own.lines[host], "variant "+v.Name, nodes)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(f.hosts.links)) {
		r.checkHost(host, f.hosts.lines[host], "the study", all)
	}
}

func (r *reader) checkHost(host string, line int, of string, nodes []string) {
	if !slices.Contains(nodes, host) {
		r.Problem(line, "hosts: %s places no unit on %q (nodes)%s", of, host, yamlfile.Suggest(host, nodes))
	}
}

// nodesOf returns the hosts that a variant places units on, in whatever deployment.
func (f *File) nodesOf(v lab.Variant) []string {
	nodes := slices.Collect(maps.Values(v.Nodes))
	for _, as := range f.deployed.as[v.Name] {
		nodes = slices.AppendSeq(nodes, maps.Values(as.Nodes))
	}
	return nodes
}

// link gives a variant the links of the study for the hosts that it places units on, unless it
// has links of its own for them.
func (f *File) link(v *lab.Variant) {
	links := map[string]lab.Network{}
	for _, host := range v.Nodes {
		if link, has := f.hosts.links[host]; has {
			links[host] = link
		}
	}
	v.Hosts = merged(links, v.Hosts)
	if len(v.Hosts) == 0 {
		v.Hosts = nil
	}
}
