package scenario

// note is a value for the list of operations.
type note struct {
	name string
	slot int
}

// readNotes compiles the notes of a step, which may include its own extractions.
func (c *compiler) readNotes(place string, s *Step, compiled *step, names *scope) {
	for _, name := range s.Note {
		slot, _, err := names.find(name)
		if err != nil {
			c.problem(place+".note", "note: %v", err)
		}
		compiled.notes = append(compiled.notes, note{name: name, slot: slot})
	}
}

// Notes returns a JSON object with the values that the step notes, all as texts, in memory of its own, or
// nil if it notes nothing. It leaves out missing values. It must be called after Judge and before Next.
func (s *Session) Notes() []byte {
	notes := s.steps[s.at].notes
	if len(notes) == 0 {
		return nil
	}
	out := []byte{'{'}
	for _, n := range notes {
		text := s.values[n.slot].text
		if text == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(appendJSONText(append(out, '"'), []byte(n.name)), `":"`...)
		out = append(appendJSONText(out, text), '"')
	}
	return append(out, '}')
}
