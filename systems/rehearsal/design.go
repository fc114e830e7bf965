package rehearsal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// The architectures.
const (
	AsIs     = "as-is"
	Together = kit.Together
	Apart    = kit.Apart
)

// The knobs.
const (
	KnobPlacement = "placement"
	KnobCalls     = "calls"
	KnobPool      = "pool"
)

// Catalogue returns the architectures of a rehearsal.
func Catalogue() kit.Catalogue {
	return kit.Catalogue{System: "the model", Knobs: []lab.Knob{
		{Name: KnobPlacement, Values: []string{AsIs, Together, Apart}, Free: true,
			Summary: "as-is, together, apart, or groups of components such as front+orders,stock (the rest: one unit)",
			Means: map[string]string{AsIs: "as it is", Together: "one process",
				Apart: "a process per component"}},
		{Name: KnobCalls, Values: []string{hosting.HTTP, hosting.GRPC, hosting.HTTPLean, hosting.GRPCLean},
			Summary: "what carries calls between units",
			Means: map[string]string{hosting.HTTP: "calls over HTTP", hosting.GRPC: "calls over gRPC",
				hosting.HTTPLean: "calls over our lean HTTP", hosting.GRPCLean: "calls over our lean gRPC"}},
		{Name: KnobPool, Values: []string{"64"}, Free: true,
			Summary: "connections of a unit to each other one over HTTP, 1 to 1000"},
	}, Presets: []kit.Preset{
		{Name: AsIs, Summary: "the units of the model"},
		{Name: Together, Summary: "all components in one unit",
			Settings: map[string]string{KnobPlacement: Together}},
		{Name: Apart, Summary: "each component in a unit of its own",
			Settings: map[string]string{KnobPlacement: Apart}},
	}}
}

// Unit is a unit of a design: components or a store.
type Unit struct {
	model.Unit
	// Store is set if the unit is a store that is a server; nil if it has components.
	Store *model.Store
}

// Call is a call of the model, placed in a unit of a design. Visits of a store that is a server are calls,
// too.
type Call struct {
	*model.Call
	Number    int           // its index in Design.Calls
	Unit      int           // index of the unit that plays it
	Caller    *Call         // the call that makes it; nil: a client
	Operation int           // index of its operation in the model
	Calls     []*Call       // the calls that it makes
	Visits    []model.Visit // its visits of embedded stores
	OfStore   bool          // it is a visit of a store that is a server
}

// Design is a complete description of how a model is played.
type Design struct {
	Model   model.Model
	Units   []Unit
	Calls   []*Call // by their numbers, callers first
	Roots   []*Call // by operation
	Binding string  // the binding of calls between units
	Pool    int     // connections of a unit to each other unit, over HTTP
}

// New returns the design of an architecture with some knobs turned.
func New(m model.Model, architecture string, turned map[string]string) (*Design, error) {
	settings, err := Catalogue().Settings(architecture, turned)
	if err != nil {
		return nil, err
	}
	d := &Design{Model: m, Binding: settings[KnobCalls]}
	var poolErr, placeErr error
	d.Pool, poolErr = kit.Number(settings, KnobPool, 1000)
	d.Units, placeErr = place(m, settings[KnobPlacement])
	if err := errors.Join(poolErr, placeErr); err != nil {
		return nil, fmt.Errorf("architecture %s: %w", architecture, err)
	}
	for i := range m.Operations {
		d.Roots = append(d.Roots, d.add(&d.Model.Operations[i].Call, nil, i))
	}
	for _, root := range d.Roots {
		if root.Unit != d.Roots[0].Unit {
			return nil, fmt.Errorf("architecture %s: clients would call %s in the unit %s and %s in %s: put what "+
				"clients call into one unit, as a rehearsal has one address for clients", architecture,
				d.Roots[0].Component, d.Units[d.Roots[0].Unit].Name, root.Component, d.Units[root.Unit].Name)
		}
	}
	return d, nil
}

// place returns the units of a placement, followed by the stores that are servers. Their names are valid and
// unique.
func place(m model.Model, placement string) ([]Unit, error) {
	var units []Unit
	if placement == AsIs {
		for _, u := range m.Units {
			units = append(units, Unit{Unit: u})
		}
	} else {
		groups, err := kit.Place(placement, m.Components())
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			units = append(units, Unit{Unit: grouped(m, group)})
		}
	}
	for i, s := range m.Stores {
		if s.Server {
			units = append(units, Unit{Unit: model.Unit{Name: s.Name, Workers: s.Workers}, Store: &m.Stores[i]})
		}
	}
	taken := map[string]bool{lab.RoleGenerator: true}
	for i := range units {
		name := unitName(units[i].Name)
		units[i].Name = name
		for n := 2; taken[units[i].Name]; n++ {
			units[i].Name = fmt.Sprintf("%s-%d", name, n)
		}
		taken[units[i].Name] = true
	}
	return units, nil
}

// grouped returns the unit of a group of components: the model's unit with the same components, or a new one.
// If the group consists of whole units of the model, the new unit has their joint limits; otherwise it has
// the limits of the unit that its first component comes from.
func grouped(m model.Model, group []string) model.Unit {
	var whole []model.Unit
	rest := len(group) // components that are not in whole
	for _, u := range m.Units {
		outside := func(c string) bool { return !slices.Contains(group, c) }
		if !slices.ContainsFunc(u.Components, outside) {
			whole = append(whole, u)
			rest -= len(u.Components)
		}
	}
	if rest == 0 && len(whole) == 1 {
		return whole[0]
	}
	limits := m.Units[m.UnitOf(group[0])]
	if rest == 0 {
		limits = whole[0]
		for _, u := range whole[1:] {
			limits.Cores, limits.Workers = limits.JointLimits(u)
		}
	}
	return model.Unit{Name: kit.UnitName(group), Components: group, Cores: limits.Cores, Workers: limits.Workers}
}

// unitName returns a name that deployments accept: lower-case letters, digits and hyphens.
func unitName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	return cmp.Or(strings.Trim(clean, "-"), "unit")
}

// add adds a call, its visits of stores that are servers and, recursively, the calls that it makes.
func (d *Design) add(of *model.Call, caller *Call, operation int) *Call {
	c := &Call{Call: of, Number: len(d.Calls), Caller: caller, Operation: operation}
	c.Unit = slices.IndexFunc(d.Units, func(u Unit) bool { return slices.Contains(u.Components, of.Component) })
	d.Calls = append(d.Calls, c)
	for _, v := range of.Visits {
		at := slices.IndexFunc(d.Units, func(u Unit) bool { return u.Store != nil && u.Store.Name == v.Store })
		if at < 0 {
			c.Visits = append(c.Visits, v)
			continue
		}
		wait := v.Wait // as its caller saw it: it includes the CPU time of the server
		wait.Mean = max(0, wait.Mean-v.CPU.Mean)
		visit := &Call{Number: len(d.Calls), Unit: at, Caller: c, Operation: operation, OfStore: true,
			Call: &model.Call{Component: v.Store, Name: "visit", Count: 1, CPU: v.CPU, Wait: wait}}
		d.Calls = append(d.Calls, visit)
		c.Calls = append(c.Calls, visit)
	}
	for i := range of.Calls {
		c.Calls = append(c.Calls, d.add(&of.Calls[i], c, operation))
	}
	return c
}

// Crosses reports whether another unit makes the call.
func (c *Call) Crosses() bool { return c.Caller != nil && c.Caller.Unit != c.Unit }

// Front returns the unit that clients call.
func (d *Design) Front() int { return d.Roots[0].Unit }

// Index returns the index of the unit with a name, or -1.
func (d *Design) Index(name string) int {
	return slices.IndexFunc(d.Units, func(u Unit) bool { return u.Name == name })
}

// CallsUnit reports whether a unit makes calls that another unit plays.
func (d *Design) CallsUnit(caller, other int) bool {
	return slices.ContainsFunc(d.Calls, func(c *Call) bool {
		return c.Unit == other && c.Crosses() && c.Caller.Unit == caller
	})
}

// NeedsAddress reports whether a unit needs the addresses of a unit: it makes calls that the unit plays, or
// it is the front, which asks all replicas of all units whether they are settled, also those of the front.
func (d *Design) NeedsAddress(caller, unit int) bool {
	return d.CallsUnit(caller, unit) || caller == d.Front()
}

// IsCalled reports whether other units make calls that a unit plays.
func (d *Design) IsCalled(unit int) bool {
	return slices.ContainsFunc(d.Calls, func(c *Call) bool {
		return c.Unit == unit && c.Crosses()
	})
}

// CommitsTo reports whether calls in a unit commit to an embedded store.
func (d *Design) CommitsTo(unit int, store string) bool {
	return slices.ContainsFunc(d.Calls, func(c *Call) bool {
		return c.Unit == unit && slices.ContainsFunc(c.Visits, func(v model.Visit) bool {
			return v.Store == store && d.Commits(v)
		})
	})
}

// Commits reports whether a visit is played as commits to a SQLite database. Other visits only wait.
func (d *Design) Commits(v model.Visit) bool {
	i := slices.IndexFunc(d.Model.Stores, func(s model.Store) bool { return s.Name == v.Store })
	store := d.Model.Stores[i]
	isEmbedded := store.Kind == "sqlite" && !store.Server
	return isEmbedded && v.Commits > 0
}
