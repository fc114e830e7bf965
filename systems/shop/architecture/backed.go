package architecture

import (
	"maps"
)

// Backed returns the knobs that an architecture, with some turned already, needs to
// stand on backing services of the given kinds: those that it has no use for are
// left out. An unknown kind, or two for the same purpose, are an error.
func Backed(name string, own map[string]string, kinds []string) (map[string]string, error) {
	d, err := read(name, own)
	if err != nil {
		return nil, err
	}
	turned, err := catalogue().OnBackings(kinds, KnobDatabase, KnobBroker, KnobDocuments)
	if err != nil {
		return nil, err
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
