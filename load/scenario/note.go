package scenario

// note is a named value that a step adds to its operation in the list of operations (record.Sample.Noted).
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

// Notes returns a JSON object with the values that the step notes, all as texts, in new memory, or nil if it
// notes nothing. It leaves out missing values. Call it after Judge, which stores the extractions, and before
// Next.
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
		out = append(out, '"')
		out = appendJSONText(out, []byte(n.name))
		out = append(out, `":"`...)
		out = appendJSONText(out, text)
		out = append(out, '"')
	}
	return append(out, '}')
}
