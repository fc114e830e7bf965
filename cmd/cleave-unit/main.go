// Command cleave-unit is one unit of a system under test. The lab's deployers
// start it; its arguments are the system and the unit's job as JSON. It speaks
// the control protocol on its standard streams. It is also the embedded broker.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cleave-lab/cleave/systems/airline"
	"github.com/cleave-lab/cleave/systems/airline/airlineunit"
	"github.com/cleave-lab/cleave/systems/big"
	"github.com/cleave-lab/cleave/systems/big/bigunit"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/shopunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cleave-unit SYSTEM JOB\n\ncleave starts this program; it is of no use by hand.")
		os.Exit(2)
	}
	channel, err := unit.Open()
	if err == nil {
		err = runUnit(channel, os.Args[1], os.Args[2])
	}
	switch {
	case err == nil:
	case errors.Is(err, unit.ErrGone):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "cleave-unit:", err)
		if channel != nil {
			_ = channel.Failed(err) // the exit code says it as well
		}
		os.Exit(1)
	}
}

// kind is a kind of units that this program can be, by its first argument.
type kind struct {
	name string
	run  func(channel *unit.Channel, job string) error
}

// kinds are the systems whose units this program can be, and the embedded broker. No
// other file of it names a system (see "Add a system" in DESIGN.md).
func kinds() []kind {
	return []kind{
		{airline.Name, airlineunit.Run},
		{big.Name, bigunit.Run},
		{people.Name, peopleunit.Run},
		{shop.Name, shopunit.Run},
		{natsName, runNATS},
	}
}

func runUnit(channel *unit.Channel, system, job string) error {
	var names []string
	for _, k := range kinds() {
		if k.name == system {
			return k.run(channel, job)
		}
		names = append(names, k.name)
	}
	return fmt.Errorf("there is no system %q in this program; there are: %s", system, strings.Join(names, ", "))
}
