package model

import "slices"

// Schema versions model files.
const Schema = "cleave-model/1"

// Model is a system as it was measured. Times are per execution of a call at low load.
type Model struct {
	Schema string `yaml:"schema"`
	Name   string `yaml:"name"`
	// About says what the model was made of, for people.
	About string `yaml:"about,omitempty"`
	// DroppedSpans counts the spans that are not in the model, since there was no room to keep them.
	DroppedSpans int `yaml:"dropped_spans,omitempty"`
	// Units are the processes of the system as it is. Each component is in one of them.
	Units      []Unit      `yaml:"units"`
	Stores     []Store     `yaml:"stores,omitempty"`
	Operations []Operation `yaml:"operations"`
	// Measured holds what was measured of the system: the truth that a prediction is checked against.
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
	Cores      float64  `yaml:"cores,omitempty"`    // the most that a replica can use; 0: no limit
	// Workers is the number of calls that a replica works on at once, while others wait; 0: no limit.
	Workers int `yaml:"workers,omitempty"`
}

// Store is a database, document store or the like.
type Store struct {
	Name string `yaml:"name"`
	Kind string `yaml:"kind"` // such as sqlite or mariadb
	// Server: the store is a process of its own, which takes the CPU time of visits. Otherwise it is embedded:
	// its CPU time is that of the calls.
	Server bool `yaml:"server,omitempty"`
	// Workers is the number of visits that the store serves at once, while others wait; 0: no limit.
	Workers int `yaml:"workers,omitempty"`
}

// Operation is an operation that clients ask for. Source and N are those of the weight.
type Operation struct {
	Name   string  `yaml:"name"`
	Weight float64 `yaml:"weight"` // its share of all operations is weight / sum of weights
	// Time is the measured time from the beginning of the first call to its end.
	Time   Distribution `yaml:"time,omitempty,flow"`
	Source Source       `yaml:"source"`
	N      int          `yaml:"samples,omitempty"`
	// Call is the first call of the operation; its count is 1.
	Call Call `yaml:"call"`
}

// Call is a call of a component, with those that it makes itself in turn. Its own work is done in equal parts
// before, between and after these.
type Call struct {
	Component string `yaml:"component"`
	Name      string `yaml:"call"`
	// Count is how often each execution of the caller makes the call, in the mean: 0.3 is a probability, 2.5 is
	// twice or three times. Default 1.
	Count float64 `yaml:"count,omitempty"`
	// Parallel: its executions begin together, and together with the call before it in the list. Otherwise
	// they begin one after the other, after that call.
	Parallel bool `yaml:"parallel,omitempty"`
	// Async: nobody waits for its end, as with a message.
	Async bool `yaml:"async,omitempty"`
	// Source and N (executions of the call that were seen) are those of count, bytes, statements and commits.
	Source Source `yaml:"source"`
	N      int    `yaml:"samples,omitempty"`
	// CPU is the CPU time of the component itself, without that of other calls and of hops.
	CPU Distribution `yaml:"cpu,omitempty,flow"`
	// Wait is the time in which the component waits for something else than CPU, other calls and stores.
	Wait Distribution `yaml:"wait,omitempty,flow"`
	// Background is CPU time that nobody waits for, such as garbage collection and the reading of requests.
	Background Distribution `yaml:"background,omitempty,flow"`
	In         float64      `yaml:"in_bytes,omitempty"`  // of the request
	Out        float64      `yaml:"out_bytes,omitempty"` // of the answer
	Visits     []Visit      `yaml:"visits,omitempty"`
	// Hop is the cost of a call whose caller is in another unit; a call within a unit has none.
	Hop   *Hop   `yaml:"hop,omitempty"`
	Calls []Call `yaml:"calls,omitempty"`
}

// Visit holds the work of one execution of a call at a store, all statements together.
type Visit struct {
	Store      string  `yaml:"store"`
	Statements float64 `yaml:"statements,omitempty"` // beside BEGIN, COMMIT and ROLLBACK
	Commits    float64 `yaml:"commits,omitempty"`
	// Wait is the time at the store in which the caller uses no CPU.
	Wait Distribution `yaml:"wait,omitempty,flow"`
	// CPU is the CPU time of a store that is a server.
	CPU Distribution `yaml:"cpu,omitempty,flow"`
}

// Hop is the price of a call between two units: what goes when both are put together.
type Hop struct {
	CPU  Distribution `yaml:"cpu,omitempty,flow"` // of both sides together
	Wait Distribution `yaml:"wait,omitempty,flow"`
}

// Measurement is one trial of the system.
type Measurement struct {
	// Placement names the components of each unit, as in "orders+payments,catalog"; empty: as they are.
	Placement string  `yaml:"placement,omitempty"`
	Rate      float64 `yaml:"rate"` // operations per second
	// Users is the number of users who never paused, in a closed loop: Rate is what they got, the capacity. 0:
	// operations came at the rate.
	Users int `yaml:"users,omitempty"`
	// Time is the response time that clients saw, of all operations.
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

// UnitOf returns the index of the unit of a component in the system as it is; -1 if it is in none.
func (m Model) UnitOf(component string) int {
	return slices.IndexFunc(m.Units, func(u Unit) bool { return slices.Contains(u.Components, component) })
}

// JointLimits returns the cores and the workers of two units that become one: their sums, or none where
// either has none.
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

// Executions calls visit for a call and for all below it, callers first, with the mean number of times that
// an operation makes each.
func (c *Call) Executions(visit func(call *Call, times float64)) {
	c.executions(1, visit)
}

func (c *Call) executions(ofCaller float64, visit func(*Call, float64)) {
	times := ofCaller * c.Count
	visit(c, times)
	for i := range c.Calls {
		c.Calls[i].executions(times, visit)
	}
}
