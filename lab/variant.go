package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Variant is one of the things that a study compares: a system in an architecture, with its knobs set, in a
// deployment.
type Variant struct {
	Name         string            `json:"name"`
	System       string            `json:"system"`
	Architecture string            `json:"architecture" yaml:"architecture"`
	Knobs        map[string]string `json:"knobs,omitempty" yaml:"knobs,omitempty"`
	Deployment   string            `json:"deployment" yaml:"deployment,omitempty"`
	// Replicas holds the numbers of replicas of units, by their names; absent: one. Limits holds the limits of
	// each replica of a unit, by its name, or of all units except the lead (AllUnits). See Scale.
	Replicas map[string]int    `json:"replicas,omitempty" yaml:"replicas,omitempty"`
	Limits   map[string]Limits `json:"limits,omitempty" yaml:"limits,omitempty"`
	// Nodes holds names of hosts of the deployment, by the names of units: all replicas of the unit run there.
	Nodes map[string]string `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	// Hosts holds the network settings of such hosts, by their names. The rate limits both directions; the delay
	// applies to packets to their units. Absent: the network stays as it is.
	Hosts map[string]Network `json:"hosts,omitempty" yaml:"hosts,omitempty"`
	// Autoscale holds settings of the units to which the platform adds replicas, by their names.
	Autoscale map[string]Autoscale `json:"autoscale,omitempty" yaml:"autoscale,omitempty"`
	// Network is the one between the generator and the system; zero: the deployment's own.
	Network Network `json:"network,omitzero" yaml:"network,omitempty"`
	// TwinOf names the variant that this one repeats under a second name. The
	// pair is the A/A comparison that tests for bias.
	TwinOf string `json:"twin_of,omitempty"`
	// Points restricts the variant to these points of the study; empty means all.
	Points []string `json:"points,omitempty" yaml:"points,omitempty"`
	// Summary describes the variant in one line.
	Summary string `json:"summary,omitempty" yaml:"summary,omitempty"`
	// External is the definition of a system that is not part of Cleave.
	External *ExternalSystem `json:"external,omitempty"`
}

// SupportedBy returns an error if the variant needs something that the deployer's platform cannot do: add
// replicas by itself, or limit the network of hosts.
func (v Variant) SupportedBy(d Deployer) error {
	return errors.Join(v.checkCanAutoscale(d), v.checkLinks(d))
}

// RunsAt reports whether the study measures the variant at the named point.
func (v Variant) RunsAt(point string) bool {
	return len(v.Points) == 0 || slices.Contains(v.Points, point)
}

// Point is one combination of factor levels, for example the parameter set s1
// with 10 neighbourhoods, 10 workers and 50000 pings.
type Point struct {
	Name   string
	Levels map[string]float64
}

// Level returns the level of a factor and whether the point sets it.
func (p Point) Level(factor string) (float64, bool) {
	level, ok := p.Levels[factor]
	return level, ok
}

// Rate returns the rate of a point in flows per second, and whether the point sets it. A flow is one
// operation unless a scenario gives it several.
func (p Point) Rate() (float64, bool) {
	if perMinute, set := p.Level(FactorPerMinute); set {
		return perMinute / 60, true
	}
	return p.Level(FactorRate)
}

// Only returns which one of several factors the point sets, and its level. These factors
// exclude each other: it is an error if the point sets none or two of them, or one that
// is not above zero.
func (p Point) Only(factors ...string) (factor string, level float64, err error) {
	for _, name := range factors {
		value, set := p.Level(name)
		switch {
		case set && factor != "":
			return "", 0, fmt.Errorf("point %s has both %s and %s: choose one", p, factor, name)
		case set:
			factor, level = name, value
		}
	}
	if level <= 0 {
		return "", 0, fmt.Errorf("point %s needs one of %s, and above zero", p, strings.Join(factors, ", "))
	}
	return factor, level, nil
}

// Factors returns the names of the factors of the point in alphabetical order.
func (p Point) Factors() []string { return slices.Sorted(maps.Keys(p.Levels)) }

// String shows the point for people: "s1 (neighbourhoods 10, workers 10)".
func (p Point) String() string {
	parts := make([]string, 0, len(p.Levels))
	for _, factor := range p.Factors() {
		parts = append(parts, factor+" "+Plain(p.Levels[factor]))
	}
	return fmt.Sprintf("%s (%s)", p.Name, strings.Join(parts, ", "))
}

// MarshalJSON writes a flat object: {"name": "s1", "workers": 10}.
func (p Point) MarshalJSON() ([]byte, error) {
	flat := make(map[string]any, len(p.Levels)+1)
	for factor, level := range p.Levels {
		flat[factor] = level
	}
	flat["name"] = p.Name
	return json.Marshal(flat)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Point) UnmarshalJSON(data []byte) error {
	var flat map[string]any
	if err := json.Unmarshal(data, &flat); err != nil {
		return err
	}
	p.Levels = make(map[string]float64, len(flat))
	for key, value := range flat {
		name, isText := value.(string)
		level, isNumber := value.(float64)
		switch {
		case key == "name" && isText:
			p.Name = name
		case key == "name":
			return fmt.Errorf("point: its name is %v, want a text", value)
		case isNumber:
			p.Levels[key] = level
		default:
			return fmt.Errorf("point: %q is %#v, want a number", key, value)
		}
	}
	return nil
}
