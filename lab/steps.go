package lab

import "strings"

// PathStep is one step from one variant to another. Each step of an order begins where the one before it
// ends.
type PathStep struct {
	// Order numbers the orders of the same changes: 1 is the one that is shown, 2 the one by which interactions
	// are found.
	Order int `json:"order"`
	// Name is the name of a step between two variants that the study has anyway, whatever it changes: "sync
	// -> async". Empty: the step turns a knob, and has its name.
	Name string `json:"name,omitempty"`
	// Changes is one change, or two where neither is possible before the other; where
	// the step has a Name, every knob in which its variants differ.
	Changes []KnobChange `json:"changes"`
	Before  string       `json:"before"` // variants of the study
	Variant string       `json:"variant"`
	// Tunes says that the step leads from a stock variant to a tuned one, or on from
	// there: what it changes is engineering, and not the architecture.
	Tunes bool `json:"tunes,omitempty"`
}

// KnobChange is one knob turned from a value to another.
type KnobChange struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
	// With names the knobs that have an effect from here on and had none before,
	// with their values: "binding http".
	With string `json:"with,omitempty"`
}

// String writes a change: "data shared -> databases".
func (c KnobChange) String() string { return c.Knob + " " + c.From + " -> " + c.To }

// Knob names what the step turns: "placement", "data and placement".
func (s PathStep) Knob() string {
	var names []string
	for _, c := range s.Changes {
		names = append(names, c.Knob)
	}
	return strings.Join(names, " and ")
}

// Change shows from where to where: "shared -> databases".
func (s PathStep) Change() string {
	var parts []string
	for _, c := range s.Changes {
		parts = append(parts, c.From+" -> "+c.To)
	}
	return strings.Join(parts, " and ")
}

// With names what comes with the step: "binding http".
func (s PathStep) With() string {
	var parts []string
	for _, c := range s.Changes {
		if c.With != "" {
			parts = append(parts, c.With)
		}
	}
	return strings.Join(parts, ", ")
}
