package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// deployed holds, by the name of a variant, what the file says about single deployments.
type deployed struct {
	settings map[string]map[string]lab.Variant // replicas, limits and nodes, by deployment
	allowed  map[string][]string               // the only deployments in which the variant is played; none: all
}

// checkDeployment refuses an unknown deployment. what is the key that names it.
func checkDeployment(r *yamlfile.Reader, line int, what, deployment string) {
	if known := lab.Deployments(); !slices.Contains(known, deployment) {
		r.Problem(line, "%s: there is no deployment %s", what, unknown(deployment, known, "there is:"))
	}
}

// checkUnits checks replicas, CPU limits and autoscaling of units against their bounds, and that nodes have
// valid names. place is the key in the file: that of the variant, or of its settings for a deployment.
func (f *File) checkUnits(r *yamlfile.Reader, place string, v lab.Variant) {
	for _, unit := range slices.Sorted(maps.Keys(v.Replicas)) {
		f.limit(r, place+".replicas."+unit, float64(v.Replicas[unit]), 1, lab.MaxReplicas)
	}
	for _, unit := range slices.Sorted(maps.Keys(v.Limits)) {
		f.limit(r, place+".limits."+unit+".cpu", v.Limits[unit].CPU, 0, maxProcessors)
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
// the deployment of each.
func (f *File) deploy(s *lab.Study, deployment string) {
	s.Variants = slices.Clone(s.Variants)
	for i := range s.Variants {
		v := &s.Variants[i]
		if deployment != "" {
			v.Deployment = deployment
		}
		own, found := f.deployed.settings[v.Name][v.Deployment]
		if !found {
			continue
		}
		v.Replicas, v.Limits, v.Nodes = merged(v.Replicas, own.Replicas), merged(v.Limits, own.Limits),
			merged(v.Nodes, own.Nodes)
		f.link(v)
		v.Summary += "; on " + v.Deployment + ": " + own.Scaling()
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

// refuses returns the reason why a variant is not played in its deployment, or nil if it is.
func (d deployed) refuses(v lab.Variant) error {
	if allowed := d.allowed[v.Name]; len(allowed) > 0 && !slices.Contains(allowed, v.Deployment) {
		return fmt.Errorf("it is played with --deploy %s only", strings.Join(allowed, " or "))
	}
	return nil
}
