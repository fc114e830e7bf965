package convert

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the scenario as a file. Comments at its top list what is missing. from is the name of the
// input.
func (c *Conversion) YAML(from string) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Made from %s by cleave load import. Read it before you play it.\n", oneLine(from))
	if len(c.NotConverted) > 0 {
		fmt.Fprintf(&out, "#\n# Not converted, or different from the original (%d):\n", len(c.NotConverted))
		for _, n := range c.NotConverted {
			fmt.Fprintf(&out, "# - %s\n", n)
		}
	}
	out.WriteByte('\n')
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c.File); err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write the scenario: %w", err)
	}
	return out.Bytes(), nil
}
