package study

import (
	"maps"
	"math"
	"slices"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// checkDeployment refuses a deployment that is not among the known ones. what says in messages where it
// stands.
func checkDeployment(r *yamlfile.Reader, line int, what, deployment string, known []string) {
	if !slices.Contains(known, deployment) {
		r.Problem(line, "%s: there is no deployment %s", what, unknown(deployment, known, "there is:"))
	}
}

// checkUnits checks replicas, limits and autoscaling of units against their bounds, and that nodes have valid
// names. place is the key in the file: that of the variant, or of its settings for a deployment.
func (f *File) checkUnits(r *yamlfile.Reader, place string, v lab.Variant) {
	for _, unit := range slices.Sorted(maps.Keys(v.Replicas)) {
		f.limit(r, place+".replicas."+unit, float64(v.Replicas[unit]), 1, lab.MaxReplicas)
	}
	for _, unit := range slices.Sorted(maps.Keys(v.Limits)) {
		f.limit(r, place+".limits."+unit+".cpu", v.Limits[unit].CPU, 0, maxProcessors)
		f.limit(r, place+".limits."+unit+".memory", float64(v.Limits[unit].Memory), 0, math.MaxInt64)
	}
	for _, unit := range slices.Sorted(maps.Keys(v.Autoscale)) {
		f.limit(r, place+".autoscale."+unit+".max", float64(v.Autoscale[unit].Max), 2, lab.MaxReplicas)
	}
	for _, unit := range slices.Sorted(maps.Keys(v.Nodes)) {
		if !yamlfile.IsName(v.Nodes[unit]) {
			r.Problem(f.lines[place], "variant %s: the node of %s is called %q, expected lower-case letters, digits, "+
				"dots and dashes", v.Name, unit, v.Nodes[unit])
		}
	}
}

// maxProcessors is more than any host has.
const maxProcessors = 10_000

// deploy sets the deployment of all variants, if one is given, and applies the settings that the file has for
// the deployment of each. It adds the scaling to the summary of a variant. A summary that the file gives
// describes the general settings already: it gets the scaling only if there are settings for this deployment.
func (f *File) deploy(s *lab.Study, deployment string) {
	s.Variants = slices.Clone(s.Variants)
	for i := range s.Variants {
		v := &s.Variants[i]
		if deployment != "" {
			v.Deployment = deployment
		}
		own, found := f.variants[v.Name].Deployed[v.Deployment]
		v.Replicas = merged(v.Replicas, own.Replicas)
		v.Limits = merged(v.Limits, own.Limits)
		v.Nodes = merged(v.Nodes, own.Nodes)
		f.link(v)
		architecture, known := f.info.Architecture(v.Architecture)
		switch scaling := v.Scaling(); {
		case scaling == "":
		case known && v.Summary == architecture.Summary:
			v.Summary += "; " + scaling
		case found:
			v.Summary += "; on " + v.Deployment + ": " + scaling
		}
	}
}

// merged returns a map with the general settings, overridden by the special ones.
func merged[T any](general, special map[string]T) map[string]T {
	if len(special) == 0 {
		return general
	}
	all := map[string]T{}
	maps.Copy(all, general)
	maps.Copy(all, special)
	return all
}

// checkHosts refuses links of hosts that no unit is placed on, and links that have neither a rate nor a
// delay. It checks nothing in a stored plan, which has no lines.
func (f *File) checkHosts(r *yamlfile.Reader) {
	if f.planned {
		return
	}
	var all []string // hosts of all variants
	check := func(place, owner string, links map[string]lab.Network, nodes []string) {
		for _, host := range slices.Sorted(maps.Keys(links)) {
			line := f.lines[place+"hosts."+host]
			switch {
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
	for _, own := range f.variants[v.Name].Deployed {
		nodes = slices.AppendSeq(nodes, maps.Values(own.Nodes))
	}
	return nodes
}

// link sets the links of the hosts that a variant places units on: its own, or else those of the study.
func (f *File) link(v *lab.Variant) {
	all := merged(f.hosts, v.Hosts)
	v.Hosts = nil
	for _, host := range v.Nodes {
		if link, has := all[host]; has {
			v.Hosts = merged(v.Hosts, map[string]lab.Network{host: link})
		}
	}
}
