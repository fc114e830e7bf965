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
	status, err := 2, fmt.Errorf("usage: starter %s, starter %s ADDRESS NETWORK, or starter %s UNITS CONDUCTOR",
		lab.StarterRuns, lab.StarterProxy, lab.StarterTunnel)
	switch {
	case len(os.Args) == 2 && os.Args[1] == lab.StarterRuns:
		status, err = starter.Run(lab.StarterOrdersFile)
	case len(os.Args) == 4 && os.Args[1] == lab.StarterProxy: // it serves until it fails, as does the next one
		status, err = 1, starter.ServeProxy(os.Args[2], os.Args[3], lab.StarterKeyFile)
	case len(os.Args) == 4 && os.Args[1] == lab.StarterTunnel:
		status, err = 1, starter.ServeTunnel(os.Args[2], os.Args[3], lab.StarterKeyFile)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
	}
	os.Exit(status)
}
