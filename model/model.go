package model

import "slices"

// Schema identifies the format of model files, with its version.
const Schema = "cleave-model/1"

// Model is a measured system. Times are per execution of a call at low load.
type Model struct {
	Schema string `yaml:"schema"`
	Name   string `yaml:"name"`
	// About describes the origin of the model, for people.
	About string `yaml:"about,omitempty"`
	// DroppedSpans counts the spans that are not in the model because there was no room for them.
	DroppedSpans int `yaml:"dropped_spans,omitempty"`
	// Units are the processes of the system in its present placement. Each component is in one of them.
	Units      []Unit      `yaml:"units"`
	Stores     []Store     `yaml:"stores,omitempty"`
	Operations []Operation `yaml:"operations"`
	// Measured holds measurements of the whole system: the truth for checking predictions.
	Measured []Measurement `yaml:"measured,omitempty"`
}

// Source names the origin of a number.
type Source string

// The sources. CPU times whose source is Trace are self times: an upper bound.
const (
	Meter Source = "meter"
	Trace Source = "trace"
	Guess Source = "guess" // by a person
)

// Unit is a process of the system.
type Unit struct {
	Name       string   `yaml:"name"`
	Components []string `yaml:"components,flow"`
	Replicas   int      `yaml:"replicas,omitempty"` // default 1
	Cores      float64  `yaml:"cores,omitempty"`    // the most cores that a replica can use; 0: no limit
	// Workers is the number of calls that a replica handles at once; others wait. 0: no limit.
	Workers int `yaml:"workers,omitempty"`
}

// Store is a database, document store or the like.
type Store struct {
	Name string `yaml:"name"`
	Kind string `yaml:"kind"` // such as sqlite or mariadb
	// Server: the store is a process of its own, which uses the CPU time of visits. Otherwise it is
	// embedded, and its CPU time is part of the calls'.
	Server bool `yaml:"server,omitempty"`
	// Workers is the number of visits that the store serves at once; others wait. 0: no limit.
	Workers int `yaml:"workers,omitempty"`
}

// Operation is an operation that clients ask for. Source and N are those of the weight.
type Operation struct {
	Name   string  `yaml:"name"`
	Weight float64 `yaml:"weight"` // its share of all operations is weight / sum of weights
	// Time is the measured time of the first call.
	Time   Distribution `yaml:"time,omitempty,flow"`
	Source Source       `yaml:"source"`
	N      int          `yaml:"samples,omitempty"`
	// Call is the first call of the operation; its count is 1.
	Call Call `yaml:"call"`
}

// Call is a call of a component, with the calls that it makes itself.
type Call struct {
	Component string `yaml:"component"`
	Name      string `yaml:"call"`
	// Count is the mean number of calls per execution of the caller: 0.3 is a probability, 2.5 is twice or
	// three times. Default 1.
	Count float64 `yaml:"count,omitempty"`
	// Parallel: its executions begin together, and together with the previous call in the list. Otherwise
	// they begin one after the other, after that call.
	Parallel bool `yaml:"parallel,omitempty"`
	// Async: the caller does not wait for its end, as with a message.
	Async bool `yaml:"async,omitempty"`
	// Source and N (the number of executions in the traces) are those of count, bytes, statements and
	// commits.
	Source Source `yaml:"source"`
	N      int    `yaml:"samples,omitempty"`
	// CPU is the CPU time of the component itself, without other calls and hops.
	CPU Distribution `yaml:"cpu,omitempty,flow"`
	// Wait is the time in which the component waits for other things than CPU, calls and stores.
	Wait Distribution `yaml:"wait,omitempty,flow"`
	// Background is CPU time that no caller waits for, such as garbage collection and the reading of
	// requests.
	Background Distribution `yaml:"background,omitempty,flow"`
	In         float64      `yaml:"in_bytes,omitempty"`  // of the request
	Out        float64      `yaml:"out_bytes,omitempty"` // of the answer
	Visits     []Visit      `yaml:"visits,omitempty"`
	// Hop is the cost of a call from another unit; nil within a unit.
	Hop   *Hop   `yaml:"hop,omitempty"`
	Calls []Call `yaml:"calls,omitempty"`
}

// Visit holds the work of one execution of a call at a store, all statements together.
type Visit struct {
	Store      string  `yaml:"store"`
	Statements float64 `yaml:"statements,omitempty"` // without BEGIN, COMMIT and ROLLBACK
	Commits    float64 `yaml:"commits,omitempty"`
	// Wait is the time at the store in which the caller uses no CPU.
	Wait Distribution `yaml:"wait,omitempty,flow"`
	// CPU is the CPU time of a store that is a server.
	CPU Distribution `yaml:"cpu,omitempty,flow"`
}

// Hop is the cost of a call between two units, which disappears if they are merged.
type Hop struct {
	CPU  Distribution `yaml:"cpu,omitempty,flow"` // of both sides together
	Wait Distribution `yaml:"wait,omitempty,flow"`
}

// Measurement is one trial of the system.
type Measurement struct {
	// Placement names groups of components that are units of their own, as in "orders+payments,catalog".
	// Components that it does not name stay together as in Units; empty: the placement of Units.
	Placement string  `yaml:"placement,omitempty"`
	Rate      float64 `yaml:"rate"` // operations per second
	// Users is the number of users in a closed loop without pauses: then Rate is the rate that they
	// achieved, the capacity. 0: operations came at Rate.
	Users int `yaml:"users,omitempty"`
	// Time is the response time of all operations for clients.
	Time Distribution `yaml:"time,flow"`
	// CPU is the CPU time of all units and servers per operation.
	CPU Distribution `yaml:"cpu,flow"`
	// Generator is the CPU time per operation of the load generator, if it shared the host of the system.
	Generator Distribution `yaml:"generator,omitempty,flow"`
}

// MarshalYAML implements yaml.Marshaler. It leaves out the default number of replicas.
func (u Unit) MarshalYAML() (any, error) {
	type plain Unit
	if u.Replicas == 1 {
		u.Replicas = 0
	}
	return plain(u), nil
}

// MarshalYAML implements yaml.Marshaler. It leaves out the default count.
func (c Call) MarshalYAML() (any, error) {
	type plain Call
	if c.Count == 1 {
		c.Count = 0
	}
	return plain(c), nil
}

// Components returns the components of all units, in their order.
func (m Model) Components() []string {
	var all []string
	for _, u := range m.Units {
		all = append(all, u.Components...)
	}
	return all
}

// UnitOf returns the index in Units of the unit of a component, or -1 if it is in none.
func (m Model) UnitOf(component string) int {
	return slices.IndexFunc(m.Units, func(u Unit) bool { return slices.Contains(u.Components, component) })
}

// JointLimits returns the cores and the workers of two units that are merged: their sums, or 0 (no limit)
// if either has no limit.
func (u Unit) JointLimits(other Unit) (cores float64, workers int) {
	if u.Cores > 0 && other.Cores > 0 {
		cores = u.Cores + other.Cores
	}
	if u.Workers > 0 && other.Workers > 0 {
		workers = u.Workers + other.Workers
	}
	return cores, workers
}

// Weights returns the sum of the weights of all operations.
func (m Model) Weights() (sum float64) {
	for _, o := range m.Operations {
		sum += o.Weight
	}
	return sum
}

// Executions calls visit for a call and all calls below it, callers first, with the mean number of
// executions per operation.
func (c *Call) Executions(visit func(call *Call, times float64)) {
	c.executions(1, visit)
}

// executions is Executions for a call with a mean number of executions of its caller.
func (c *Call) executions(ofCaller float64, visit func(*Call, float64)) {
	times := ofCaller * c.Count
	visit(c, times)
	for i := range c.Calls {
		c.Calls[i].executions(times, visit)
	}
}
