// Command cleave-unit is one unit of a system under test. The lab's deployers
// start it; its arguments are the system and the unit's job as JSON. It speaks
// the control protocol on its standard streams. It is also the embedded broker.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/cleave-lab/cleave/control"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/shop"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cleave-unit SYSTEM JOB\n\ncleave starts this program; it is of no use by hand.")
		os.Exit(2)
	}
	channel := control.NewChannel(os.Stdin, os.Stdout)
	err := runUnit(channel, os.Args[1], os.Args[2])
	switch {
	case err == nil:
	case errors.Is(err, control.ErrGone):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "cleave-unit:", err)
		_ = channel.Failed(err) // the exit code says it as well
		os.Exit(1)
	}
}

func runUnit(channel *control.Channel, system, job string) error {
	switch system {
	case big.Name:
		return runBig(channel, job)
	case shop.Name:
		return runShop(channel, job)
	case natsName:
		return runNATS(job)
	}
	return fmt.Errorf("there is no system %q in this program (it has %s, %s and %s)", system, big.Name, shop.Name, natsName)
}
