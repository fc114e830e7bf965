package architecture

import (
	"maps"

	"github.com/cleave-lab/cleave/lab"
)

// Backed returns the knobs that put a variant on backing services of the given kinds. It leaves out kinds
// that the variant does not use. An unknown kind, or two for the same purpose, are an error.
func Backed(v lab.Variant, kinds []string) (map[string]string, error) {
	d, err := read(v.Architecture, v.Knobs)
	if err != nil {
		return nil, err
	}
	turned, err := catalogue().OnBackings(v, kinds, KnobDatabase, KnobBroker, KnobDocuments)
	if err != nil {
		return nil, err
	}
	unused := map[string]bool{KnobBroker: d.Broker == "", KnobDocuments: d.Documents == ""}
	maps.DeleteFunc(turned, func(knob, _ string) bool { return unused[knob] })
	all := map[string]string{}
	maps.Copy(all, v.Knobs)
	maps.Copy(all, turned)
	_, err = New(v.Architecture, all)
	return turned, err
}
