// Command starter is the first process of containers on nodes that share no files with the
// conductor's host; see package starter. Deployers put it into the same folder as the unit's program.
package main

import (
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/unit/starter"
)

func main() {
	status := 2
	err := fmt.Errorf("usage: starter %s, starter %s ADDRESS NETWORK, or starter %s UNITS CONDUCTOR",
		lab.StarterRuns, lab.StarterProxy, lab.StarterTunnel)
	switch {
	case len(os.Args) == 2 && os.Args[1] == lab.StarterRuns:
		status, err = starter.Run(lab.StarterOrdersFile)
	case len(os.Args) == 4 && os.Args[1] == lab.StarterProxy: // it serves until it fails, as does the next one
		status = 1
		err = starter.ServeProxy(os.Args[2], os.Args[3], lab.StarterKeyFile)
	case len(os.Args) == 4 && os.Args[1] == lab.StarterTunnel:
		status = 1
		err = starter.ServeTunnel(os.Args[2], os.Args[3], lab.StarterKeyFile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
	}
	os.Exit(status)
}
