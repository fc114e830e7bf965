package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cleave-lab/cleave/yamlfile"
)

const (
	// MaxBytes is the size of the largest model file that is read.
	MaxBytes = 8 << 20
	// maxDepth allows 28 levels of calls: each takes two levels of the file.
	maxDepth = 64
	// maxNodes limits the values of a file, which bounds the memory for reading it.
	maxNodes = 500_000
	// maxText is the length of the longest name, in bytes.
	maxText = 200
	// maxCalls limits the mean number of calls per operation.
	maxCalls = 1e6
	// maxMessage is the size of the largest message, in bytes: rehearsals hold each in memory.
	maxMessage = 1e9
	// longest is the longest time of a call or an operation.
	longest = time.Hour
)

// Parse reads a model file. The error is of type yamlfile.Problems and names all mistakes. file is for
// messages.
func Parse(file string, data []byte) (Model, error) {
	r := yamlfile.Reader{File: file, Format: yamlfile.Format{Kind: "model", Schema: Schema, MaxBytes: MaxBytes,
		MaxDepth: maxDepth, MaxNodes: maxNodes}}
	var m Model
	if root := r.Root(data); root != nil {
		c := checker{Reader: &r, lines: r.Decode(root, &m), components: map[string]string{},
			stores: map[string]bool{}}
		if len(r.Problems) == 0 { // values of a file that could not be read cannot be checked
			c.model(&m)
		}
	}
	return m, r.Problems.OrNil()
}

// checker checks values, and sets defaults. The parameter place is the place of a value in the file, such
// as units[0].name.
type checker struct {
	*yamlfile.Reader
	lines      map[string]int
	components map[string]string // unit by component
	stores     map[string]bool
}

// given reports whether the file contains a key.
func (c *checker) given(place string) bool {
	_, has := c.lines[place]
	return has
}

// expect notes a problem at a place unless the condition holds.
func (c *checker) expect(holds bool, place, format string, args ...any) {
	if !holds {
		c.Problem(c.lines[place], "%s %s", place, yamlfile.Message(format, args...))
	}
}

// text checks a name.
func (c *checker) text(place, value string) {
	fine := value != "" && len(value) <= maxText && !strings.ContainsFunc(value, unicode.IsControl)
	c.expect(fine, place, "is %q, expected a text of 1 to %d bytes in one line", value, maxText)
}

// model checks a model and notes its components and stores.
func (c *checker) model(m *Model) {
	c.expect(m.Schema == Schema, "schema", "is %q, expected %q", m.Schema, Schema)
	c.text("name", m.Name)
	c.expect(m.DroppedSpans >= 0, "dropped_spans", "is %d, expected a number from 0 on", m.DroppedSpans)
	c.expect(len(m.Units) > 0, "units", "is empty, expected the processes of the system")
	c.expect(len(m.Operations) > 0, "operations", "is empty, expected what clients ask for")
	units := map[string]bool{}
	for i := range m.Units {
		c.unit(fmt.Sprintf("units[%d]", i), &m.Units[i], units)
	}
	for i, s := range m.Stores {
		place := fmt.Sprintf("stores[%d]", i)
		c.text(place+".name", s.Name)
		c.text(place+".kind", s.Kind)
		c.expect(!c.stores[s.Name], place+".name", "is %q, which another store has, too", s.Name)
		c.expect(s.Workers >= 0, place+".workers", "is %d, expected a number from 0 on", s.Workers)
		c.stores[s.Name] = true
	}
	operations := map[string]bool{}
	for i := range m.Operations {
		c.operation(fmt.Sprintf("operations[%d]", i), &m.Operations[i], operations)
	}
	for i, of := range m.Measured {
		place := fmt.Sprintf("measured[%d]", i)
		c.expect(of.Rate > 0, place+".rate", "is %g, expected operations per second above 0", of.Rate)
		c.expect(of.Users >= 0 && of.Users <= 1e6, place+".users", "is %d, expected 0 to 1000000", of.Users)
		c.distribution(place+".time", of.Time)
		c.distribution(place+".cpu", of.CPU)
		c.distribution(place+".generator", of.Generator)
		c.placement(place+".placement", of.Placement, m.Components())
	}
}

// unit checks a unit and adds its name to the known ones.
func (c *checker) unit(place string, u *Unit, known map[string]bool) {
	if !c.given(place + ".replicas") {
		u.Replicas = 1
	}
	c.text(place+".name", u.Name)
	c.expect(!known[u.Name], place+".name", "is %q, which another unit has, too", u.Name)
	c.expect(len(u.Components) > 0, place+".components", "is empty, expected the components of the unit")
	c.expect(u.Replicas >= 1 && u.Replicas <= 1e6, place+".replicas", "is %d, expected 1 to 1000000", u.Replicas)
	c.expect(u.Cores >= 0, place+".cores", "is %g, expected a number from 0 on", u.Cores)
	c.expect(u.Workers >= 0, place+".workers", "is %d, expected a number from 0 on", u.Workers)
	for i, component := range u.Components {
		at := fmt.Sprintf("%s.components[%d]", place, i)
		c.text(at, component)
		c.expect(!strings.ContainsAny(component, ",+"), at, "is %q: a name with , or + cannot be placed", component)
		other, twice := c.components[component]
		c.expect(!twice, at, "is %q, which is in the unit %q, too", component, other)
		c.components[component] = u.Name
	}
	known[u.Name] = true
}

// placement checks that a placement names each component at most once, and has no empty name. left are the
// components that it may name.
func (c *checker) placement(place, text string, left []string) {
	if text == "" {
		return
	}
	for name := range strings.SplitSeq(strings.ReplaceAll(text, "+", ","), ",") {
		if name == "" {
			c.expect(false, place, "is %q, expected a component on both sides of each , and +", text)
			return
		}
		i := slices.Index(left, name)
		c.expect(i >= 0, place, "names %q, which is no component, or named twice", name)
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
}

// operation checks an operation and adds its name to the known ones.
func (c *checker) operation(place string, o *Operation, known map[string]bool) {
	c.text(place+".name", o.Name)
	c.expect(!known[o.Name], place+".name", "is %q, which another operation has, too", o.Name)
	known[o.Name] = true
	c.expect(o.Weight > 0 && o.Weight <= 1e12, place+".weight", "is %g, expected above 0, up to 1e+12", o.Weight)
	c.source(place, o.Source, o.N)
	c.distribution(place+".time", o.Time)
	c.call(place+".call", &o.Call)
	c.expect(o.Call.Count == 1, place+".call.count", "is %g: an operation begins with one call", o.Call.Count)
	c.expect(!o.Call.Async, place+".call.async", "is true: the client waits for the first call")
	calls := 0.0
	o.Call.Executions(func(_ *Call, times float64) { calls += times })
	c.expect(calls <= maxCalls, place, "makes %g calls, at most %g are allowed", calls, maxCalls)
}

// call checks a call and those below it.
func (c *checker) call(place string, of *Call) {
	if !c.given(place + ".count") {
		of.Count = 1
	}
	c.text(place+".call", of.Name)
	_, placed := c.components[of.Component]
	c.expect(placed, place+".component", "is %q, which is in none of the units", of.Component)
	c.expect(of.Count > 0 && of.Count <= maxCalls, place+".count", "is %g, expected above 0, up to %g",
		of.Count, maxCalls)
	c.expect(of.In >= 0 && of.In <= maxMessage, place+".in_bytes", "is %g, expected 0 to 1e+09", of.In)
	c.expect(of.Out >= 0 && of.Out <= maxMessage, place+".out_bytes", "is %g, expected 0 to 1e+09", of.Out)
	c.source(place, of.Source, of.N)
	c.distribution(place+".cpu", of.CPU)
	c.distribution(place+".wait", of.Wait)
	c.distribution(place+".background", of.Background)
	if of.Hop != nil {
		c.distribution(place+".hop.cpu", of.Hop.CPU)
		c.distribution(place+".hop.wait", of.Hop.Wait)
	}
	for i, v := range of.Visits {
		at := fmt.Sprintf("%s.visits[%d]", place, i)
		c.expect(c.stores[v.Store], at+".store", "is %q, which is none of the stores", v.Store)
		c.expect(v.Statements >= 0, at+".statements", "is %g, expected a number from 0 on", v.Statements)
		c.expect(v.Commits >= 0, at+".commits", "is %g, expected a number from 0 on", v.Commits)
		c.distribution(at+".wait", v.Wait)
		c.distribution(at+".cpu", v.CPU)
	}
	for i := range of.Calls {
		c.call(fmt.Sprintf("%s.calls[%d]", place, i), &of.Calls[i])
	}
}

// source checks the source and the number of the values at a place.
func (c *checker) source(place string, source Source, n int) {
	known := []Source{Meter, Trace, Guess}
	c.expect(slices.Contains(known, source), place+".source", "is %q, expected one of %s, %s, %s",
		string(source), Meter, Trace, Guess)
	least := 1
	if source == Guess {
		least = 0
	}
	at := place + ".samples"
	if !c.given(at) {
		at = place + ".source"
	}
	c.expect(n >= least, at, "has samples: %d, expected the number of measured values", n)
}

// distribution checks a distribution, unless the file lacks it.
func (c *checker) distribution(place string, d Distribution) {
	if !c.given(place) {
		return
	}
	c.source(place, d.Source, d.N)
	c.expect(d.Mean >= 0 && d.Mean <= longest, place+".mean", "is %v, expected 0s to %v", d.Mean, longest)
	for name, value := range d.Quantiles {
		at := place + ".quantiles." + name
		_, known := quantileShare(name)
		c.expect(known, at, "is no quantile: expected min, max, or a name such as p50 or p99.9")
		c.expect(value >= 0 && value <= longest, at, "is %v, expected 0s to %v", value, longest)
	}
	points := d.Quantiles.Points()
	before := Point{Share: math.Inf(-1)}
	for _, p := range points {
		name := quantileName(p.Share)
		c.expect(p.Share > before.Share, place+".quantiles", "names the quantile %s twice", name)
		c.expect(p.Seconds >= before.Seconds, place+".quantiles", "fall: %s is below the one before it", name)
		before = p
	}
	if len(points) > 0 {
		c.expect(d.Mean == 0 || points[len(points)-1].Seconds > 0, place+".quantiles",
			"are all 0 and the mean is %v", d.Mean)
	}
}
