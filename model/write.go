package model

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Write writes the model as a file, with a comment on each part.
func (m Model) Write(w io.Writer) error {
	m.Schema = Schema
	var document yaml.Node
	if err := document.Encode(m); err != nil {
		return fmt.Errorf("write the model %s: %w", m.Name, err)
	}
	comments := map[string]string{
		"schema": "A system as it was measured, to be read and edited by hand. docs/modelling.md explains every\n" +
			"key. Each number has its source: meter, trace (CPU of this source is self time, an upper bound) or\n" +
			"guess, and samples, the number of values behind it. Times are those of one execution at low load.",
		"units":      "The processes of the system as it is, with the components in them.",
		"stores":     "Databases and the like.",
		"operations": "What clients ask for, with the tree of calls behind it.",
		"measured":   "What the system gave in trials: predictions are checked against it.",
	}
	for i := 0; i+1 < len(document.Content); i += 2 {
		document.Content[i].HeadComment = comments[document.Content[i].Value]
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return fmt.Errorf("write the model %s: %w", m.Name, err)
	}
	return encoder.Close()
}
