package architecture

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-lab/cleave/lab"
)

// Backed are the knobs that an architecture, with some turned already, needs to
// stand on backing services of the given kinds: those that it has no use for are
// left out. An unknown kind, or two for the same purpose, are an error.
func Backed(name string, own map[string]string, kinds []string) (map[string]string, error) {
	d, err := read(name, own)
	if err != nil {
		return nil, err
	}
	turned := map[string]string{}
	for _, kind := range kinds {
		i := slices.IndexFunc(knobs(), func(k lab.Knob) bool {
			return slices.Contains([]string{KnobDatabase, KnobBroker, KnobDocuments}, k.Name) &&
				slices.Contains(k.Values, kind)
		})
		if i < 0 {
			return nil, fmt.Errorf("the shop has no use for the backing %q: use sqlite, mariadb or postgres, nats, "+
				"rabbitmq or rabbitmq-classic, and mongo", kind)
		}
		knob := knobs()[i].Name
		if other := turned[knob]; other != "" && other != kind {
			return nil, fmt.Errorf("%s and %s are both for the %s: choose one", other, kind, knob)
		}
		turned[knob] = kind
	}
	unused := map[string]bool{KnobBroker: d.Broker == "", KnobDocuments: d.Documents == ""}
	maps.DeleteFunc(turned, func(knob, _ string) bool { return unused[knob] })
	_, err = New(name, merged(own, turned))
	return turned, err
}

// merged are both, the later where both have a knob.
func merged(own, later map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, own)
	maps.Copy(all, later)
	return all
}
