package architecture

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
)

// setting stands for changes of a knob: all of them if value is empty; see order.
type setting struct{ knob, value string }

// tuning returns the settings that tune, in their order: a lean binding in place of its stock one, batching,
// and the runtime for a shared host.
func tuning() []setting {
	return []setting{{KnobBinding, lean}, {KnobBatching, batchingOn}, {KnobRuntime, runtimeSharedHost}}
}

// tunes reports whether all changes are tuning.
func tunes(changes []lab.KnobChange) bool {
	return !slices.ContainsFunc(changes, func(c lab.KnobChange) bool {
		return !slices.Contains(tuning(), meant(c))
	})
}

// Path leads from one variant to another. Its first stop is the variant at which it begins. Each step turns
// one knob, or two that must be turned together, and leads to the next stop.
type Path struct {
	Stops []lab.Variant
	Steps []lab.PathStep
}

// Paths returns one or two paths from one variant to another. Every stop can be built.
// The first path makes the changes in the order in which a team would make them. It takes the opposite order
// if units are joined, or if their number stays and the coordination becomes simpler. The second path makes
// the same changes in the order that is most unlike the first; it is missing if there is no other order.
//
// A step turns one knob. It turns two only where no order of single turns can be built. If that leads nowhere
// either, Paths returns an error. A knob that has an effect in one of the variants only, such as the binding
// if the other variant is a single unit, is usually no step of its own: it changes with the knob that gives
// it an effect. The exceptions are in isTurnedByItself. Coordination goes through its values one by one; see
// coordinations.
//
// The first path ends with tuning: it passes the stock version of a tuned architecture, and then turns the
// knobs that tune it and have an effect. It begins with the changes that end tuning.
func Paths(from, to lab.Variant) ([]Path, error) {
	s, err := newSearch(from, to)
	if err != nil {
		return nil, err
	}
	return s.paths()
}

// asTyped writes a variant as it is given on the command line.
func asTyped(v lab.Variant) string {
	text := v.Architecture
	for _, knob := range slices.Sorted(maps.Keys(v.Knobs)) {
		text += " " + knob + "=" + v.Knobs[knob]
	}
	return text
}

// order returns the settings in the order in which teams change a shop. First come knobs that need no other
// code. Then one transaction becomes a saga, the data are divided, the units are split, and events and read
// models are added. It is the opposite order if units are joined. Changes that end tuning come before all
// that, and tuning comes last. A setting with a value stands for the change to that value only; see meant.
func order(joining bool) []setting {
	structure := []setting{
		{kit.KnobLogging, ""}, {kit.KnobSpans, ""},
		{KnobAccess, ""},
		{KnobDatabase, ""}, {KnobDisk, ""}, {KnobPool, ""}, {KnobReplicas, ""}, {KnobBalancer, ""},
		{KnobCoordination, string(Orchestrated)}, {KnobData, ""}, {KnobPlacement, ""}, {KnobBinding, ""},
	}
	for _, k := range kit.CallKnobs() {
		structure = append(structure, setting{k.Name, ""})
	}
	structure = append(structure, []setting{
		{KnobCoordination, string(TwoPhase)},
		{KnobCoordination, string(Brokered)}, {KnobCoordination, string(Choreographed)},
		{KnobReference, ""}, {KnobPublishing, ""}, {KnobBroker, ""}, {KnobPrefetch, ""},
		{KnobViews, ""}, {KnobDocuments, ""},
	}...)
	if joining {
		slices.Reverse(structure)
	}
	untuning := []setting{{KnobRuntime, runtimeDefault}, {KnobBatching, batchingOff}, {KnobBinding, stock}}
	return slices.Concat(untuning, structure, tuning())
}

// stock is the value of the setting for the change from a lean binding to its stock one. The value lean
// stands for the change back.
const stock = "stock"

// meant returns the setting that stands for a change.
func meant(c lab.KnobChange) setting {
	switch c.Knob {
	case KnobCoordination: // in either direction, the value that is further from one transaction
		if graded(Coordination(c.From)) > graded(Coordination(c.To)) {
			return setting{c.Knob, c.From}
		}
		return setting{c.Knob, c.To}
	case KnobBatching, KnobRuntime:
		return setting{c.Knob, c.To}
	case KnobBinding:
		if Binding(c.From) == Binding(c.To).Stock() {
			return setting{c.Knob, lean}
		}
		if Binding(c.To) == Binding(c.From).Stock() {
			return setting{c.Knob, stock}
		}
	}
	return setting{knob: c.Knob}
}

// fullSettings returns the settings of all knobs of a variant, and its design.
func fullSettings(v lab.Variant) (map[string]string, Design, error) {
	d, err := New(v.Architecture, v.Knobs)
	if err != nil {
		return nil, d, err
	}
	settings, err := catalogue().Settings(v.Architecture, v.Knobs)
	return settings, d, err
}

// idle reports whether a knob has no effect in a design.
func (d Design) idle(knob string) bool {
	if knob == KnobBinding || kit.IsOfCalls(knob) {
		return d.Alone()
	}
	switch knob {
	case KnobBroker, KnobPrefetch, KnobPublishing:
		return d.Broker == ""
	case KnobDocuments:
		return d.Documents == ""
	case KnobBalancer:
		return d.Hosting(shop.ComponentOrders).Replicas == 1
	case KnobRuntime:
		return !slices.ContainsFunc(d.Units, d.mayShare)
	}
	return false
}

// isStock reports whether a value of a knob tunes nothing. Only the binding, batching and the runtime have
// values that do.
func isStock(knob, value string) bool {
	switch knob {
	case KnobBinding:
		return string(Binding(value).Stock()) == value
	case KnobBatching:
		return value == batchingOff
	case KnobRuntime:
		return value == runtimeDefault
	}
	return true
}

// align removes differences without effect, in the maps: the setting of a knob that is idle in one design
// becomes the other design's setting. If the binding is idle in one design only, it becomes first(binding of
// the other design), such as its stock binding. If a knob of isTurnedByItself is idle in one design only, it
// has its default there.
func align(from, to map[string]string, before, after Design, first func(binding string) string) {
	for _, k := range knobs() {
		idle := before.idle(k.Name)
		idleThen := after.idle(k.Name)
		switch {
		case idle && idleThen:
			from[k.Name] = to[k.Name]
		case idle:
			from[k.Name] = fromIdle(k, to[k.Name], first)
		case idleThen:
			to[k.Name] = fromIdle(k, from[k.Name], first)
		}
	}
}

// fromIdle returns the setting of a knob in the design in which it is idle; see align. other is the setting
// in the other design.
func fromIdle(k lab.Knob, other string, first func(binding string) string) string {
	switch {
	case isTurnedByItself(k.Name):
		return k.Values[0]
	case k.Name == KnobBinding:
		return first(other)
	}
	return other
}

// isTurnedByItself reports whether a knob that begins to have an effect is a step of its own.
func isTurnedByItself(knob string) bool {
	return knob == KnobRuntime || knob == KnobPublishing || kit.IsOfCalls(knob)
}

// changes returns the single changes that lead from one setting of all knobs to another.
func changes(from, to map[string]string) []lab.KnobChange {
	var found []lab.KnobChange
	for _, k := range knobs() {
		values := []string{from[k.Name], to[k.Name]}
		switch k.Name {
		case KnobCoordination:
			values = coordinations(values[0], values[1])
		case KnobBinding:
			values = byStock(Binding(values[0]), Binding(values[1]))
		}
		for i, value := range values[1:] {
			if values[i] != value {
				found = append(found, lab.KnobChange{Knob: k.Name, From: values[i], To: value})
			}
		}
	}
	return found
}

// byStock returns the bindings that lead from one to another. If only one of the two is lean, its stock
// counterpart is in between.
func byStock(from, to Binding) []string {
	if from.isLean() == to.isLean() {
		return []string{string(from), string(to)}
	}
	if from.isLean() {
		return []string{string(from), string(from.Stock()), string(to)}
	}
	return []string{string(from), string(to.Stock()), string(to)}
}

// awakened returns the knobs that have an effect in one design and had none in another, with their settings:
// "binding http, broker nats". It leaves out the knobs of isTurnedByItself, and two knobs that follow others:
// the prefetch follows the broker, and the balancer follows the replicas.
func awakened(was, is Design, settings map[string]string) string {
	var found []string
	implied := []string{KnobPrefetch, KnobBalancer}
	for _, k := range knobs() {
		if slices.Contains(implied, k.Name) || isTurnedByItself(k.Name) {
			continue
		}
		if was.idle(k.Name) && !is.idle(k.Name) {
			found = append(found, k.Name+" "+settings[k.Name])
		}
	}
	return strings.Join(found, ", ")
}

// Differences returns the knobs in which two variants differ, each with its value in the first and in the
// second. It returns none if one of the variants cannot be built. It leaves out knobs that have no effect in
// one of the variants, except those of isTurnedByItself. Knobs that have an effect in the second variant only
// are named in the last difference.
func Differences(from, to lab.Variant) []lab.KnobChange {
	start, before, err := fullSettings(from)
	end, after, err2 := fullSettings(to)
	if err != nil || err2 != nil {
		return nil
	}
	align(start, end, before, after, func(binding string) string { return binding })
	found := catalogue().Differing(start, end)
	if len(found) > 0 {
		found[len(found)-1].With = awakened(before, after, end)
	}
	return found
}

// coordinations returns the values that lead from one coordination to another. From one transaction to a saga
// of events, each adds to the one before. Two-phase commit is not on this line: its only neighbour is
// Orchestrated.
func coordinations(from, to string) []string {
	if from == to {
		return []string{from}
	}
	line := []string{string(ACID), string(Orchestrated), string(Brokered), string(Choreographed)}
	onLine := func(value string) string {
		if value == string(TwoPhase) {
			return string(Orchestrated)
		}
		return value
	}
	way := between(line, onLine(from), onLine(to))
	if way[0] != from {
		way = slices.Insert(way, 0, from)
	}
	if way[len(way)-1] != to {
		way = append(way, to)
	}
	return way
}

// between returns the values from one to another, both included.
func between(values []string, from, to string) []string {
	i := slices.Index(values, from)
	j := slices.Index(values, to)
	part := slices.Clone(values[min(i, j) : max(i, j)+1])
	if i > j {
		slices.Reverse(part)
	}
	return part
}

// choose returns the variant with given settings that turns the fewest knobs of its architecture. If several
// turn as few, it takes the first of them; the preferred architectures come before all others.
func choose(settings map[string]string, preferred ...string) (lab.Variant, error) {
	d, err := design("", settings)
	if err == nil {
		err = errors.Join(d.impossible(nil)...)
	}
	if err != nil {
		return lab.Variant{}, err
	}
	var best lab.Variant
	for _, name := range append(preferred, catalogue().Names()...) {
		own, err := catalogue().Settings(name, nil)
		if err != nil {
			return lab.Variant{}, err
		}
		turned := map[string]string{}
		for knob, value := range settings {
			if value != own[knob] && !d.idle(knob) {
				turned[knob] = value
			}
		}
		if best.Architecture != "" && len(turned) >= len(best.Knobs) {
			continue
		}
		if _, err := New(name, turned); err == nil {
			best = lab.Variant{Architecture: name, Knobs: turned}
		}
	}
	return best, nil
}

// name returns a short name of a variant: its architecture and the values of its turned
// knobs. Backing services that stay the same on the whole path are left out.
func name(v lab.Variant, onTheWay []lab.KnobChange) string {
	words := []string{v.Architecture}
	for _, k := range knobs() {
		value, turned := v.Knobs[k.Name]
		changes := slices.ContainsFunc(onTheWay, func(c lab.KnobChange) bool { return c.Knob == k.Name })
		isBacking := slices.Contains([]string{KnobDatabase, KnobBroker, KnobDocuments}, k.Name)
		if !turned || isBacking && !changes {
			continue
		}
		if !isSelfExplanatory(value) {
			words = append(words, k.Name)
		}
		words = append(words, value)
	}
	return strings.NewReplacer(",", ".", "=", ".", "+", "-").Replace(strings.Join(words, "-"))
}

// isSelfExplanatory reports whether a value shows which knob it belongs to: it is not a number, and exactly
// one knob lists it.
func isSelfExplanatory(value string) bool {
	if _, err := strconv.ParseFloat(value, 64); err == nil {
		return false
	}
	owners := 0
	for _, k := range knobs() {
		if slices.Contains(k.Values, value) {
			owners++
		}
	}
	return owners == 1
}
