package scenario

import (
	"fmt"
	"maps"
	"slices"
)

// Limits of a scenario.
const (
	maxFlows  = 1000
	maxSteps  = 1000    // in a flow
	maxNames  = 1000    // values and data
	maxLength = 1 << 20 // bytes of a generated text, and of a line of JSON data
	maxSpan   = 1 << 53 // numbers of a zipf; float64 has no larger whole numbers without gaps

	// maxWeight is low enough that the weights of all flows have a finite sum.
	maxWeight = 1e300

	// MaxBody is the size of the largest body, in bytes.
	MaxBody = 16 << 20
)

// Single returns a scenario with one step.
func Single(step Step) *File {
	return &File{Schema: Schema, Name: "single", Flows: []Flow{{Name: "single", Steps: []Step{step}}}}
}

// Compile checks the scenario and returns its plan. Data files are looked for in the folder. The error is
// of type Problems and names all mistakes.
func (f *File) Compile(folder string) (*Plan, error) {
	c := &compiler{file: f, folder: folder, plan: &Plan{seed: f.Seed, cookies: f.Cookies == nil || *f.Cookies},
		slots: map[string]int{}}
	if f.Schema != Schema {
		c.problem("schema", "schema is %q, this cleave reads %q", f.Schema, Schema)
	}
	if f.Name == "" {
		c.problem("", "the scenario needs a name")
	}
	c.checkHeaders("headers", f.Headers)
	c.readValues()
	c.readData()
	c.readFlows()
	if err := c.problems.OrNil(); err != nil {
		return nil, err
	}
	c.plan.slots = len(c.slots)
	return c.plan, nil
}

// compiler collects the plan and all mistakes.
type compiler struct {
	file     *File
	folder   string
	plan     *Plan
	problems Problems
	values   map[string]int // by name: index in plan.values
	data     map[string]int // by name: index in plan.data
	slots    map[string]int // by name
}

// problem notes a mistake at a place of the file, such as flows[0].steps[1]. A mistake in a part that all
// steps share is noted once.
func (c *compiler) problem(place, format string, args ...any) {
	if p := c.file.origin.problem(place, format, args...); !slices.Contains(c.problems, p) {
		c.problems = append(c.problems, p)
	}
}

// slot returns the slot in which sessions keep the value of a name.
func (c *compiler) slot(name string) int {
	slot, known := c.slots[name]
	if !known {
		slot = len(c.slots)
		c.slots[name] = slot
	}
	return slot
}

// readValues compiles the generated values.
func (c *compiler) readValues() {
	c.values = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(c.file.Values)) {
		place := "values." + name
		c.checkName(place, name)
		start, err := newGenerator(c.file.Values[name])
		if err != nil {
			c.problem(place, "value %s: %v", name, err)
		}
		c.values[name] = len(c.plan.values)
		c.plan.values = append(c.plan.values, compiledValue{slot: c.slot(name), start: start})
	}
	if len(c.values) > maxNames {
		c.problem("values", "%d values, at most %d are allowed", len(c.values), maxNames)
	}
}

// checkName refuses a name that cannot be written between ${ and }.
func (c *compiler) checkName(place, name string) {
	if !namePattern.MatchString(name) {
		c.problem(place, "name %q: use 1 to 64 letters, digits, - and _, beginning with a letter or _", name)
	}
}

// readFlows compiles the flows and turns their weights into shares.
func (c *compiler) readFlows() {
	flows := c.file.Flows
	if len(flows) == 0 || len(flows) > maxFlows {
		c.problem("flows", "%d flows: give 1 to %d", len(flows), maxFlows)
	}
	total := 0.0
	for i := range flows {
		place := at("flows", i)
		weight := flows[i].Weight
		if _, written := c.file.origin.lines[place+".weight"]; weight == 0 && !written {
			weight = 1
		}
		if !(weight > 0 && weight <= maxWeight) {
			c.problem(place+".weight", "flow %q: weight %g: give a number above zero, and at most %g", flows[i].Name,
				weight, maxWeight)
		}
		total += weight
		compiled := c.readFlow(place, &flows[i])
		compiled.share = total
		c.plan.flows = append(c.plan.flows, compiled)
	}
	for i := range c.plan.flows {
		c.plan.flows[i].share /= total
	}
}

// at returns the place of an element of a list.
func at(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// readFlow compiles the steps in order, so that an extraction is known only to the steps after it.
func (c *compiler) readFlow(place string, f *Flow) flow {
	if len(f.Steps) == 0 || len(f.Steps) > maxSteps {
		c.problem(place, "flow %q has %d steps: give 1 to %d", f.Name, len(f.Steps), maxSteps)
	}
	scope := &scope{compiler: c, flow: f, extracted: map[string]bool{}, used: map[int]bool{},
		columns: map[int]map[int]int{}}
	var compiled flow
	for i := range f.Steps {
		s := c.readStep(at(place+".steps", i), &f.Steps[i], scope)
		keepsCookies := c.plan.cookies && s.grpc == ""
		s.readsCookies = keepsCookies && i < len(f.Steps)-1 // no step after the last one could send them
		s.needsHeader = s.needsHeader || s.readsCookies
		compiled.steps = append(compiled.steps, s)
	}
	for name := range scope.extracted {
		compiled.forgets = append(compiled.forgets, c.slot(name))
	}
	slices.Sort(compiled.forgets)
	compiled.values = slices.Sorted(maps.Keys(scope.used))
	for _, table := range slices.Sorted(maps.Keys(scope.columns)) {
		use := rowUse{table: table}
		for _, column := range slices.Sorted(maps.Keys(scope.columns[table])) {
			use.columns = append(use.columns, columnUse{column: column, slot: scope.columns[table][column]})
		}
		compiled.rows = append(compiled.rows, use)
	}
	return compiled
}
