// Command host-agent runs units on the hosts of a deployment by SSH (see package deploy/ssh/agent).
// cleave copies it there and starts it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/deploy/ssh/agent"
	"github.com/cleave-lab/cleave/meter"
)

func main() {
	err := errors.New("host-agent is started by cleave, not by hand")
	if len(os.Args) > 1 {
		err = agent.Main(os.Args[1:], os.Stdin, os.Stdout, meter.New())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host-agent:", err)
		os.Exit(1)
	}
}
