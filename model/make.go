package model

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/cleave-lab/cleave/lab"
)

const (
	// maxOperations limits the operations of a model to the most frequent ones.
	maxOperations = 200
	// maxLevels limits the depth of calls. Deeper calls count as work of their caller.
	maxLevels = 24
)

// Evidence holds the measurements that a model is made from.
type Evidence struct {
	Name, About string
	Traces      []*lab.SpanNode
	// Source is the source of counts and waits; empty: Trace. It is Meter if Traces stand for response times
	// that were measured without spans.
	Source Source
	// DroppedSpans counts the spans that are in no trace because there was no room for them.
	DroppedSpans int
	// CPU is the CPU time per operation of the mix, in seconds, by the name of a unit or of a store that is a
	// server; nil: it was not metered.
	CPU map[string]float64
	// StoreOf returns the store that a component of a unit uses in a span; nil: foreignStore is used.
	StoreOf func(unit, component string, span *lab.SpanNode) Store
	// Transactions: BEGIN and COMMIT have spans, so a change outside of a transaction is a commit of its
	// own.
	Transactions bool
	Measured     []Measurement
}

// foreignStore returns the store that a client's span names, or else a database of the unit.
func foreignStore(unit, _ string, span *lab.SpanNode) Store {
	return Store{Name: cmp.Or(span.Peer, unit+"-database"), Kind: "database", Server: true}
}

// Make returns the model of a system. It converts every trace to executions of calls. A span begins a call if
// it is in another component or service than its caller, or if it serves a request. All other spans, and all
// statements, are work of their caller. notes say what the model leaves out, renames or does not know.
func Make(from Evidence) (m Model, notes []string, err error) {
	if from.StoreOf == nil {
		from.StoreOf = foreignStore
	}
	from.Source = cmp.Or(from.Source, Trace)
	b := builder{Evidence: from, units: map[string][]string{}, unitOf: map[string]string{},
		named:  map[string]string{},
		stores: map[string]Store{}, noted: map[string]bool{}}
	roots := map[string]*node{}
	b.Traces = slices.DeleteFunc(slices.Clone(from.Traces), isTooLong)
	if n := len(from.Traces) - len(b.Traces); n > 0 {
		b.note("left out: %s with a span of more than %v", lab.Count(n, "trace"), longest)
	}
	for _, t := range b.Traces {
		b.within = map[string]bool{}
		root := b.root(roots, t)
		e := root.begin(t.End)
		root.times = append(root.times, seconds(t.End-t.Start))
		b.walk(t, e, nil)
	}
	if len(roots) == 0 {
		return m, nil, fmt.Errorf("no trace is usable: a model needs all spans of an operation, each of at "+
			"most %v", longest)
	}
	operations := b.frequent(roots)
	if from.CPU != nil {
		b.divide(operations)
	}
	m = Model{Schema: Schema, Name: tidy(from.Name), About: from.About, DroppedSpans: from.DroppedSpans,
		Measured: from.Measured}
	for _, unit := range slices.Sorted(maps.Keys(b.units)) {
		m.Units = append(m.Units, Unit{Name: unit, Components: b.units[unit], Replicas: 1})
	}
	for _, name := range slices.Sorted(maps.Keys(b.stores)) {
		m.Stores = append(m.Stores, b.stores[name])
	}
	for _, root := range operations {
		m.Operations = append(m.Operations, Operation{Name: operationName(root, operations, m.Operations),
			Source: from.Source, Weight: float64(len(root.seen)), N: len(root.seen),
			Time: Summarise(root.times, from.Source), Call: b.call(root)})
	}
	return m, b.notes, nil
}

// isTooLong reports whether a span of a trace lasts longer than a model file allows, such as that of a
// connection that stays open.
func isTooLong(s *lab.SpanNode) bool {
	return s.End-s.Start > longest.Nanoseconds() || slices.ContainsFunc(s.Children, isTooLong)
}

// builder turns traces into calls.
type builder struct {
	Evidence
	units    map[string][]string // components of units, in order of appearance
	unitOf   map[string]string   // units of components
	named    map[string]string   // components, by their names in the traces
	stores   map[string]Store
	within   map[string]bool      // stores that are in a transaction, for the current trace
	shares   map[string]cpuShares // by unit; see divide
	perStore map[string]float64   // time at the store per operation, in seconds
	notes    []string
	noted    map[string]bool
}

// note adds a note, unless the same one exists.
func (b *builder) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !b.noted[text] {
		b.noted[text] = true
		b.notes = append(b.notes, text)
	}
}

// node is a call at one place of an operation's tree, with all its executions.
type node struct {
	component, name, unit string
	async, crosses        bool // crosses: its caller is in another unit
	depth                 int
	caller                *node
	seen                  []*execution // its executions in all traces
	times                 []float64    // of an operation's first call, in seconds
	calls                 []*node
	before                int // calls that its callers had made before it, summed up over its executions
	together, apart       int // executions that overlapped with the previous call, and those that did not
}

// execution is one execution of a call. Times are in seconds.
type execution struct {
	of  *node
	end int64 // nanoseconds since 1970
	// run is the time in business code and encoding, which gets the metered CPU time first (see divide). wait
	// is the time in queues and brokers, and in calls of services without spans.
	run, wait float64
	visits    map[string]*visit
	hop       hop
	made      int        // number of calls so far
	last      *execution // the last call that it made
}

// visit holds the work of an execution at a store: how many statements and commits, and the seconds in each.
type visit struct{ statements, commits, inStatements, inCommits float64 }

// hop holds the times of an execution on its way: encoding on both sides, and the rest in between.
type hop struct{ caller, callee, between float64 }

// begin adds an execution that ends at a time.
func (n *node) begin(end int64) *execution {
	e := &execution{of: n, end: end}
	n.seen = append(n.seen, e)
	return e
}

// tidy returns a name without characters that model files forbid, cut to their limit. A checksum keeps names
// apart that have the same beginning.
func tidy(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "?")))
	if len(name) > maxText {
		end := fmt.Sprintf("~%08x", crc32.ChecksumIEEE([]byte(name)))
		name = strings.ToValidUTF8(name[:maxText-len(end)], "") + end
	}
	return cmp.Or(name, "(no name)")
}

// UnitName returns the name of a service's unit in a model.
func UnitName(service string) string { return tidy(service) }

// componentName returns the tidy name of a component, without the characters that separate components in
// placements. A number keeps names apart that differ only in these.
func (b *builder) componentName(name string) string {
	name = tidy(name)
	if b.named[name] == "" {
		plain := tidy(strings.NewReplacer(",", "_", "+", "_").Replace(name))
		unique := plain
		for i := 2; slices.Contains(slices.Collect(maps.Values(b.named)), unique); i++ {
			unique = tidy(fmt.Sprint(plain, "_", i))
		}
		b.named[name] = unique
	}
	return b.named[name]
}

// component returns the component and the unit of a span. A span without the attribute belongs to the
// component of its caller in the same service, or else to a component with the name of the service.
func (b *builder) component(s *lab.SpanNode, caller *node) (component, unit string) {
	unit = tidy(s.Service)
	switch {
	case s.Component != "":
		component = b.componentName(s.Component)
	case caller != nil && caller.unit == unit:
		component = caller.component
	default:
		component = b.componentName(unit)
	}
	if in, known := b.unitOf[component]; known && in != unit {
		b.note("%s is in the services %s and %s: the model has a component for each", component, in, unit)
		component = b.componentName(unit + "/" + component)
	}
	if _, known := b.unitOf[component]; !known {
		b.unitOf[component] = unit
		b.units[unit] = append(b.units[unit], component)
	}
	return component, unit
}

// root returns the node of the first call of a trace, whose operation may have been seen before.
func (b *builder) root(roots map[string]*node, t *lab.SpanNode) *node {
	component, unit := b.component(t, nil)
	key := component + "\x00" + tidy(t.Name)
	if roots[key] == nil {
		roots[key] = &node{component: component, unit: unit, name: tidy(t.Name)}
	}
	return roots[key]
}

// operationName returns the name of the operation that begins with a node: that of the call. If another one
// of all begins with a call of that name, the component precedes it. If one of the named operations has the
// result, too, a number follows.
func operationName(n *node, all []*node, named []Operation) string {
	name := n.name
	if slices.ContainsFunc(all, func(other *node) bool { return other != n && other.name == n.name }) {
		name = tidy(n.component + " " + n.name)
	}
	whole := name
	for i := 2; slices.ContainsFunc(named, func(o Operation) bool { return o.Name == name }); i++ {
		name = tidy(fmt.Sprint(whole, " ", i))
	}
	return name
}

// frequent returns the operations that were seen most often, the most frequent first.
func (b *builder) frequent(roots map[string]*node) []*node {
	all := slices.SortedFunc(maps.Values(roots), func(a, b *node) int {
		return cmp.Or(cmp.Compare(len(b.seen), len(a.seen)), cmp.Compare(a.component, b.component),
			cmp.Compare(a.name, b.name))
	})
	if len(all) > maxOperations {
		left := 0
		for _, n := range all[maxOperations:] {
			left += len(n.seen)
		}
		b.note("%d operations that were seen least often are left out, with %d of %d traces",
			len(all)-maxOperations, left, len(b.Traces))
		all = all[:maxOperations]
	}
	return all
}

// clientSpan is the client's span of a call to another unit, while walk is within that span.
type clientSpan struct {
	hop
	async bool       // the caller does not wait for it, nor for the callee
	to    *execution // execution of the callee; nil: there is none
}

// end adds the times of the client's span to the execution of the callee. If there is none, the callee
// records no spans or nobody received the message: then a synchronous caller has waited.
func (c *clientSpan) end(from *execution) {
	switch {
	case c.to != nil:
		c.to.hop.caller += c.caller
		c.to.hop.between += c.between
	case !c.async:
		from.wait += c.between
		from.run += c.caller
	}
}

// walk adds a span, and all spans below it, to the execution that it belongs to. by is the client's span
// around it, or nil.
func (b *builder) walk(s *lab.SpanNode, e *execution, by *clientSpan) {
	own := seconds(s.Self)
	// A statement for which the caller does not wait is a visit, and no message.
	sendsMessage := s.Async && !s.Serves && s.Kind != lab.SegmentDatabase
	client := s.Kind == lab.SegmentTransport || sendsMessage
	if client && by == nil {
		by = &clientSpan{async: s.Async}
		defer by.end(e)
	}
	switch {
	case client:
		by.between += own
	case s.Kind == lab.SegmentDatabase:
		b.visit(s, e, own)
	case s.Kind == lab.SegmentEncoding && by != nil:
		by.caller += own
	case s.Kind == lab.SegmentEncoding && e.of.crosses:
		e.hop.callee += own
	case s.Kind == lab.SegmentQueueing, s.Kind == lab.SegmentBroker:
		e.wait += own
	default:
		e.run += own
	}
	for _, child := range s.Children {
		if callee := b.callee(child, e, by); callee != nil {
			b.walk(child, callee, nil)
		} else {
			b.walk(child, e, by)
		}
	}
}

// visit adds a statement or a commit to an execution.
func (b *builder) visit(s *lab.SpanNode, e *execution, own float64) {
	store := b.StoreOf(e.of.unit, e.of.component, s)
	store.Name = tidy(store.Name)
	store.Kind = tidy(store.Kind)
	b.stores[store.Name] = store
	if e.visits == nil {
		e.visits = map[string]*visit{}
	}
	if e.visits[store.Name] == nil {
		e.visits[store.Name] = &visit{}
	}
	v := e.visits[store.Name]
	if slices.ContainsFunc(s.Children, func(c *lab.SpanNode) bool { return c.Kind == lab.SegmentDatabase }) {
		v.inStatements += own // a client around another one, whose statements count
		return
	}
	verb, _, _ := strings.Cut(strings.ToUpper(s.Name), " ")
	changes := slices.Contains([]string{"INSERT", "UPDATE", "DELETE"}, verb)
	commitsAlone := b.Transactions && !b.within[store.Name] && changes
	// The name of a client's span ends with the store. ROLLBACK TO a savepoint does not end the transaction.
	statement := strings.TrimSuffix(s.Name, " to "+s.Peer)
	if verb == "BEGIN" || verb == "COMMIT" || strings.EqualFold(statement, "ROLLBACK") {
		b.within[store.Name] = verb == "BEGIN"
	} else {
		v.statements++
	}
	if verb == "COMMIT" || commitsAlone {
		v.commits++
		v.inCommits += own
	} else {
		v.inStatements += own
	}
}

// callee returns the execution that a span begins; nil if the span is work of its caller.
func (b *builder) callee(s *lab.SpanNode, from *execution, by *clientSpan) *execution {
	if s.Kind == lab.SegmentDatabase {
		return nil
	}
	component, unit := b.component(s, from.of)
	if !s.Serves && component == from.of.component {
		return nil
	}
	if from.of.depth >= maxLevels {
		b.note("calls more than %d levels deep are counted as work of their caller", maxLevels)
		return nil
	}
	follows := by != nil && by.async
	like := node{component: component, name: tidy(s.Name), unit: unit, async: s.Async || follows,
		crosses: unit != from.of.unit, depth: from.of.depth + 1, caller: from.of}
	i := slices.IndexFunc(from.of.calls, func(n *node) bool {
		return n.component == like.component && n.name == like.name && n.async == like.async &&
			n.crosses == like.crosses
	})
	if i < 0 {
		i = len(from.of.calls)
		from.of.calls = append(from.of.calls, &like)
	}
	n := from.of.calls[i]
	e := n.begin(s.End)
	n.before += from.made
	from.made++
	if by != nil && n.crosses && by.to == nil { // the first callee has the times of the client's span
		by.to = e
	}
	if !n.async {
		switch last := from.last; {
		case last == nil:
		case s.Start < last.end:
			n.together++
		default:
			n.apart++
		}
		from.last = e
	}
	return e
}

func seconds(nanoseconds int64) float64 { return float64(nanoseconds) / 1e9 }
