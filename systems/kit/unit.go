package kit

import (
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// Unit returns a unit that is a process of a system's own program. Its job, in JSON, is the
// program's argument.
func Unit(name, system string, job any) (lab.UnitSpec, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return lab.UnitSpec{}, fmt.Errorf("encode the job of %s: %w", name, err)
	}
	return lab.UnitSpec{
		Name: name, Role: name,
		Runnable: lab.Runnable{Own: system, Args: []string{string(text)}},
	}, nil
}
