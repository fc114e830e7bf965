// Command shop-orm is a unit of the shop whose components access their tables through an ORM; see command
// shop.
package main

import (
	"github.com/cleave-lab/cleave/systems/shop/mapped"
	"github.com/cleave-lab/cleave/systems/shop/shopunit"
	"github.com/cleave-lab/cleave/unit"
)

func main() {
	unit.Main(func(channel *unit.Channel, job string) error {
		return shopunit.RunMapped(channel, job, mapped.Stores{})
	})
}
