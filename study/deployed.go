package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/yamlfile"
)

// deployed is what holds of variants in some deployments alone, by their names.
type deployed struct {
	as   map[string]map[string]lab.Variant // by deployment: replicas, limits and nodes
	only map[string][]string               // the deployments that the variant is played in; none: all
}

func newDeployed() deployed {
	return deployed{as: map[string]map[string]lab.Variant{}, only: map[string][]string{}}
}

func (f *File) readDeployed(r *reader, node *yaml.Node, variant string) {
	as := map[string]lab.Variant{}
	r.Pairs(node, "deployed", func(key, value *yaml.Node) {
		var v lab.Variant
		r.object(value, "deployed "+key.Value, fields{
			"replicas": func(n *yaml.Node) { v.Replicas = r.replicas(n) },
			"limits":   func(n *yaml.Node) { v.Limits = r.limits(n) },
			"nodes":    func(n *yaml.Node) { v.Nodes = r.named(n, "node") },
		})
		r.checkDeployment(key, "deployed")
		v.Name = variant
		checkNodes(r, key.Line, v)
		as[key.Value] = v
	})
	f.deployed.as[variant] = as
}

func (f *File) readOnly(r *reader, node *yaml.Node, variant string) {
	r.List(node, "only", func(_ int, child *yaml.Node) {
		r.checkDeployment(child, "only")
		f.deployed.only[variant] = append(f.deployed.only[variant], child.Value)
	})
}

func (r *reader) checkDeployment(node *yaml.Node, what string) {
	if known := lab.Deployments(); !slices.Contains(known, node.Value) {
		r.Problem(node.Line, "%s: there is no deployment %q%s; there is: %s", what, node.Value,
			yamlfile.Suggest(node.Value, known), strings.Join(known, ", "))
	}
}

// checkNodes refuses names of nodes that could do harm where a host is called so.
func checkNodes(r *reader, line int, v lab.Variant) {
	for _, unit := range slices.Sorted(maps.Keys(v.Nodes)) {
		if !yamlfile.IsName(v.Nodes[unit]) {
			r.Problem(line, "variant %s: the node of %s is called %q, expected lower-case letters, digits, dots and "+
				"dashes", v.Name, unit, v.Nodes[unit])
		}
	}
}

// deploy has all variants in a deployment, or each in its own where none is given, with what
// the file says of them there.
func (f *File) deploy(s *lab.Study, deployment string) {
	s.Variants = slices.Clone(s.Variants)
	for i := range s.Variants {
		v := &s.Variants[i]
		if deployment != "" {
			v.Deployment = deployment
		}
		as, changed := f.deployed.as[v.Name][v.Deployment]
		if !changed {
			continue
		}
		v.Replicas, v.Limits, v.Nodes = merged(v.Replicas, as.Replicas), merged(v.Limits, as.Limits),
			merged(v.Nodes, as.Nodes)
		f.link(v)
		v.Summary += "; on " + v.Deployment + ": " + as.Scaling()
	}
}

// merged returns what is said of units in general with what is said of a deployment.
func merged[T any](general, there map[string]T) map[string]T {
	if len(there) == 0 {
		return general
	}
	all := map[string]T{}
	maps.Copy(all, general)
	maps.Copy(all, there)
	return all
}

// refuses says why a variant is not played as it is deployed; nil: it is.
func (d deployed) refuses(v lab.Variant) error {
	if only := d.only[v.Name]; len(only) > 0 && !slices.Contains(only, v.Deployment) {
		return fmt.Errorf("it is played with --deploy %s only", strings.Join(only, " or "))
	}
	return nil
}
