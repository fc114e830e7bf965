package kit

import (
	"encoding/json"
	"fmt"

	"github.com/cleave-lab/cleave/lab"
)

// Unit returns the spec of a unit that runs a system's own program. The argument of the program is the job,
// as JSON.
func Unit(name, system string, job any) lab.UnitSpec {
	text, err := json.Marshal(job)
	if err != nil {
		panic(fmt.Sprintf("job of unit %s: %v", name, err)) // jobs are structs that JSON can encode
	}
	return lab.UnitSpec{Name: name, Role: name,
		Runnable: lab.Runnable{Own: system, Args: []string{string(text)}}}
}
