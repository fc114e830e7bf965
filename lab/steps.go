package lab

import "strings"

// PathStep is one step from one variant to another. Each step of an order begins with the variant with which
// the previous one ends.
type PathStep struct {
	// Order is the number of the order to which the step belongs. Orders have the same changes: 1 is the order
	// that is shown, 2 is used to find interactions.
	Order int `json:"order"`
	// Name is the name of a step between two variants that the study already has, whatever it changes: "sync
	// -> async". Empty: the step changes a knob, and is named after it.
	Name string `json:"name,omitempty"`
	// Changes is one change, or two if they are only possible together. If the step has a
	// Name, it lists all knobs in which its variants differ.
	Changes []KnobChange `json:"changes"`
	// Before and Variant are variants of the study.
	Before  string `json:"before"`
	Variant string `json:"variant"`
	// Tunes is set if the step leads from a stock variant to a tuned one, or further from
	// there: it changes engineering, not the architecture.
	Tunes bool `json:"tunes,omitempty"`
}

// KnobChange is the change of one knob from a value to another.
type KnobChange struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
	// With lists the knobs that have no effect before the change and have one after it,
	// with their values: "binding http".
	With string `json:"with,omitempty"`
}

// String writes a change: "data shared -> databases".
func (c KnobChange) String() string { return c.Knob + " " + c.From + " -> " + c.To }

// Knob returns the knobs that the step changes: "placement", "data and placement".
func (s PathStep) Knob() string { return s.join(" and ", func(c KnobChange) string { return c.Knob }) }

// Change returns the old and new values: "shared -> databases".
func (s PathStep) Change() string {
	return s.join(" and ", func(c KnobChange) string { return c.From + " -> " + c.To })
}

// With returns the knobs that have an effect only after the step: "binding http".
func (s PathStep) With() string { return s.join(", ", func(c KnobChange) string { return c.With }) }

// join joins the texts of all changes that have one.
func (s PathStep) join(separator string, of func(KnobChange) string) string {
	var texts []string
	for _, c := range s.Changes {
		if text := of(c); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, separator)
}
