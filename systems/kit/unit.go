package kit

import (
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// Unit returns a unit that is a process of a system's own program. Its job, in JSON, is the
// program's argument.
func Unit(name, system string, job any) lab.UnitSpec {
	text, err := json.Marshal(job)
	if err != nil {
		panic(fmt.Sprintf("job of unit %s: %v", name, err)) // its type is none that JSON has
	}
	return lab.UnitSpec{Name: name, Role: name,
		Runnable: lab.Runnable{Own: system, Args: []string{string(text)}}}
}
