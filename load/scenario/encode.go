package scenario

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// UnmarshalJSON decodes a scenario in the form in which programs exchange it: JSON with the keys of the
// YAML. Numbers in bodies keep their digits; unknown keys are errors.
func (f *File) UnmarshalJSON(data []byte) error {
	type plain File
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	var read plain
	if err := decoder.Decode(&read); err != nil {
		return err
	}
	*f = File(read)
	return nil
}

// MarshalYAML writes numbers of bodies that came from JSON as numbers.
func (s Step) MarshalYAML() (any, error) {
	type plain Step
	s.JSON = withoutNumbers(s.JSON)
	return plain(s), nil
}

// withoutNumbers replaces json.Number, which YAML would write as a text.
func withoutNumbers(body any) any {
	switch value := body.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, inner := range value {
			out[key] = withoutNumbers(inner)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = withoutNumbers(inner)
		}
		return out
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: value.String()}
	}
	return body
}
