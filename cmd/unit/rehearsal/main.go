// Command rehearsal is the unit program of the system that plays models. Deployers start it with the unit's
// job, as JSON, as its argument. It speaks the control protocol. A unit starts this program again, with
// ProbeCommand as its argument, to send probes from a process of their own.
package main

import (
	"os"

	"github.com/cleave-lab/cleave/systems/rehearsal/rehearsalunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == rehearsalunit.ProbeCommand {
		rehearsalunit.ProbeMain() // does not return
	}
	unit.Main(rehearsalunit.Run)
}
