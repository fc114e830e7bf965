package study

import (
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// checkHosts refuses links of hosts that no unit is placed on, and links that have neither a rate nor a
// delay. It checks nothing in a stored plan, which has no lines.
func (f *File) checkHosts(r *yamlfile.Reader) {
	var all []string // hosts of all variants
	check := func(place, owner string, links map[string]lab.Network, nodes []string) {
		for _, host := range slices.Sorted(maps.Keys(links)) {
			line := f.lines[place+"hosts."+host]
			switch {
			case line == 0: // the variant got the link from the study, which is checked below
			case links[host] == lab.Network{}:
				r.Problem(line, "host %s: its link has neither a rate nor a delay", host)
			case !slices.Contains(nodes, host):
				r.Problem(line, "hosts: %s places no unit on %q (nodes)%s", owner, host,
					yamlfile.Suggest(host, nodes))
			}
		}
	}
	for _, v := range f.Study.Variants {
		nodes := f.nodesOf(v)
		all = append(all, nodes...)
		check("variants."+v.Name+".", "variant "+v.Name, v.Hosts, nodes)
	}
	check("", "the study", f.hosts, all)
}

// nodesOf returns the hosts that a variant places units on, in any deployment.
func (f *File) nodesOf(v lab.Variant) []string {
	nodes := slices.Collect(maps.Values(v.Nodes))
	for _, own := range f.deployed.settings[v.Name] {
		nodes = slices.AppendSeq(nodes, maps.Values(own.Nodes))
	}
	return nodes
}

// link adds the study's links of the hosts that a variant places units on. Links of the variant's own win.
func (f *File) link(v *lab.Variant) {
	links := map[string]lab.Network{}
	for _, host := range v.Nodes {
		if link, has := f.hosts[host]; has {
			links[host] = link
		}
	}
	v.Hosts = merged(links, v.Hosts)
	if len(v.Hosts) == 0 {
		v.Hosts = nil
	}
}
